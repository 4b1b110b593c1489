"""The build's own parts, each alone: steps, archives, policies, the server."""

import base64
import datetime
import hashlib
import os
import urllib.request
import zipfile
from pathlib import Path

import pytest

import assemble
import serve
from assemble import BuildError, Step

HEAD = '<!doctype html><html><head><meta charset="utf-8">'


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of its own for steps to run in."""
    monkeypatch.setattr(assemble, "ROOT", tmp_path)
    monkeypatch.setattr(assemble, "BUILD", tmp_path / "build")
    monkeypatch.setattr(assemble.bootstrap, "CACHE", tmp_path / ".cache")  # its locks: a real build may be running
    monkeypatch.setattr(assemble, "__file__", str(tmp_path / "assemble.py"))
    (tmp_path / "assemble.py").touch()
    (tmp_path / "in.txt").write_text("one")
    return tmp_path


def test_a_site_older_than_its_sources_is_noticed(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy() -> None:
        (workshop / "out.txt").write_text((workshop / "in.txt").read_text())

    step = Step("copy it", copy, ("in.*",), ("out.txt",), (assemble.AS_OF,))
    monkeypatch.setattr(assemble, "stages", lambda: [(step,)])
    assert assemble.outdated() == ["all"]
    assemble.perform(step)
    assert assemble.outdated() == []
    (workshop / "in.txt").write_text("two")
    assert assemble.outdated() == ["copy it"]
    assemble.perform(step)
    tomorrow = datetime.date.fromisoformat(assemble.AS_OF) + datetime.timedelta(days=1)
    monkeypatch.setattr(assemble, "AS_OF", tomorrow.isoformat())
    monkeypatch.setattr(assemble, "stages", lambda: [(step._replace(settings=(tomorrow.isoformat(),)),)])
    assert assemble.outdated() == [], "a test that runs over midnight"


def test_a_step_runs_again_only_when_what_it_reads_has_changed(workshop: Path) -> None:
    def copy() -> None:
        (workshop / "out.txt").write_text((workshop / "in.txt").read_text())

    step = Step("copy", copy, ("in.*",), ("out.txt",))
    assert assemble.perform(step)
    assert not assemble.perform(step)
    (workshop / "in.txt").write_text("two")
    assert assemble.perform(step)
    assert (workshop / "out.txt").read_text() == "two"
    assert assemble.perform(step._replace(settings=("2026-12-01",)))
    (workshop / "out.txt").unlink()
    assert assemble.perform(step)


def test_a_step_that_failed_is_not_taken_for_done(workshop: Path) -> None:
    def fail() -> None:
        raise BuildError("no")

    step = Step("flaky", fail, ("in.txt",), ())
    for _ in range(2):
        with pytest.raises(BuildError):
            assemble.perform(step)


def test_a_step_that_makes_nothing_is_an_error(workshop: Path) -> None:
    with pytest.raises(BuildError, match=r"without making out\.txt"):
        assemble.perform(Step("idle", lambda: None, ("in.txt",), ("out.txt",)))


def test_a_failed_command_shows_what_it_said(workshop: Path) -> None:
    with pytest.raises(BuildError, match="this is why"):
        assemble.run("sh", "-c", "echo this is why >&2; exit 3")


def test_repacking_gives_the_same_bytes_whatever_the_order_and_time(tmp_path: Path) -> None:
    for name, files, year in (("a", ("one.py", "two.py"), 2020), ("b", ("two.py", "one.py"), 2026)):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as made:
            for file in files:
                made.writestr(zipfile.ZipInfo(file, (year, 1, 2, 3, 4, 6)), f"content of {file}")
        assemble.repack(tmp_path / f"{name}.zip", tmp_path / f"{name}-2.zip", lambda _: True)
    assert (tmp_path / "a-2.zip").read_bytes() == (tmp_path / "b-2.zip").read_bytes()


def test_a_policy_names_the_inline_code_and_nothing_else() -> None:
    code = "location.hash && 1 < 2;\n"
    page = (
        f'{HEAD}<script>{code}</script><script type="application/json">{{"a": 1}}</script><script src="x.js"></script>'
    )
    policy = assemble.content_security_policy(page)
    expected = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"script-src 'self' 'wasm-unsafe-eval' 'sha256-{expected}';" in policy
    assert policy.count("sha256-") == 1
    assert "unsafe-inline" not in policy
    assert "style-src 'self';" in policy


def test_a_policy_stands_before_what_it_governs() -> None:
    page = assemble.add_policy(f"{HEAD}<title>x</title><script>1</script></head></html>")
    assert page.startswith(f'{HEAD}<meta http-equiv="Content-Security-Policy" content="default-src \'none\';')


@pytest.mark.parametrize("tag", ['<p style="color:red">', '<a onclick="x()">', '<IMG ONERROR="x()">'])
def test_inline_styles_and_handlers_end_the_build(tag: str) -> None:
    with pytest.raises(BuildError, match="inline"):
        assemble.add_policy(HEAD + tag)


def test_the_server_sends_what_browsers_insist_on(tmp_path: Path) -> None:
    expected = {"a.mjs": "text/javascript", "a.wasm": "application/wasm", "a.js": "text/javascript"}
    server = serve.start(tmp_path)
    try:
        for name, kind in expected.items():
            (tmp_path / name).write_text("x")
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{name}") as answer:
                assert answer.headers["Content-Type"] == kind
                assert answer.headers["Cache-Control"] == "no-cache"
    finally:
        server.shutdown()
        server.server_close()


def test_two_servers_take_two_ports(tmp_path: Path) -> None:
    servers = [serve.start(tmp_path), serve.start(tmp_path)]
    try:
        assert servers[0].server_port != servers[1].server_port
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def test_the_watch_notices_an_edit_a_new_file_and_a_removed_one(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    states = [serve.newest(tmp_path)]
    page.write_text("one")
    states.append(serve.newest(tmp_path))
    os.utime(page, (4_000_000_000, 4_000_000_000))
    states.append(serve.newest(tmp_path))
    page.unlink()
    states.append(serve.newest(tmp_path))
    assert len(set(states[:3])) == 3
    assert states[3] == states[0]
