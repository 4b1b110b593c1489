"""How fast the page is: `make bench-browser`. Prints figures; gates nothing.

1. Cold start: from the first touch of the form to the live answer, in a fresh browser profile. The site as built
   (standard library compiled and pruned, wheel compiled) against the same site with Pyodide as its package ships it.
   Interleaved, so that a busy machine is unfair to neither. On a local line, and at 9 Mbit/s with 40 ms.
2. From a keystroke to the painted answer, whole ranking: in Python, in rendering, and the rest (messages, parsing,
   paint). With --keystrokes only this and the bytes.
3. Bytes as sent: before anything is touched, and what starting Python adds.

The line is made slow by the server, not by the browser: its emulation leaves a worker's requests out.
"""

import gzip
import shutil
import statistics
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "calculator"))
import bootstrap  # noqa: E402 — found through the line above

RUNS = 6
KEYSTROKES = 120
WAIT_MS = 240_000
CHUNK = 16 * 1024
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}


class Line:
    """A shared line: bytes leave one after the other at its rate, each answer begins after its delay."""

    def __init__(self, megabits_per_second: float = 0, delay_ms: float = 0) -> None:
        self.bytes_per_second = megabits_per_second * 1e6 / 8
        self.delay_s = delay_ms / 1e3
        self.lock = threading.Lock()
        self.free_at = 0.0

    def wait(self, count: int) -> None:
        """Wait until this many bytes would have passed."""
        if not self.bytes_per_second:
            return
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + count / self.bytes_per_second
            until = self.free_at
        time.sleep(max(0.0, until - time.monotonic()))


@cache
def sent(path: Path) -> bytes:
    """Return a file as a host sends it: gzipped."""
    return gzip.compress(path.read_bytes(), 9, mtime=0)


def serve(folder: Path, line: Line) -> tuple[ThreadingHTTPServer, dict[str, int]]:
    """Serve a folder gzipped over a line; count the bytes of each path."""
    counted: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = folder / urlsplit(self.path).path.lstrip("/")
            path = path / "index.html" if path.is_dir() else path
            time.sleep(line.delay_s)
            found = path.is_file()
            body = sent(path) if found else b""
            counted[self.path] = len(body)
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", TYPES.get(path.suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            with suppress(ConnectionError):  # the browser went away: its profile is thrown off after each run
                for start in range(0, len(body), CHUNK):
                    part = body[start : start + CHUNK]
                    line.wait(len(part))
                    self.wfile.write(part)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, counted


def as_shipped(site: Path, target: Path) -> Path:
    """Copy the site with Pyodide's own standard library and the wheel that everybody installs."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)
    (runtime,) = (target / "app").glob("pyodide-*")
    for name in ("python_stdlib.zip", "pyodide-lock.json"):
        shutil.copy(ROOT / "node_modules" / "pyodide" / name, runtime / name)
    (app,) = (path.parent for path in (target / "app").glob("*/calculator.js"))
    (wheel,) = (ROOT / "build/wheel").glob("*-py3-none-any.whl")
    shutil.copy(wheel, app / "ajuste.whl")
    return target


def open_page(browser: Browser, address: str) -> Page:
    """Open the calculator in a fresh profile and wait until its script has taken over."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{address}/es/calculator/")
    page.wait_for_selector(".aj-calc[data-ready]")
    return page


def cold_start(browser: Browser, address: str) -> float:
    """Seconds from the first touch of the form to the live answer."""
    page = open_page(browser, address)
    seconds: float = page.evaluate(
        """wait => new Promise((done, fail) => {
            const root = document.querySelector(".aj-calc");
            const from = performance.now();
            new MutationObserver(() => root.dataset.answered && done((performance.now() - from) / 1000))
                .observe(root, { attributes: true });
            setTimeout(() => fail(new Error("no answer")), wait);
            document.querySelector("#aj-dataset-examples").focus();
        })""",
        WAIT_MS,
    )
    page.context.close()
    return seconds


