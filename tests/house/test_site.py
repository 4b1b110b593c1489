"""The built site as a stranger's server would send it: links under any path, policies, nothing from elsewhere."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

import jsonschema
import pytest

import assemble

pytestmark = pytest.mark.site

START_FILES_BUDGET = 5_000_000  # bytes with gzip that the browser loads to start Python


class Page(HTMLParser):
    """What a page links to, loads and runs."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline_scripts: list[str] = []
        self._script: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append((tag, values))
        if tag == "script" and "src" not in values and values.get("type") != "application/json":
            self._script = []

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._script is not None:
            self.inline_scripts.append("".join(self._script))
            self._script = None

    def values(self, attribute: str, *tags: str) -> list[str]:
        """List an attribute of some tags (of all, if none is named)."""
        return [
            values[attribute] or "" for tag, values in self.tags if attribute in values and (not tags or tag in tags)
        ]

    @property
    def policy(self) -> str:
        wanted = [
            v["content"] for t, v in self.tags if t == "meta" and v.get("http-equiv") == "Content-Security-Policy"
        ]
        assert len(wanted) == 1
        return wanted[0] or ""


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Return path under site/ → page."""
    found = {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(found) > 10
    return found


def test_every_page_carries_a_policy_that_allows_exactly_its_own_scripts(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        wanted = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in page.inline_scripts}
        scripts = next(part for part in page.policy.split("; ") if part.startswith("script-src "))
        assert set(re.findall(r"'sha256-([^']+)'", scripts)) == wanted, name
        assert "unsafe-inline" not in page.policy, name


def test_only_the_calculator_may_ask_the_hub(root: Path, pages: dict[str, Page]) -> None:
    (hub,) = re.findall(r'HUB = "(.*)"', (root / "calculator/web/hub.js").read_text())
    allowed = {name for name, page in pages.items() if f"connect-src 'self' {hub};" in page.policy}
    assert allowed == {f"{language}/calculator/index.html" for language in assemble.LANGUAGES}
    assert all("connect-src 'self';" in page.policy for name, page in pages.items() if name not in allowed)


def test_no_page_has_inline_styles_or_handlers(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        attributes = {attribute for _, values in page.tags for attribute in values}
        assert {one for one in attributes if one == "style" or one.startswith("on")} == set(), name


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Page]) -> None:
    loading = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "manifest"}
    for name, page in pages.items():
        loaded = page.values("src")
        loaded += [v["href"] or "" for t, v in page.tags if t == "link" and loading & set((v.get("rel") or "").split())]
        assert [one for one in loaded if urlsplit(one).netloc] == [], name
    for sheet in site.rglob("*.css"):
        urls = re.findall(r"(?:url\(|@import\s)\s*[\"']?([^\"')\s]+)", sheet.read_text(encoding="utf-8"))
        assert [one for one in urls if urlsplit(one).netloc] == [], sheet.relative_to(site)


@pytest.mark.parametrize("base", ["https://a.example/", "https://a.example/ajuste/"])
def test_every_link_stays_inside_the_site_under_any_path(site: Path, pages: dict[str, Page], base: str) -> None:
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    for name, page in pages.items():
        if PurePosixPath(name).name == "404.html":  # served at any depth: absolute on purpose
            continue
        here = urljoin(base, name)
        for link in (*page.values("href", "a", "link"), *page.values("src")):
            target = urljoin(here, link)
            if not target.startswith("https://a.example/"):
                continue
            assert target.startswith(base), f"{name}: {link} leaves {base}"
            path = unquote(urlsplit(target).path.removeprefix(urlsplit(base).path))
            path += "index.html" if path == "" or path.endswith("/") else ""
            assert path in files, f"{name}: {link}"


def test_each_page_names_its_twin_in_the_other_language(site: Path, pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        language, _, rest = name.partition("/")
        if language not in ("es", "en") or PurePosixPath(name).name == "404.html":
            continue
        twins = {v["hreflang"]: v["href"] for t, v in page.tags if t == "link" and v.get("hreflang")}
        folder = rest.removesuffix("index.html")
        assert {key: (value or "").removeprefix(assemble.SITE_URL) for key, value in twins.items()} == {
            "es": f"es/{folder}",
            "en": f"en/{folder}",
            "x-default": "",
        }, name
        assert (site / "es" / rest).exists(), name
        assert (site / "en" / rest).exists(), name


def test_sitemaps_list_every_page_and_nothing_else(site: Path, pages: dict[str, Page]) -> None:
    index = (site / "sitemap.xml").read_text()
    listed = set()
    for sitemap in re.findall(r"<loc>(.*?)</loc>", index):
        text = (site / sitemap.removeprefix(assemble.SITE_URL)).read_text()
        listed |= {loc.removeprefix(assemble.SITE_URL) for loc in re.findall(r"<loc>(.*?)</loc>", text)}
    standing = {
        name.removesuffix("index.html") for name in pages if name.startswith(("es/", "en/")) and "404" not in name
    }
    assert listed == standing


def test_the_root_lets_a_reader_choose_without_javascript(site: Path, pages: dict[str, Page]) -> None:
    assert pages["index.html"].values("href", "a") == ["es/", "en/"]
    assert (site / ".nojekyll").exists()
    assert f"Sitemap: {assemble.SITE_URL}sitemap.xml" in (site / "robots.txt").read_text()
    assert {urlsplit(link).path for link in pages["404.html"].values("href", "a")} == {
        urlsplit(assemble.SITE_URL).path + "es/",
        urlsplit(assemble.SITE_URL).path + "en/",
    }


@pytest.fixture(scope="module")
def app(site: Path) -> Path:
    """Return the folder of the calculator's files."""
    (found,) = (path.parent for path in (site / "app").glob("*/build.json"))
    return found


def test_the_calculators_folder_is_named_by_its_content(app: Path, pages: dict[str, Page]) -> None:
    assert app.name == assemble.folder_hash(app)
    for language in assemble.LANGUAGES:
        scripts = pages[f"{language}/calculator/index.html"].values("src", "script")
        assert any(f"app/{app.name}/calculator.js" in script for script in scripts)


def test_python_starts_within_its_budget(app: Path) -> None:
    """Bytes with gzip of all that the worker fetches before its first answer."""
    about = json.loads((app / "build.json").read_text())
    files = [*(app / about["pyodide"]).resolve().iterdir(), app / about["wheel"], app / about["catalog"]]
    sizes = {path.name: len(gzip.compress(path.read_bytes(), 6)) for path in files}
    total = sum(sizes.values())
    print(f"\nstart files, gzip: {total / 1e6:.2f} MB  {sizes}")
    assert set(assemble.PYODIDE_FILES) <= set(sizes)
    assert total <= START_FILES_BUDGET


def test_no_file_of_the_site_tells_where_it_was_built(site: Path, root: Path) -> None:
    here = str(root).encode()
    assert [path.relative_to(site) for path in site.rglob("*") if path.is_file() and here in path.read_bytes()] == []


def test_the_published_schemas_accept_what_the_page_asks_and_gets(site: Path, root: Path) -> None:
    api = site / "api" / "v1"
    answers = sorted((root / "build" / "answers").glob("*.json"))
    assert answers
    for path in answers:
        both = json.loads(path.read_text(encoding="utf-8"))
        for name in ("request", "answer"):
            schema = json.loads((api / f"{name}.schema.json").read_text(encoding="utf-8"))
            checker = jsonschema.validators.validator_for(schema)
            checker.check_schema(schema)
            assert [error.message for error in checker(schema).iter_errors(both[name])] == [], path.name
    assert json.loads((api / "catalog.json").read_text(encoding="utf-8"))["offers"]
