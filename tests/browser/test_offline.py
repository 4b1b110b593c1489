"""After one visit the site answers with the network cut; a new release is seen at once."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from web import serve


class Host(NamedTuple):
    """A server that can be cut off and come back on its port."""

    folder: Path
    running: list

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.running[0].server_port}/ajuste/"

    def cut(self) -> None:
        self.running[0].shutdown()
        self.running[0].server_close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """Serve a folder under /ajuste/, at an address of its own: other tests keep theirs."""
    (tmp_path / "ajuste").mkdir()
    one = Host(tmp_path, [serve.start(tmp_path, first_port=0)])
    yield one
    one.cut()


def kept(page, part: str, least: int = 1) -> None:
    """Wait until the service worker holds files of a folder."""
    page.wait_for_function(
        """async ([part, least]) => {
            let count = 0;
            for (const name of await caches.keys())
                for (const { url } of await (await caches.open(name)).keys()) count += url.includes(part);
            return count >= least;
        }""",
        arg=[part, least],
        timeout=60_000,
    )


def test_one_visit_is_enough(visit, host, site):
    (host.folder / "ajuste").rmdir()
    (host.folder / "ajuste").symlink_to(site, target_is_directory=True)
    visitor = visit(expect_failures=True, service_workers="allow")._replace(base=host.base)
    page = visitor.page
    page.context.unroute("**/*")
    visitor.open("es/guide/oom/")
    visitor.open("es/calculator/")
    visitor.answered(lambda: page.locator("#aj-dataset-examples").fill("52000"))
    kept(page, "pyodide.asm.wasm")
    kept(page, "js-yaml")
    online = visitor.text(".aj-numbers")

    host.cut()
    page.reload()
    page.wait_for_selector(".aj-calc[data-ready]")
    visitor.answered(lambda: page.locator("#aj-dataset-examples").fill("26000"))
    visitor.answered(lambda: page.locator("#aj-dataset-examples").fill("52000"))
    assert visitor.text(".aj-numbers") == online
    page.locator("#config > summary").click()
    page.locator("#aj-paste-config").fill("base_model: Qwen/Qwen2.5-7B\nadapter: lora\nlora_r: 8")
    visitor.answered(lambda: page.locator("[data-paste=config]").click())
    assert page.locator("#aj-lora-rank").input_value() == "8"
    page.goto(host.base + "es/guide/oom/")
    assert "out of memory" in visitor.text("h1")
    host.running[0] = serve.start(host.folder, first_port=0)  # for the fixture to close


def release(host: Host, site: Path, number: int) -> None:
    """Publish a small site with the real service worker: one page, one versioned file."""
    root = host.folder / "ajuste"
    shutil.rmtree(root)
    (root / "app" / f"v{number}").mkdir(parents=True)
    (root / "es" / "js").mkdir(parents=True)
    (root / "app" / f"v{number}" / "a.js").write_text(f"document.title = 'app {number}';")
    script = (site / "sw.js").read_text()
    start, end = script.index("const CURRENT"), script.index("const worker")
    current = f'const CURRENT = {{ pages: "{number}", app: "v{number}", pyodide: "p" }};\nconst FILES = ["a.js"];\n'
    (root / "sw.js").write_text(script[:start] + current + script[end:])
    shutil.copy(site / "es" / "js" / "offline.js", root / "es" / "js")
    (root / "es" / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><p>release {number}</p><script src="../app/v{number}/a.js"></script>'
        '<script type="module" src="js/offline.js"></script>'
    )
    for path in root.rglob("*"):  # the server tells times in seconds: releases are further apart
        os.utime(path, (number * 1000, number * 1000))


def test_a_new_release_is_seen_at_once_and_old_ones_go(visit, host, site):
    page = visit(expect_failures=True, service_workers="allow").page
    page.context.unroute("**/*")
    for number in (1, 2, 3):
        release(host, site, number)
        page.goto(host.base + "es/")
        assert page.locator("p").inner_text() == f"release {number}"
        assert page.title() == f"app {number}"
        page.wait_for_function(
            "async version => (await caches.keys()).some(name => name.endsWith(`pages ${version}`))", arg=str(number)
        )
        kept(page, f"app/v{number}/a.js")
        page.goto(host.base + "es/")  # a second look, now through this release's own worker
        assert page.locator("p").inner_text() == f"release {number}"
    page.wait_for_function("async () => !(await caches.keys()).some(name => /(pages 1|app v1)$/.test(name))")
    host.cut()
    page.goto(host.base + "es/")
    assert page.locator("p").inner_text() == "release 3"
    assert page.title() == "app 3"
    host.running[0] = serve.start(host.folder, first_port=0)
