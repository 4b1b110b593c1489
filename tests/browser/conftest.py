"""The built site under a sub-path, as GitHub Pages serves it, and one browser for all tests."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, sync_playwright

import bootstrap
from web import serve

PHONE = {"width": 390, "height": 664}
DESK = {"width": 1440, "height": 900}
LIVE_MS = 120_000  # Python starts in seconds; a loaded machine takes longer


class Visit(NamedTuple):
    """A page on its way, and what went wrong on it so far."""

    page: Page
    base: str
    complaints: list[str]

    def open(self, path: str) -> None:
        """Open a path of the site and wait until its script has taken over, where it has one."""
        self.page.goto(self.base + path)
        if self.page.locator(".aj-calc").count():
            self.page.wait_for_selector(".aj-calc[data-ready]")

    def answered(self, action: Callable[[], object]) -> None:
        """Do something and wait for the answer (or the refusal) that follows."""
        before = self.answers
        action()
        self.page.wait_for_function(
            "before => (({ answered, busy }) => Number(answered ?? 0) > before && busy !== 'true')"
            "(document.querySelector('.aj-calc').dataset)",
            arg=before,
            timeout=LIVE_MS,
        )

    @property
    def answers(self) -> int:
        """How many answers have come so far."""
        return int(self.page.locator(".aj-calc").get_attribute("data-answered") or 0)

    def text(self, selector: str) -> str:
        """The text of the first element, without line breaks."""
        return " ".join(self.page.locator(selector).first.inner_text().split())


@pytest.fixture(scope="session")
def base(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the site under /ajuste/."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "ajuste").symlink_to(site, target_is_directory=True)
    server = serve.start(folder, first_port=0)
    yield f"http://127.0.0.1:{server.server_port}/ajuste/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser(browser_path: str) -> Iterator[Browser]:
    """One browser."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        launched = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, base: str) -> Iterator[Callable[..., Visit]]:
    """Return a function that gives a fresh visitor. At the end nobody may have seen an error or left the site."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def start(expect_failures: bool = False, **options: object) -> Visit:
        # What a service worker asks for cannot be watched: only the offline tests let it in.
        usual = {"viewport": DESK, "locale": "es-MX", "service_workers": "block"}
        context = browser.new_context(**{**usual, **options})  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        visitor = Visit(page, base, [])
        if not expect_failures:
            visits.append(visitor)

        def guard(route: Route) -> None:
            if route.request.url.startswith(base):
                route.fallback()
            else:
                visitor.complaints.append(f"asks another host: {route.request.url}")
                route.abort()

        context.route("**/*", guard)
        blocked = "Service Worker registration blocked by Playwright"  # as asked for above

        def hear(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and message.text != blocked:
                visitor.complaints.append(message.text)

        page.on("console", hear)
        page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
        page.on("response", lambda r: visitor.complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        return visitor

    yield start
    complaints = [complaint for visitor in visits for complaint in visitor.complaints]
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture(scope="session")
def run_node(root: Path) -> Callable[[str], object]:
    """Return a function that runs a module beside the page's scripts and returns what it printed, parsed."""

    def run(code: str) -> object:
        done = subprocess.run(
            ["node", "--input-type=module", "-"],
            input=code,
            cwd=root / "calculator/web",
            env={**os.environ, "PATH": bootstrap.path_with_tools()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
