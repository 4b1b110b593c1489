"""Lighthouse, as a phone, on the pages that people land on: `make lighthouse`. Fails below the bars.

    python calculator/web/audit.py [es/calculator/ …]

Home, calculator and prices in both languages, each three times; the median of each category counts. The site is served
gzipped, as static hosts do. Performance is measured here: on a busy machine it tells of the neighbours too, so the
machine's own index is printed beside it (a quiet desk has 1500 or more).

Lighthouse brings a hundred packages that nothing else needs. It is locked apart, in calculator/web/lighthouse/, and
installed into .cache/ when this is first run: whoever builds or tests the site never waits for it.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "calculator"))
import bootstrap  # noqa: E402 — found through the line above
from web import bench_browser  # noqa: E402

BARS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
PAGES = tuple(f"{language}/{page}" for page in ("", "calculator/", "prices/") for language in ("es", "en"))
RUNS = 3
LOCKED = ROOT / "calculator" / "web" / "lighthouse"
HOME = bootstrap.CACHE / "lighthouse"


def install() -> Path:
    """Bring the locked Lighthouse into .cache/ and return its program."""
    files = [LOCKED / "package.json", LOCKED / "package-lock.json", ROOT / ".npmrc"]
    stamp = bootstrap.Stamp("lighthouse", *(file.read_text() for file in files))
    program = HOME / "node_modules" / "lighthouse" / "cli" / "index.js"
    if stamp.result() is None or not program.exists():
        bootstrap.say("Lighthouse, in .cache/lighthouse")
        HOME.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, HOME)
        npm = shutil.which("npm", path=bootstrap.path_with_tools()) or "npm"
        bootstrap.run(npm, "ci", "--prefix", HOME, PATH=bootstrap.path_with_tools())
        stamp.write()
    return program


def look(program: Path, browser: str, address: str) -> dict[str, Any]:
    """Run Lighthouse once and return its report."""
    done = subprocess.run(
        [
            *("node", program, address, "--output=json", "--quiet", f"--only-categories={','.join(BARS)}"),
            "--chrome-flags=--headless=new --no-sandbox --disable-gpu --disable-background-networking",
        ],
        env={**os.environ, "PATH": bootstrap.path_with_tools(), "CHROME_PATH": browser},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"lighthouse failed on {address}:\n{done.stderr[-2000:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def scores(report: dict[str, Any]) -> dict[str, int]:
    """Points of a report by category, 0 to 100."""
    return {name: round(100 * (report["categories"][name]["score"] or 0)) for name in BARS}


def failed(report: dict[str, Any]) -> list[str]:
    """Say what cost points outside performance, and which elements."""
    lines = []
    for category in ("accessibility", "best-practices", "seo"):
        for reference in report["categories"][category]["auditRefs"]:
            audit = report["audits"][reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 1:
                items = audit.get("details", {}).get("items", [])
                where = [str(item.get("node", {}).get("snippet") or item)[:120] for item in items[:3]]
                lines.append(f"{category}: {audit['title']} {' '.join(where)}")
    return lines


def main(pages: list[str]) -> int:
    """Look at every page; print medians; 1 where one is below its bar."""
    browser = bootstrap.browser()
    if not browser:
        print("no browser: run `make setup`", file=sys.stderr)
        return 1
    program = install()
    server, _ = bench_browser.serve(ROOT / "site", bench_browser.Line())
    below = 0
    for page in pages or PAGES:
        reports = [look(program, browser, f"http://127.0.0.1:{server.server_port}/{page}") for _ in range(RUNS)]
        points = [scores(report) for report in reports]
        median = {name: round(statistics.median(one[name] for one in points)) for name in BARS}
        audits = [report["audits"] for report in reports]
        paint, blocking = (
            statistics.median(one[name]["numericValue"] for one in audits)
            for name in ("largest-contentful-paint", "total-blocking-time")
        )
        index = statistics.median(report["environment"]["benchmarkIndex"] for report in reports)
        low = [name for name, bar in BARS.items() if median[name] < bar]
        below += len(low)
        print(
            f"{page:16} {' '.join(f'{name} {value}' for name, value in median.items())} · "
            f"largest paint {paint / 1000:.1f} s, blocked {blocking:.0f} ms · machine {index:.0f}"
            f"{' · BELOW: ' + ', '.join(low) if low else ''}",
            flush=True,
        )
        for line in sorted({line for report in reports for line in failed(report)}):
            print(f"    {line}")
    server.shutdown()
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
