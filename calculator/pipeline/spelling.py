"""Spelling of everything a reader sees, in both languages: cspell, its dictionaries, and the project's own words.

python -m pipeline.spelling    says each unknown word and where it stands first
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from ajuste.sentences import sentences
from pipeline.guide import DOCS, LANGUAGES, ROOT, pages, prose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = DOCS / "spelling"  # cspell.<language>.json, and the words: names.txt for both languages, <language>.txt
WORD = re.compile(r"(?<![\w@/.])[^\W\d_]{3,}(?:['’][^\W\d_]+)?(?![\w@/])")
BOTH = set(LANGUAGES)


class Text(NamedTuple):
    """Something to read, and where it stands."""

    place: str
    text: str


def texts(language: str) -> Iterator[Text]:
    """Pages, words of generated tables and figures, labels of the data, strings of the page and the command line."""
    for path, page in pages(language).items():
        yield Text(
            f"docs/{language}/{path}", plain(prose(f"{page.meta['title']}\n{page.meta['description']}\n{page.text}"))
        )
    strings = json.loads((ROOT / "calculator" / "web" / "strings" / f"{language}.json").read_text(encoding="utf-8"))
    yield Text(f"calculator/web/strings/{language}.json", plain("\n".join(map(str, strings.values()))))
    if language == "es":
        for name in ("reasons.toml", "sources.toml"):
            tables = tomllib.loads((ROOT / "calculator" / "pipeline" / name).read_text(encoding="utf-8"))
            yield Text(f"calculator/pipeline/{name}", plain("\n".join(strings_of(tables))))
    for folder in ("data", "docs", "calculator/pipeline", "calculator/ajuste"):
        for file in sorted((ROOT / folder).glob("*.toml")):
            yield from of_pairs(file, language, in_language(tomllib.loads(file.read_text(encoding="utf-8")), language))
        for file in sorted((ROOT / folder).glob("*.py")):
            yield from of_pairs(file, language, in_code(ast.parse(file.read_text(encoding="utf-8")), language))


def of_pairs(file: Path, language: str, found: Iterator[str]) -> Iterator[Text]:
    """What a file says in both languages, side by side."""
    text = plain("\n".join(found))
    if text:
        yield Text(f"{file.relative_to(ROOT).as_posix()} ({language})", text)


def in_language(value: Any, language: str) -> Iterator[str]:
    """Strings of nested tables that stand beside their translation."""
    if isinstance(value, dict):
        if value.keys() >= BOTH:
            lines = value[language] if isinstance(value[language], list) else [value[language]]
            yield from (line for line in lines if isinstance(line, str))
        value = value.values()
    elif not isinstance(value, list):
        return
    for item in value:
        yield from in_language(item, language)


def strings_of(value: Any) -> Iterator[str]:
    """Every string of nested tables."""
    if isinstance(value, dict):
        for item in value.values():
            yield from strings_of(item)
    else:
        yield str(value)


def in_code(tree: ast.AST, language: str) -> Iterator[str]:
    """The same, in a module's dictionaries and in what it gives `sentences`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("sentences"), [ast.Constant(str(table))]):
                yield from in_language(sentences(table), language)
        if isinstance(node, ast.Dict):
            pairs = {
                key.value: value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
            }
            value = pairs.get(language)
            if pairs.keys() >= BOTH and isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def plain(text: str) -> str:
    """Without placeholders, tags, code, addresses, options and the mark of a box."""
    return re.sub(r"^!!! \w+|\{[^}]*\}|<[^>]+>|`[^`]*`|https?://\S+|(?<!\w)--?[a-z][\w-]*", " ", text, flags=re.M)


def words(language: str) -> dict[str, str]:
    """Each distinct word, with the place where it stands first; names like DeepSpeed and NVLink are left out."""
    found: dict[str, str] = {}
    for place, text in texts(language):
        for word in WORD.findall(text):
            if word in (word.lower(), word.capitalize(), word.upper()):
                found.setdefault(word.replace("’", "'"), place)
    return found


def unknown(language: str, candidates: dict[str, str]) -> dict[str, str]:
    """Of these words, those that neither the dictionary nor the project's lists have. One run: a second or two."""
    cspell = shutil.which("cspell", path=str(ROOT / "node_modules" / ".bin"))
    if not cspell:
        raise FileNotFoundError("cspell is missing: type `make setup`")
    command = [cspell, "lint", "--config", str(CONFIG / f"cspell.{language}.json"), "--no-default-configuration"]
    command += ["--no-progress", "--no-summary", "--words-only", "--unique", "stdin"]
    done = subprocess.run(command, input="\n".join(candidates), capture_output=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 1) or done.stderr.strip():
        raise RuntimeError(done.stderr)
    return {word: candidates[word] for word in done.stdout.split("\n") if word}


def listed(name: str) -> list[str]:
    """One of the project's word lists."""
    lines = (CONFIG / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main() -> int:
    """Print what is unknown."""
    wrong = {language: unknown(language, words(language)) for language in LANGUAGES}
    for language, found in wrong.items():
        for word, place in found.items():
            print(
                f"{place}: “{word}” is in no {language} dictionary; mend it, or add it to docs/spelling/{language}.txt"
            )
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
