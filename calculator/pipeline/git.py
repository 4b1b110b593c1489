"""What git knows of data/: the files as they were at a commit, and every row that prices ever had."""

from __future__ import annotations

import csv
import io
import subprocess
import tarfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pipeline import schema
from pipeline.files import Row, read_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class GitError(Exception):
    """Git could not answer; the text is its own."""


def files_at(root: Path, reference: str) -> dict[str, bytes]:
    """The files under data/ at a commit, by path."""
    with tarfile.open(fileobj=io.BytesIO(_git(root, "archive", "--format=tar", reference, "--", "data"))) as archive:
        return {
            member.name: content.read()
            for member in archive.getmembers()
            if member.isfile() and (content := archive.extractfile(member))
        }


def branch_point(root: Path, reference: str) -> str:
    """The commit at which the current branch left `reference`: what came into it since is not ours."""
    return _git(root, "merge-base", reference, "HEAD").decode().strip()


def past_rows(root: Path) -> Iterator[Row]:
    """Every row of prices that was ever written, oldest first. None where there is no repository."""
    try:
        log = _git(root, "log", "--reverse", "--no-renames", "--format=", "-p", "-U0", "--", "data/prices")
    except (GitError, FileNotFoundError):
        return
    headers: dict[str, list[str]] = {}
    path = ""
    for line in log.decode("utf-8", "replace").splitlines():
        if line.startswith("+++ b/"):
            path = line[6:]
        elif line.startswith("+") and path:
            cells = next(csv.reader([line[1:]]), [])
            if cells[:1] == ["offer"]:
                headers[path] = cells
            elif set(headers.get(path, ["?"])) <= set(schema.PRICES.names):
                row, _ = read_row(schema.PRICES, path, 0, headers[path], cells)
                if row:
                    row.values["provider"] = PurePosixPath(path).stem
                    yield row


def _git(root: Path, *arguments: str) -> bytes:
    # Paths of a pull request are data: nothing here is passed through a shell.
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    if done.returncode:
        raise GitError(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout
