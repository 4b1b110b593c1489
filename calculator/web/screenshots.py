"""Pictures of the site into build/screenshots/: `make screenshots`. Three widths, two themes, two languages.

python calculator/web/screenshots.py [part of a name …]     only those
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "calculator"))
import bootstrap  # noqa: E402 — found through the line above
from web import serve  # noqa: E402

SIZES = {390: 664, 768: 1024, 1440: 900}
PAGES = {"home": "", "calculator": "calculator/", "prices": "prices/", "guide": "guide/methods/qlora/"}
LIVE_MS = 120_000
SETTLED_MS = 400


def asked(fragment: str, after: str = "") -> Callable[[Page], None]:
    """Ask the calculator a question by its fragment, wait for the answer, do something more."""

    def act(page: Page) -> None:
        page.evaluate("fragment => { location.hash = fragment }", fragment)
        page.wait_for_selector("[data-answered]", timeout=LIVE_MS)
        page.evaluate(after) if after else None

    return act


def error(page: Page) -> None:
    """Type a number that is none."""
    if page.locator("[data-toggle=data]").is_visible():
        page.locator("[data-toggle=data]").click()
    page.locator("#aj-sequence_length").fill("2o48")


def compared(page: Page) -> None:
    """Pin two questions."""
    asked("#model=llama-3.1-8b&method=qlora&lora.rank=8")(page)
    page.locator("[data-share=pin]").click()
    asked("#model=llama-3.1-8b&method=lora&framework=unsloth")(page)
    page.wait_for_selector(".aj-calc[data-busy=false]", timeout=LIVE_MS)
    page.locator("[data-share=pin]").click()


FOLDS = "document.querySelectorAll('#aj-answer .aj-folds details').forEach(fold => fold.open = true)"
STATES: dict[str, Callable[[Page], None]] = {
    "mode-gpu": asked("#mode=have-gpu&gpu=rtx-4090-24gb&model=qwen2.5-32b&method=lora"),
    "mode-budget": asked("#mode=have-budget&job.budget_usd=20&job.deadline_h=24&model=llama-3.1-8b&method=lora"),
    "folds": asked("#model=llama-3.1-8b&method=full", FOLDS),
    "error": error,
    "compare": compared,
}


def whole(page: Page, path: Path) -> None:
    """Take the whole page: in a window as tall as it, since what is out of view is not painted."""
    size = page.viewport_size
    for _ in range(2):  # what comes into view takes its own height
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": size["width"], "height": height})
        page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=path)
    page.set_viewport_size(size)


def main(words: list[str]) -> int:
    """Take every picture: what is in view first, and the whole page."""

    def wanted(stem: str) -> bool:
        return not words or any(word in stem for word in words)

    target = ROOT / "build" / "screenshots"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    server = serve.start(ROOT / "site", first_port=0)
    base = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=bootstrap.browser(),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for width, height in SIZES.items():
            for theme in ("light", "dark"):
                page = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
                ).new_page()
                for language in ("es", "en"):
                    for name, path in PAGES.items():
                        if not wanted(f"{name}-{language}-{theme}-{width}"):
                            continue
                        page.goto(f"{base}/{language}/{path}")
                        page.wait_for_load_state("networkidle")
                        stem = f"{name}-{language}-{theme}-{width}"
                        page.screenshot(path=target / f"{stem}.png")
                        if name == "calculator":
                            whole(page, target / f"{stem}-whole.png")
                    for name, act in STATES.items():
                        stem = f"{name}-{language}-{theme}-{width}"
                        if not wanted(stem):
                            continue
                        page.goto(f"{base}/{language}/calculator/")
                        page.wait_for_selector(".aj-calc[data-ready]")
                        act(page)
                        page.wait_for_timeout(SETTLED_MS)
                        whole(page, target / f"{stem}.png")
                        page.goto("about:blank")  # the next question starts from the default
                page.context.close()
        browser.close()
    server.shutdown()
    print(f"{len(list(target.iterdir()))} pictures in {target.relative_to(ROOT)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
