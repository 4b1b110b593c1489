"""Pack data into the wheel: a hook that hatchling runs whenever a wheel is built.

In a checkout `ajuste.constants` reads data/*.toml; in a wheel, and so in the browser, it imports `ajuste._packed`,
which is written here as plain dict literals: no file to open, no TOML parser, nothing generated among the sources.

For the command line the catalog comes along, with its day, and the words of both languages, in `ajuste/_data/`. The
page fetches its catalog by itself: its build sets AJUSTE_WITHOUT_CATALOG.
"""

import os
import shutil
import subprocess
import sys
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


def command_line_data(root: Path, folder: Path) -> list[Path]:
    """Write what the command line reads: catalog, assumptions with sources, words of both languages, smoke test."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = folder / "catalog.json"
    day = os.environ.get("AJUSTE_AS_OF")
    subprocess.run(
        [sys.executable, "-m", "pipeline", "bundle", "--out", catalog, *(["--as-of", day] if day else [])],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "calculator")},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    copied = [root / "data" / "assumptions.toml", root / "calculator" / "smoke" / "smoke.py"]
    copied += [root / "calculator" / "web" / "strings" / f"{language}.json" for language in ("es", "en")]
    return [catalog, *(Path(shutil.copy(path, folder)) for path in copied)]


class PackConstants(BuildHookInterface):
    """Adds `ajuste/_packed.py` to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 — hatchling's signature
        """Write the module beside the build and have it included."""
        module = Path(self.directory) / "_packed.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(packed(Path(self.root) / "data"), encoding="utf-8")
        build_data["force_include"][str(module)] = "ajuste/_packed.py"
        if not os.environ.get("AJUSTE_WITHOUT_CATALOG"):
            for path in command_line_data(Path(self.root), Path(self.directory) / "_data"):
                build_data["force_include"][str(path)] = f"ajuste/_data/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Leave only the wheel behind."""
        (Path(self.directory) / "_packed.py").unlink(missing_ok=True)
        shutil.rmtree(Path(self.directory) / "_data", ignore_errors=True)
