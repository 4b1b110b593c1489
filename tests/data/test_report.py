"""The comment on a pull request: our script, a text by a stranger, and a `gh` that notes what it is told."""

import json
import os
import subprocess
from pathlib import Path

import pytest

GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$GH_LOG"
case "$1 $2" in
  "api --method") cat "$FOUND/pulls.json" ;;
  "api --paginate") cat "$FOUND/files" ;;
  "run download") [ -f "$FOUND/report.md" ] && cp "$FOUND/report.md" "$7" ;;
  "pr comment") cp "$7" "$FOUND/comment.md" ;;
esac
"""
SHA = "a" * 40


@pytest.fixture
def told(root: Path, tmp_path: Path):
    """Runs report.sh for a pull request; what `gh` was told, and the comment (None when there is none)."""
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    log = tmp_path / "log"

    def run(files: str, report: bytes | None, sha: str = SHA, branch: str = "fix") -> tuple[list[str], bytes | None]:
        (tmp_path / "pulls.json").write_text(json.dumps([{"number": 7, "head": {"sha": SHA}}]))
        (tmp_path / "files").write_text(files)
        if report is not None:
            (tmp_path / "report.md").write_bytes(report)
        environment = os.environ | {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "GH_LOG": str(log),
            "FOUND": str(tmp_path),
            "GH_REPO": "acme/prices",
            "RUN": "12",
            "HEAD_SHA": sha,
            "HEAD_OWNER": "stranger",
            "HEAD_BRANCH": branch,
        }
        subprocess.run(["bash", root / ".github/report.sh"], env=environment, check=True, cwd=tmp_path)
        comment = tmp_path / "comment.md"
        return log.read_text().splitlines(), comment.read_bytes() if comment.exists() else None

    return run


def test_labels_follow_the_paths_and_the_comment_is_the_report(told):
    said, comment = told("data/prices/vast.csv\ndata/gpus.csv\ndocs/es/prices.md\n", "### Qué cambia: −10 %\n".encode())
    assert "pr edit 7 --add-label gpu,guide,price" in said
    assert comment == "<!-- ajuste: data report -->\n### Qué cambia: −10 %\n".encode()
    assert said[-1].startswith("pr comment 7 --edit-last --create-if-none --body-file ")


def test_a_change_without_data_gets_labels_only(told):
    said, comment = told("calculator/ajuste/loss.py\n", None)
    assert "pr edit 7 --add-label estimator" in said
    assert comment is None


def test_a_newer_push_is_not_told_about_the_older_checks(told):
    said, comment = told("data/gpus.csv\n", b"x", sha="b" * 40)
    assert len(said) == 1
    assert comment is None


def test_the_strangers_report_is_only_text(told):
    """Mentions, comments that hide, bytes that are no text, a megabyte: none passes."""
    _, comment = told("data/gpus.csv\n", b"@acme/all <!-- hidden \xff\n" + b"x" * 1_000_000)
    assert b"@acme" not in comment
    assert comment.count(b"<!--") == 1
    comment.decode()
    assert len(comment) < 65_000


@pytest.mark.parametrize("branch", ["$(touch owned)", "a;touch owned", "--body-file", 'x" y'])
def test_a_branch_is_a_name_and_never_a_command(told, branch: str, tmp_path: Path):
    said, _ = told("data/gpus.csv\n", b"x", branch=branch)
    assert f"api --method GET repos/acme/prices/pulls -f state=open -f head=stranger:{branch}" in said
    assert not (tmp_path / "owned").exists()


def test_a_path_is_a_label_and_never_a_command(told, tmp_path: Path):
    said, _ = told("data/$(touch owned).csv\n-n\ndata/prices/`touch owned`.csv\n", b"x")
    assert "pr edit 7 --add-label data,price" in said
    assert not (tmp_path / "owned").exists()
