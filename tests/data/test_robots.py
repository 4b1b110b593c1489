"""The robots' shell: branches and pull requests, with a git server of our own and a `gh` that notes what it is told."""

import os
import subprocess
from pathlib import Path

import pytest

GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$GH_LOG"
case "$1 $2" in
  "pr list") cat "$GH_LOG.open" 2> /dev/null || true ;;
  "pr create") echo https://github.example/acme/prices/pull/1 | tee "$GH_LOG.open" ;;
esac
"""


class Robot:
    """A clone in which propose.sh runs, and what it did."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.script, self.clone, self.server = root / ".github/propose.sh", folder / "clone", folder / "server.git"
        self.log = folder / "gh.log"
        tools = folder / "bin"
        tools.mkdir()
        (tools / "gh").write_text(GH)
        (tools / "gh").chmod(0o755)
        (folder / "body.md").write_text("told")
        self.body = folder / "body.md"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GH_"))}
        self.environment = clean | {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "GH_LOG": str(self.log),
            "GH_TOKEN": "token",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_REPOSITORY": "acme/prices",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{self.server}.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://x-access-token:token@github.example/acme/prices",
        }
        self.git(folder, "init", "-q", "--bare", "-b", "main", str(self.server))
        self.git(folder, "clone", "-q", str(self.server), str(self.clone))
        (self.clone / "data/prices").mkdir(parents=True)
        self.write("0.69\n")
        self.git(self.clone, "add", "-A")
        self.git(self.clone, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
        self.git(self.clone, "push", "-q", "origin", "HEAD:main")

    def git(self, folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def write(self, text: str) -> None:
        (self.clone / "data/prices/acme.csv").write_text(text)

    def propose(self, *paths: str, title: str = "acme 1x RTX 4090 changed") -> subprocess.CompletedProcess[str]:
        command = [
            "bash",
            str(self.script),
            "price/issue-7",
            title,
            str(self.body),
            *(paths or ["data/prices/acme.csv"]),
        ]
        environment = self.environment | {"CO_AUTHOR": "someone <1+someone@users.noreply.github.com>"}
        return subprocess.run(command, cwd=self.clone, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def robot(root: Path, tmp_path: Path) -> Robot:
    return Robot(root, tmp_path)


def test_a_change_becomes_a_branch_and_a_pull_request(robot: Robot) -> None:
    robot.write("0.74\n")
    done = robot.propose()
    assert (done.returncode, done.stdout) == (0, "https://github.example/acme/prices/pull/1\n")
    assert robot.git(robot.server, "show", "price/issue-7:data/prices/acme.csv") == "0.74"
    message = robot.git(robot.server, "log", "-1", "--format=%an%n%B", "price/issue-7")
    assert message.splitlines()[0] == "github-actions[bot]"
    assert "Co-authored-by: someone <1+someone@users.noreply.github.com>" in message
    assert robot.git(robot.server, "show", "main:data/prices/acme.csv") == "0.69"


def test_a_second_time_renews_the_same_pull_request(robot: Robot) -> None:
    robot.write("0.74\n")
    robot.propose()
    robot.git(robot.clone, "switch", "-q", "main")
    robot.git(robot.clone, "branch", "-D", "price/issue-7")
    robot.write("0.79\n")
    assert robot.propose().stdout == "https://github.example/acme/prices/pull/1\n"
    assert robot.git(robot.server, "show", "price/issue-7:data/prices/acme.csv") == "0.79"
    assert robot.log.read_text().count("pr create") == 1
    assert robot.log.read_text().count("pr edit") == 1


def test_no_change_is_no_pull_request(robot: Robot) -> None:
    done = robot.propose()
    assert (done.returncode, done.stdout) == (0, "")
    assert not robot.log.exists()


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml",
        "data/prices/../gpus.csv",
        "/etc/passwd",
        "data/prices/a b.csv",
        "-n",
        "data/measurements/bounds.csv",
    ],
)
def test_only_files_that_a_robot_may_change_are_taken(path: str, robot: Robot) -> None:
    robot.write("0.74\n")
    done = robot.propose(path)
    assert done.returncode == 1
    assert "not a file that a robot may change" in done.stderr
    assert not robot.log.exists()


@pytest.mark.parametrize(
    ("path", "label"), [("data/prices/acme.csv", "price"), ("data/measurements/memory.csv", "measurement")]
)
def test_a_label_that_does_not_exist_yet_is_made(path: str, label: str, robot: Robot) -> None:
    (robot.clone / path).parent.mkdir(exist_ok=True)
    (robot.clone / path).write_text("0.74\n")
    assert robot.propose(path).returncode == 0
    told = robot.log.read_text().splitlines()
    assert told.index(f"label create {label}") < next(i for i, line in enumerate(told) if f"--label {label}" in line)


def test_a_title_is_only_text(robot: Robot, tmp_path: Path) -> None:
    robot.write("0.74\n")
    title = f"$(touch {tmp_path}/pwned) `id` \"'; --label x"
    assert robot.propose(title=title).returncode == 0
    assert not (tmp_path / "pwned").exists()
    assert robot.git(robot.server, "log", "-1", "--format=%s", "price/issue-7") == title
