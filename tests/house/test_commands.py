"""The Makefile, the workflows and the rules that hold for every file."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

TARGETS = {
    *(
        "help",
        "setup",
        "serve",
        "build",
        "test",
        "test-fast",
        "test-all",
        "test-estimator",
        "check",
        "check-data",
        "diff-data",
    ),
    *("tables", "bench-browser", "lighthouse", "screenshots", "clean", "fmt", "lock"),
}
# Written so that this file does not hold what it looks for.
PLACES = "|".join(["[p]ypi\\.org", "[p]ythonhosted", "[n]pmjs\\.", "[d]eb\\.debian", "/[w]ork/[.a-z]", "[.]pyenv/"])


WORKFLOWS = sorted(path.name for path in (Path(__file__).resolve().parents[2] / ".github/workflows").glob("*.yml"))
# What a job may write. One that runs a pull request's code, or reads a stranger's form, writes nothing.
WRITES = {
    "ci.yml deploy": {"pages", "id-token"},
    "form.yml answer": {"contents", "issues", "pull-requests"},
    "refresh.yml propose": {"contents", "pull-requests"},
    "release.yml attest": {"attestations", "id-token"},
    "release.yml publish": {"id-token"},
    "release.yml tell": {"contents"},
    "report.yml tell": {"issues", "pull-requests"},
    "stale.yml tell": {"issues"},
}


def workflow(root: Path, name: str = "ci.yml") -> dict:
    return yaml.safe_load((root / ".github/workflows" / name).read_text())


def test_help_lists_every_command(root: Path) -> None:
    listed = subprocess.run(["make", "help"], cwd=root, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make ([a-z-]+)  ", listed, re.MULTILINE)) == TARGETS


@pytest.mark.parametrize("name", [*WORKFLOWS, ".ci/run"])
def test_workflows_call_commands_that_exist(root: Path, name: str) -> None:
    text = (root / (name if name == ".ci/run" else f".github/workflows/{name}")).read_text()
    called = set(re.findall(r"^[^#\n]*\bmake (?:-s )?([a-z][a-z-]*)\b", text, re.MULTILINE))
    assert called <= TARGETS
    assert called or name == "report.yml"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_commit_with_the_version_beside_it(root: Path, name: str) -> None:
    lines = re.findall(r"uses: (.*)", (root / ".github/workflows" / name).read_text())
    assert lines
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in lines), lines


@pytest.mark.parametrize("name", WORKFLOWS)
def test_jobs_hold_few_rights_and_end(root: Path, name: str) -> None:
    document = workflow(root, name)
    assert document["permissions"] == {}
    for job_name, job in document["jobs"].items():
        assert "permissions" in job, job_name
        assert job["timeout-minutes"] <= 60, job_name
        writes = {right for right, level in job["permissions"].items() if level == "write"}
        assert writes == WRITES.get(f"{name} {job_name}", set()), job_name


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_step_puts_what_strangers_write_into_a_command(root: Path, name: str) -> None:
    """Data of an event reaches a shell through the environment, where it is text."""
    for job in workflow(root, name)["jobs"].values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), step


def test_one_job_sums_up_all_the_others(root: Path) -> None:
    jobs = workflow(root)["jobs"]
    assert set(jobs["passed"]["needs"]) == set(jobs) - {"passed", "deploy"}


def test_no_file_names_a_registry_or_a_path_of_one_machine(root: Path) -> None:
    found = subprocess.run(
        ["git", "grep", "-nIE", PLACES, "--", "."], cwd=root, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1, found.stdout  # 1: nothing found


def test_nothing_generated_is_committed(root: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    made = re.compile(r"^(build|site|dist|node_modules|\.venv|\.cache)/|_packed\.py$|__pycache__|\.pyc$")
    assert [name for name in tracked if made.search(name)] == []


def test_agents_md_stays_short(root: Path) -> None:
    assert len((root / "AGENTS.md").read_text().splitlines()) <= 60


@pytest.mark.parametrize("name", ["price", "gpu", "model", "bug", "measurement"])
def test_issue_forms_speak_both_languages(root: Path, name: str) -> None:
    form = yaml.safe_load((root / f".github/ISSUE_TEMPLATE/{name}.yml").read_text())
    labels = [field["attributes"].get("label", "") for field in form["body"] if field["type"] != "markdown"]
    assert all("/" in label or label == "GPU" for label in labels), labels
