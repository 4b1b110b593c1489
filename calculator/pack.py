"""Pack the constants and the defaults into the wheel: a hook that hatchling runs whenever a wheel is built.

In a checkout `ajuste.constants` reads data/*.toml; in a wheel, and so in the browser, it imports `ajuste._packed`,
which is written here as plain dict literals: no file to open, no TOML parser, nothing generated among the sources.
"""

import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

USED_OF_AN_ASSUMPTION = ("low", "mid", "high", "unit")  # labels and sources stay in data/: no formula reads them


def packed(data: Path) -> str:
    """Return the text of `_packed.py` made from assumptions.toml and presets.toml in a folder."""
    assumptions = {
        name: {key: row[key] for key in USED_OF_AN_ASSUMPTION}
        for name, row in tomllib.loads((data / "assumptions.toml").read_text(encoding="utf-8")).items()
    }
    presets = tomllib.loads((data / "presets.toml").read_text(encoding="utf-8"))
    return f'"""Made from data/ when the wheel was built."""\n\nASSUMPTIONS = {assumptions!r}\nPRESETS = {presets!r}\n'


class PackConstants(BuildHookInterface):
    """Adds `ajuste/_packed.py` to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 — hatchling's signature
        """Write the module beside the build and have it included."""
        module = Path(self.directory) / "_packed.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(packed(Path(self.root) / "data"), encoding="utf-8")
        build_data["force_include"][str(module)] = "ajuste/_packed.py"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Leave only the wheel behind."""
        (Path(self.directory) / "_packed.py").unlink(missing_ok=True)
