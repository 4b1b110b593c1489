"""Pictures of the site into build/screenshots/: `make screenshots`. Three widths, two themes, two languages."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "calculator"))
import bootstrap  # noqa: E402 — found through the line above
from web import serve  # noqa: E402

SIZES = {390: 664, 768: 1024, 1440: 900}
PAGES = {"home": "", "calculator": "calculator/", "prices": "prices/"}


def main() -> int:
    """Take every picture: what is in view first, and the whole page."""
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
                        page.goto(f"{base}/{language}/{path}")
                        page.wait_for_load_state("networkidle")
                        stem = f"{name}-{language}-{theme}-{width}"
                        page.screenshot(path=target / f"{stem}.png")
                        if name == "calculator":
                            page.screenshot(path=target / f"{stem}-whole.png", full_page=True)
                page.context.close()
        browser.close()
    server.shutdown()
    print(f"{len(list(target.iterdir()))} pictures in {target.relative_to(ROOT)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