def compare(browser: Browser, sites: dict[str, Path], line: tuple[float, float]) -> dict[str, float]:
    """Medians of interleaved cold starts of each site over one line."""
    servers = {name: serve(folder, Line(*line))[0] for name, folder in sites.items()}
    times: dict[str, list[float]] = {name: [] for name in sites}
    for _ in range(RUNS):
        for name, server in servers.items():
            times[name].append(cold_start(browser, f"http://127.0.0.1:{server.server_port}"))
    for server in servers.values():
        server.shutdown()
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def keystrokes(browser: Browser, site: Path) -> dict[str, list[float]]:
    """Milliseconds from each keystroke to the frame that shows its answer, and of these in Python and in rendering."""
    server, _ = serve(site, Line())
    page = open_page(browser, f"http://127.0.0.1:{server.server_port}")
    times: dict[str, list[float]] = page.evaluate(
        """async count => {
            const root = document.querySelector(".aj-calc");
            const input = document.querySelector("#aj-sequence_length");
            const answered = () => new Promise(done => {
                const watch = new MutationObserver(() => {
                    watch.disconnect();
                    requestAnimationFrame(() => setTimeout(done));
                });
                watch.observe(root, { attributes: true, attributeFilter: ["data-answered"] });
            });
            const first = answered();
            input.focus();
            await first;
            const times = { all: [], python: [], render: [], rest: [] };
            const last = name => performance.getEntriesByName(name).at(-1).duration;
            for (let i = 0; i < count; i++) {
                const done = answered();
                input.value = String(1000 + 37 * i);
                const from = performance.now();
                input.dispatchEvent(new InputEvent("input", { bubbles: true }));
                await done;
                const [all, python, render] = [performance.now() - from, last("python"), last("render")];
                const parts = { all, python, render, rest: all - python - render };
                for (const [name, ms] of Object.entries(parts)) times[name].push(ms);
            }
            return times;
        }""",
        KEYSTROKES,
    )
    page.context.close()
    server.shutdown()
    return {name: sorted(each) for name, each in times.items()}


def bytes_sent(browser: Browser, site: Path) -> tuple[int, int]:
    """Bytes before anything is touched, and what starting Python adds."""
    server, counted = serve(site, Line())
    page = open_page(browser, f"http://127.0.0.1:{server.server_port}")
    page.wait_for_load_state("networkidle")
    before = sum(counted.values())
    page.locator("#aj-dataset-examples").focus()
    page.wait_for_selector("[data-answered]", timeout=WAIT_MS)
    page.context.close()
    server.shutdown()
    return before, sum(counted.values()) - before


def main() -> int:
    """Measure and print."""
    site = ROOT / "site"
    program = bootstrap.browser()
    if not program:
        print("no browser: run `make setup`", file=sys.stderr)
        return 1
    shipped = None if "--keystrokes" in sys.argv[1:] else as_shipped(site, ROOT / "build" / "bench-shipped")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        before, added = bytes_sent(browser, site)
        print(
            f"gzip: {before / 1e3:.0f} kB before anything is touched (300 at most), "
            f"{added / 1e6:.2f} MB to start Python (5 at most)"
        )
        print(f"keystroke to painted answer, {KEYSTROKES} (p95 100 ms at most, 16 wanted):")
        for name, times in keystrokes(browser, site).items():
            print(
                f"  {name:7} least {times[0]:4.0f} ms, median {statistics.median(times):4.0f} ms, "
                f"p95 {times[int(len(times) * 0.95)]:4.0f} ms"
            )
        if "--keystrokes" in sys.argv[1:]:
            return 0
        for name, line, most in (("local", (0, 0), 0.45), ("9 Mbit/s, 40 ms", (9, 40), 0.7)):
            medians = compare(browser, {"built": site, "shipped": shipped}, line)
            ratio = medians["built"] / medians["shipped"]
            print(
                f"cold start, {name}: {medians['built']:.2f} s, with Pyodide as shipped {medians['shipped']:.2f} s, "
                f"ratio {ratio:.2f} (at most {most})",
                flush=True,
            )
        browser.close()
    shutil.rmtree(shipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
