"""Firefox and WebKitGTK, driven by what they bring themselves: Marionette and WebKitWebDriver. No package needed."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pytest

from web import serve

PATIENCE_S = 180  # a loaded machine starts Python slowly
MINI_BROWSERS = ("/usr/lib/*/webkit2gtk-4.*/MiniBrowser", "/usr/libexec/webkit2gtk-4.*/MiniBrowser")


class Driver(Protocol):
    """A browser with one page."""

    name: str

    def go(self, address: str) -> None:
        """Open an address and wait until it is loaded."""

    def run(self, script: str, *values: object) -> Any:
        """Run a function's body in the page and return its value."""


def until(driver: Driver, script: str, *values: object) -> Any:
    """Wait until a function's body returns something true."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with suppress(RuntimeError):  # the page may be on its way to the next
            if value := driver.run(script, *values):
                return value
        time.sleep(0.2)
    raise AssertionError(f"{driver.name}: never true: {script}")


class Firefox:
    """Firefox by Marionette: JSON with its length before it, over a socket."""

    name = "Firefox"

    def __init__(self, connection: socket.socket) -> None:
        self.stream = connection.makefile("rwb")
        self.count = 0
        self._hear()
        self._ask("WebDriver:NewSession", capabilities={})

    def _hear(self) -> Any:
        length = b""
        while (sign := self.stream.read(1)) != b":":
            length += sign
        return json.loads(self.stream.read(int(length)))

    def _ask(self, command: str, **values: object) -> Any:
        self.count += 1
        text = json.dumps([0, self.count, command, values]).encode()
        self.stream.write(b"%d:%s" % (len(text), text))
        self.stream.flush()
        _, _, error, result = self._hear()
        if error:
            raise RuntimeError(error["message"])
        return result

    def go(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        self._ask("WebDriver:Navigate", url=address)

    def run(self, script: str, *values: object) -> Any:
        """Run a function's body in the page and return its value."""
        return self._ask("WebDriver:ExecuteScript", script=script, args=list(values))["value"]


class WebKit:
    """WebKitGTK by WebDriver: JSON over HTTP."""

    name = "WebKitGTK"

    def __init__(self, port: int, browser: str) -> None:
        self.base = f"http://127.0.0.1:{port}/session"
        options = {"webkitgtk:browserOptions": {"binary": browser, "args": ["--automation"]}}
        session = self._ask("", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        self.base += f"/{session}"

    def _ask(self, path: str, values: object) -> Any:
        request = urllib.request.Request(
            self.base + path, json.dumps(values).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(error.read().decode()) from None

    def go(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        self._ask("/url", {"url": address})

    def run(self, script: str, *values: object) -> Any:
        """Run a function's body in the page and return its value."""
        return self._ask("/execute/sync", {"script": script, "args": list(values)})


@contextmanager
def program(*words: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the end of the block."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(words, env={**os.environ, **environment}, **quiet)  # type: ignore[call-overload]
    try:
        yield running
    finally:
        running.terminate()
        with suppress(subprocess.TimeoutExpired):
            running.wait(10)
        running.kill()
        running.wait()
        if running.stdout:
            running.stdout.close()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def connected(port: int) -> socket.socket:
    """Wait until a program listens on a port."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"nothing listens on port {port}")


def start_firefox(stack: ExitStack, home: Path) -> Driver:
    """Start Firefox without a window, with a profile of its own."""
    found = shutil.which("firefox-esr") or shutil.which("firefox")
    if not found:
        pytest.skip("no Firefox: `make test-all` installs firefox-esr where it may")
    port = free_port()
    (home / "user.js").write_text(
        f'user_pref("marionette.port", {port});\nuser_pref("intl.accept_languages", "es");\n'
        'user_pref("browser.shell.checkDefaultBrowser", false);\nuser_pref("datareporting.policy.firstRunURL", "");\n'
    )
    words = ("--headless", "--marionette", "--no-remote", "--profile", str(home))
    stack.enter_context(program(found, *words, HOME=str(home)))
    firefox = Firefox(stack.enter_context(connected(port)))
    stack.callback(firefox.stream.close)
    return firefox


def start_webkit(stack: ExitStack, home: Path) -> Driver:
    """Start WebKitGTK on a screen that only exists in memory."""
    driver, screen = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
    browser = next((str(path) for glob in MINI_BROWSERS for path in Path("/").glob(glob[1:])), None)
    if not (driver and screen and browser):
        pytest.skip("no WebKitGTK: `make test-all` installs webkit2gtk-driver and xvfb where it may")
    shown = stack.enter_context(program(screen, "-displayfd", "1", "-screen", "0", "1440x900x24"))
    assert shown.stdout
    display = shown.stdout.readline().decode().strip()
    port = free_port()
    stack.enter_context(program(driver, f"--port={port}", DISPLAY=f":{display}", HOME=str(home)))
    connected(port).close()
    return WebKit(port, browser)


@pytest.fixture(params=[start_firefox, start_webkit], ids=["firefox", "webkit"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    """A browser that is not Chromium; skipped, and said so, where the machine has none."""
    with ExitStack() as stack:
        yield request.param(stack, tmp_path)


@pytest.fixture
def base(site: Path, tmp_path: Path) -> Iterator[str]:
    """Address of the site under /ajuste/."""
    host = tmp_path / "host"
    host.mkdir()
    (host / "ajuste").symlink_to(site, target_is_directory=True)
    server = serve.start(host, first_port=0)
    yield f"http://127.0.0.1:{server.server_port}/ajuste/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def wait(driver: Driver) -> Callable[..., Any]:
    """Return a function that waits until a function's body, run in the page, returns something true."""
    return lambda script, *values: until(driver, script, *values)


@pytest.fixture
def text(driver: Driver) -> Callable[[str], str]:
    """Return a function that gives the first match's text, spaces made plain.

    Not `innerText`: what is out of view is not laid out (content-visibility), and has none in every browser.
    """

    def read(selector: str) -> str:
        found = driver.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
        return re.sub(r"\s+", " ", found).strip()

    return read
