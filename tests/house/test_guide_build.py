"""The guide builds strictly, refuses broken links, and the same sources build with the theme's successor."""

import re
import shutil
from pathlib import Path

import pytest

import assemble
from assemble import BuildError

pytestmark = [pytest.mark.site, pytest.mark.slow]


@pytest.fixture
def copy(root: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the guide's sources, with the includes of the last build."""
    for name in ("docs", "build/includes"):
        shutil.copytree(root / name, tmp_path / name)
    for name in assemble.LANGUAGES.values():
        shutil.copy(root / name, tmp_path)
    monkeypatch.setattr(assemble, "ROOT", tmp_path)
    return tmp_path


def build(copy: Path, language: str) -> None:
    assemble.run(
        "mkdocs", "build", "--strict", "-f", assemble.LANGUAGES[language], "-d", copy / "out", NO_MKDOCS_2_WARNING="1"
    )


def add(copy: Path, language: str, text: str) -> None:
    page = copy / "docs" / language / "contribute.md"
    page.write_text(page.read_text(encoding="utf-8") + f"\n{text}\n", encoding="utf-8")


@pytest.mark.parametrize("language", assemble.LANGUAGES)
def test_a_broken_link_or_anchor_ends_the_build(copy: Path, language: str) -> None:
    build(copy, language)  # as it stands it passes: what fails below fails for what was added
    page = (copy / "docs" / language / "contribute.md").read_text(encoding="utf-8")
    for broken in ("no-such-page.md", "prices.md#no-such-anchor"):
        add(copy, language, f"[x]({broken})")
        with pytest.raises(BuildError, match=re.escape(broken.rpartition("#")[2])):
            build(copy, language)
        (copy / "docs" / language / "contribute.md").write_text(page, encoding="utf-8")


def test_a_missing_include_ends_the_build(copy: Path) -> None:
    add(copy, "en", '--8<-- "no-such-table.en.md"')
    with pytest.raises(BuildError, match="no-such-table"):
        build(copy, "en")


@pytest.mark.parametrize("language", assemble.LANGUAGES)
def test_the_themes_successor_builds_the_same_sources(copy: Path, language: str) -> None:
    """Zensical: the same pages, with their headings and their includes."""
    assemble.run("zensical", "build", "--strict", "-f", assemble.LANGUAGES[language])
    built = copy / "site" / language
    published = assemble.SITE / language
    names = {path.relative_to(published) for path in published.rglob("index.html")}
    assert {path.relative_to(built) for path in built.rglob("index.html")} == names
    for name in names:
        ids = {
            place: set(re.findall(r'<h[1-4]\b[^>]*\bid="([^"]+)"', (place / name).read_text()))
            for place in (built, published)
        }
        assert ids[built] == ids[published], name
    assert 'id="aj-answer"' in (built / "calculator/index.html").read_text()
