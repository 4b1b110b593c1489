"""What a reader sees is spelled right: Spanish, and English the American way; docs/spelling/ has our own words."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipeline import spelling
from pipeline.guide import DOCS, LANGUAGES

pytestmark = pytest.mark.slow  # three runs of cspell over everything

PLANTED = {
    "es": (
        "La memroia de la GPU, en tu tamano; «cuantizazión» de 4 bits según PyTorch.",
        "memroia tamano cuantizazión",
    ),
    "en": ("The memroy of your GPU is teh centrepiece; its colour isn’t in PyTorch.", "memroy centrepiece colour"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_is_known(language: str) -> None:
    found = spelling.unknown(language, spelling.words(language))
    assert not found, f"mend it, or add it to docs/spelling/{language}.txt: {found}"


def test_a_planted_typo_is_named_with_its_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spelling, "texts", lambda language: [spelling.Text("docs/page.md", PLANTED[language][0])])
    assert spelling.main() == 1
    said = capsys.readouterr().out
    for language, (_, typos) in PLANTED.items():
        for typo in typos.split():
            assert f"docs/page.md: “{typo}” is in no {language} dictionary" in said
    assert said.count("docs/page.md") == sum(len(typos.split()) for _, typos in PLANTED.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_figures_strings_and_labels_are_read(language: str) -> None:
    read = {text.place for text in spelling.texts(language) if text.text.strip()}
    assert read >= {
        f"docs/{language}/guide/index.md",
        f"docs/presets.toml ({language})",
        f"calculator/web/strings/{language}.json",
        f"calculator/pipeline/words.toml ({language})",
        *(
            f"calculator/ajuste/{name}.py ({language})"
            for name in ("cli_words", "errors", "launch_run", "tool_reasons")
        ),
        f"data/assumptions.toml ({language})",
    }


@pytest.mark.parametrize("name", ["names", *LANGUAGES])
def test_our_words_are_sorted(name: str) -> None:
    listed = spelling.listed(name)
    assert listed == sorted(set(listed), key=lambda word: (word.lower(), word))


def test_english_is_american() -> None:
    """What a dictionary of words takes and an American would not write."""
    command = [sys.executable, "-m", "codespell_lib", "--builtin", "clear,rare,en-GB_to_en-US", str(DOCS / "en")]
    found = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
