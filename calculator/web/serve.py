"""Serve the built site on this machine and rebuild it when a source changes: `make serve`. Not for the internet."""

import os
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WATCHED = ("data", "docs", "calculator", "mkdocs.yml", "mkdocs.en.yml", "pyproject.toml")
LOOK_EVERY_S = 0.5
FIRST_PORT = 8000
PORTS = 100


class Handler(SimpleHTTPRequestHandler):
    """Files with the types that browsers insist on, never cached, quietly."""

    protocol_version = "HTTP/1.1"  # connections are kept, as every real server does

    extensions_map = {  # noqa: RUF012 — the base class's name and shape
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".json": "application/json",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
        ".woff2": "font/woff2",
    }

    def end_headers(self) -> None:
        """Have the browser ask again each time: the site changes under it."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class's name
        """Say nothing of requests that went well."""
        if len(args) > 1 and str(args[1]).startswith(("4", "5")):
            super().log_message(format, *args)


def start(site: Path, first_port: int = FIRST_PORT) -> ThreadingHTTPServer:
    """Serve a folder on the first free port from `first_port` on (0: any), in the background."""
    handler = partial(Handler, directory=str(site))
    for port in range(first_port, first_port + PORTS):
        try:
            server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError:
            continue
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server
    raise OSError(f"no free port from {first_port} to {first_port + PORTS - 1}")


def newest(root: Path) -> tuple[int, float]:
    """Count the sources and find the latest change: either moves when a file is added, edited or removed."""
    times = []
    for name in WATCHED:
        top = root / name
        if top.is_file():
            times.append(top.stat().st_mtime)
        for folder, folders, files in os.walk(top):
            folders[:] = [one for one in folders if one != "__pycache__"]
            times += [os.stat(os.path.join(folder, file)).st_mtime for file in files]  # noqa: PTH116, PTH118 — twice as fast
    return len(times), max(times, default=0.0)


def forever(site: Path, builder: Path, root: Path) -> None:
    """Serve until interrupted; run the build again, in a process of its own, whenever a source changes."""
    server = start(site, int(os.environ.get("PORT", FIRST_PORT)))
    print(f"\nhttp://127.0.0.1:{server.server_port}/  (Ctrl+C ends)\n", flush=True)
    seen = newest(root)
    try:
        while True:
            time.sleep(LOOK_EVERY_S)
            try:
                now = newest(root)
            except FileNotFoundError:  # an editor replaced a file between two looks
                continue
            if now != seen:
                seen = now
                subprocess.run([sys.executable, str(builder)], cwd=root, check=False)
    except KeyboardInterrupt:
        server.shutdown()
