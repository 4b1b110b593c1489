"""The API reference and the command line's, for the guide to include: from the code's own signatures, examples, help.

python -m pipeline.reference --out build/includes      writes api-reference and cli-reference, both languages
"""

from __future__ import annotations

import argparse
import doctest
import inspect
import os
import tomllib
from pathlib import Path
from typing import Any

import ajuste
from ajuste import cli, launch, tool_files
from ajuste.cli_text import Screen

WORDS = {
    "es": {"parameter": "parámetro", "type": "tipo", "what": "qué es"},
    "en": {"parameter": "parameter", "type": "type", "what": "what it is"},
}
# Where the example of a name is, when the name itself only passes on.
EXAMPLES = {"read_config": tool_files.read_config, "run_files": launch.run_files}


def described(root: Path) -> dict[str, Any]:
    """What docs/reference.toml says, name by name."""
    table: dict[str, Any] = tomllib.loads((root / "docs" / "reference.toml").read_text(encoding="utf-8"))
    return table


def api_reference(language: str, texts: dict[str, Any]) -> str:
    """Every public name: signature, what it is, parameters, an example."""
    return "\n".join(_entry(name, text, language) for name, text in texts.items())


def _entry(name: str, text: dict[str, Any], language: str) -> str:
    thing = getattr(ajuste, name)
    lines = [f"### `{name}` {{#api-{name.lower().replace('_', '-')}}}", ""]
    if not inspect.isclass(thing):
        lines += ["```python", _signature(name, thing), "```", ""]
    lines += [text[language], ""]
    parameters = text.get("parameters", {})
    if parameters:
        said = WORDS[language]
        lines += [f"| {said['parameter']} | {said['type']} | {said['what']} |", "| --- | --- | --- |"]
        types = inspect.signature(thing).parameters
        lines += [
            f"| `{key}` | `{_type(types[key].annotation).replace('|', chr(92) + '|')}` | {row[language]} |"
            for key, row in parameters.items()
        ]
        lines.append("")
    example = _example(EXAMPLES.get(name, thing))
    if example:
        lines += ["```pycon", example, "```", ""]
    return "\n".join(lines)


def _signature(name: str, thing: Any) -> str:
    """A function's signature, one parameter a line where it is long."""
    signature = inspect.signature(thing)
    parts, keyword_only = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{parameter.name}: {_type(parameter.annotation)}{default}")
    returned = _type(signature.return_annotation)
    short = f"{name}({', '.join(parts)}) -> {returned}"
    if len(short) <= 88:
        return short
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f") -> {returned}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if not isinstance(annotation, (str, type)) or "[" in str(annotation):
        text = str(annotation)
    return text.replace("typing.", "").replace("ajuste.catalog.", "")


def _example(thing: Any) -> str:
    """The example of a docstring, as it is written there."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    lines = []
    for example in examples:
        source = example.source.rstrip("\n").split("\n")
        lines += [f">>> {source[0]}", *(f"... {line}" for line in source[1:])]
        lines += example.want.rstrip("\n").split("\n") if example.want else []
    return "\n".join(lines)


def cli_reference(language: str) -> str:
    """The command line's own help, command by command."""
    os.environ |= {"COLUMNS": "88", "NO_COLOR": "1", "PYTHON_COLORS": "0"}  # the same text on every machine
    parser = cli.parser(Screen(language))
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    blocks = [("ajuste", parser.format_help())]
    blocks += [(f"ajuste {name}", inner.format_help()) for name, inner in commands.choices.items()]
    lines = []
    for name, text in blocks:
        lines += [
            f'??? note "`{name}`"',
            "",
            "    ```text",
            *(f"    {line}".rstrip() for line in text.rstrip().split("\n")),
        ]
        lines += ["    ```", ""]
    return "\n".join(lines)


def main() -> None:
    """Write the four includes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/includes"))
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    texts = described(Path())
    for language in ("es", "en"):
        (out / f"api-reference.{language}.md").write_text(api_reference(language, texts), encoding="utf-8")
        (out / f"cli-reference.{language}.md").write_text(cli_reference(language), encoding="utf-8")


if __name__ == "__main__":
    main()
