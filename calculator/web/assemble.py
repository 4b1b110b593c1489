"""The whole build, in one place: data, wheel, bytecode, answers, pages, site.

    python calculator/web/assemble.py            build what changed into site/
    python calculator/web/assemble.py --serve    the same, serve site/ on a free local port, rebuild on change

Each step names what it reads and what it makes. A step whose inputs (by content) have not changed is not run again. The
site is put together beside the old one and swapped in at the end, so a half-built site is never seen or served.

From the environment: SITE_URL (root of the site), REPO_URL, AJUSTE_AS_OF (the day that ages count from).
"""

import base64
import datetime
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "calculator"))
import bootstrap  # noqa: E402 — found through the line above

SITE_URL = os.environ.get("SITE_URL", "https://ajuste.example/").rstrip("/") + "/"
REPO_URL = os.environ.get("REPO_URL", "https://github.com/example/ajuste")
AS_OF = os.environ.get("AJUSTE_AS_OF") or datetime.datetime.now(datetime.UTC).date().isoformat()
LANGUAGES = {"es": "mkdocs.yml", "en": "mkdocs.en.yml"}

BUILD = ROOT / "build"
APP = BUILD / "app"
SITE = ROOT / "site"
PAGE_WHEEL = BUILD / "wheel"
SMOKE_TEST = ROOT / "calculator" / "smoke" / "smoke.py"  # served beside the pages: people fetch it onto a rented host
NOT_FOR_THE_PAGE = ("ajuste/cli", "ajuste/__main__", "ajuste/schema")  # the command line and what only CPython runs
WORK = BUILD / "tmp"
PYODIDE = ROOT / "node_modules" / "pyodide"
ESBUILD = ROOT / "node_modules" / "esbuild" / "bin" / "esbuild"
SCRIPTS = ("calculator.js", "embed.js", "worker.js", "dataset.js")  # what pages and the two workers start from
PYODIDE_FILES = (
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
)  # what the browser loads, beside the two made here
NODE_TOOL = ROOT / "calculator" / "web" / "pyodide_node.mjs"
HUB = (
    "https://huggingface.co"  # only the calculator may ask it, and only when a reader presses the button that names it
)
ALWAYS_KEPT = ("pyodide/", "_pyodide/", "encodings/__init__", "encodings/aliases", "encodings/utf_8", "encodings/ascii")


class BuildError(Exception):
    """A step failed; the message is for the person who started the build."""


# How steps run


class Step(NamedTuple):
    """One step: what it does, what it reads (globs), what it makes (paths), the settings it depends on."""

    name: str
    action: Callable[[], None]
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    settings: tuple[str, ...] = ()


def files_of(patterns: tuple[str, ...]) -> list[Path]:
    """List the files that globs name, caches aside, in a fixed order."""
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def key_of(step: Step) -> str:
    """Hash everything that a step depends on: this file too."""
    total = hashlib.sha256("\0".join(step.settings).encode())
    for path in (Path(__file__), *files_of(step.reads)):
        total.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def stamp_of(step: Step) -> Path:
    """Return the file that holds the key of a step's last run."""
    return BUILD / "stamps" / step.name.replace(" ", "-")


def perform(step: Step) -> bool:
    """Run a step unless it is already done; print one line. Return whether it ran."""
    stamp, key = stamp_of(step), key_of(step)
    if stamp.exists() and stamp.read_text() == key and all((ROOT / made).exists() for made in step.makes):
        print(f"  {step.name:12} unchanged", flush=True)
        return False
    stamp.unlink(missing_ok=True)
    started = time.perf_counter()
    step.action()
    if missing := [made for made in step.makes if not (ROOT / made).exists()]:
        raise BuildError(f"{step.name}: finished without making {', '.join(missing)}")
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key)
    print(f"  {step.name:12} {time.perf_counter() - started:.1f} s", flush=True)
    return True


def side_by_side(steps: Iterable[Step]) -> None:
    """Run steps at the same time; the first that fails ends the build."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(perform, steps))


def run(*command: str | Path, **environment: str) -> str:
    """Run a command in the repository and return what it printed; its whole output is shown if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": bootstrap.path_with_tools(),
            "PYTHONPATH": str(ROOT / "calculator"),
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(Path(word).name if word.startswith(str(ROOT)) else word for word in words)
        raise BuildError(f"`{shown}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def replace_folder(new: Path, old: Path) -> None:
    """Put a finished folder in another's place."""
    gone = old.with_name(old.name + ".old")
    shutil.rmtree(gone, ignore_errors=True)
    if old.exists():
        old.rename(gone)
    new.rename(old)
    shutil.rmtree(gone, ignore_errors=True)


def fresh(folder: Path) -> Path:
    """Return a folder, emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# Data


def check() -> None:
    """Check every row of data/."""
    run(sys.executable, "-m", "pipeline", "check")


def tables() -> None:
    """Write the guide's generated tables."""
    run(sys.executable, "-m", "pipeline", "tables", "--out", "build/includes", "--as-of", AS_OF)


def bundle() -> None:
    """Write the catalog that the estimator and the page read."""
    run(sys.executable, "-m", "pipeline", "bundle", "--out", "build/app/catalog.json", "--as-of", AS_OF)


def api() -> None:
    """Write the site as an API: the data as JSON files, the schemas of the estimator's requests and answers."""
    fresh(BUILD / "api")
    run(sys.executable, "-m", "pipeline", "api", "--out", "build/api", "--as-of", AS_OF)
    run(sys.executable, "-m", "ajuste.schema", "build/api")


# The wheel and its bytecode


def wheel() -> None:
    """Build the package as the page needs it: without the catalog, which the page fetches by itself."""
    fresh(PAGE_WHEEL)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", PAGE_WHEEL, AJUSTE_WITHOUT_CATALOG="1")


def built_wheel() -> Path:
    """Return the page's wheel."""
    return next(PAGE_WHEEL.glob("ajuste-*-py3-none-any.whl"))


def repack(source: Path, target: Path, kept: Callable[[str], bool]) -> None:
    """Copy the wanted files of a zip in a fixed order with a fixed date: the same content gives the same bytes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in sorted(old.namelist()):
            if not name.endswith("/") and kept(name):
                new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED, 9)


def compile_with_pyodide_build(archive: Path, target: Path) -> None:
    """Compile a zip or wheel with pyodide-build: only where this Python makes the bytecode that Pyodide's reads."""
    folder = fresh(WORK / "py-compile")
    source = Path(shutil.copy(archive, folder))
    # Any fixed date makes py_compile write hashes of the source instead of times; level 2 leaves docstrings out.
    run("pyodide", "py-compile", "--silent", source, SOURCE_DATE_EPOCH="315532800", PYTHONOPTIMIZE="2")
    (made,) = (path for path in folder.iterdir() if path.suffix == archive.suffix and has_bytecode(path))
    shutil.copy(made, target)


def compile_inside_pyodide(archive: Path, target: Path) -> None:
    """Compile a zip or wheel inside Pyodide under node: works with any Python, takes longer."""
    run("node", NODE_TOOL, "compile", PYODIDE / "python_stdlib.zip", archive, target)


def has_bytecode(archive: Path) -> bool:
    """Say whether a zip holds compiled modules."""
    with zipfile.ZipFile(archive) as opened:
        return any(name.endswith(".pyc") for name in opened.namelist())


def same_python() -> bool:
    """Say whether this Python and Pyodide's are of one minor version, and so read the same bytecode."""
    theirs = json.loads((PYODIDE / "pyodide-lock.json").read_text())["info"]["python"]
    return str(theirs).split(".")[:2] == [str(part) for part in sys.version_info[:2]]


def bytecode() -> None:
    """Compile our wheel and the part of the standard library that it uses."""
    compile_archive = compile_with_pyodide_build if same_python() else compile_inside_pyodide
    make_bytecode(compile_archive, APP / "ajuste.whl", BUILD / "pyodide")


def make_bytecode(compile_archive: Callable[[Path, Path], None], our_wheel: Path, runtime: Path) -> None:
    """Write our compiled wheel, and a folder with Pyodide's files around a compiled, pruned standard library."""
    fresh(runtime)
    our_wheel.parent.mkdir(parents=True, exist_ok=True)
    work = fresh(WORK / "bytecode")

    probes = work / "probes.json"
    probes.write_text(json.dumps(probe_requests()))
    found = run(
        "node", NODE_TOOL, "modules", PYODIDE / "python_stdlib.zip", built_wheel(), APP / "catalog.json", probes
    )
    used = set(json.loads(found.splitlines()[-1]))
    pruned = work / "python_stdlib.zip"
    repack(PYODIDE / pruned.name, pruned, lambda name: name in used or name.startswith(ALWAYS_KEPT))

    compiled = work / "compiled.zip"
    compile_archive(pruned, compiled)
    repack(compiled, runtime / "python_stdlib.zip", lambda _: True)
    compile_archive(built_wheel(), compiled)
    repack(compiled, our_wheel, needed_in_the_page)

    for name in PYODIDE_FILES:
        shutil.copy(PYODIDE / name, runtime)
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text())
    (runtime / "pyodide-lock.json").write_text(json.dumps({**lock, "packages": {}}))


def needed_in_the_page(name: str) -> bool:
    """Say whether a file of the compiled wheel goes to the browser."""
    return name.endswith((".pyc", "/METADATA", "/WHEEL")) and not name.startswith(NOT_FOR_THE_PAGE)


def requests() -> dict[str, dict[str, object]]:
    """Return the requests that the pages answer before Python runs: name → request."""
    named: dict[str, dict[str, object]] = json.loads(
        (ROOT / "calculator/web/requests.json").read_text(encoding="utf-8")
    )
    return named


def embeds() -> dict[str, dict[str, Any]]:
    """Return the small calculators of the guide: name → request, questions, what is shown."""
    return tomllib.loads((ROOT / "docs/embeds.toml").read_text(encoding="utf-8"))


def probe_requests() -> list[object]:
    """Return requests that between them touch every way through the package: answers, refusals, broken JSON."""
    broken = [
        "{",
        "[]",
        '{"model": "no-such-model", "method": "lora"}',
        '{"model": {}, "method": "lora"}',
        '{"method": NaN}',
    ]
    return [*requests().values(), *(embed["request"] for embed in embeds().values()), *broken]


# Answers and pages


def figures() -> None:
    """Compute the figures that the guide's text includes."""
    run(sys.executable, "-m", "pipeline.figures", "--catalog", "build/app/catalog.json", "--out", "build/includes")


def reference() -> None:
    """Write the references of the package and of the command line that the guide includes."""
    run(sys.executable, "-m", "pipeline.reference", "--out", "build/includes")


def answers() -> None:
    """Answer the pages' requests on CPython, with the package as it is in the checkout."""
    from ajuste import estimate_json, load_catalog

    catalog = load_catalog((APP / "catalog.json").read_text(encoding="utf-8"))
    folder = fresh(BUILD / "answers")
    questions: dict[str, dict[str, Any]] = {name: {"request": request} for name, request in requests().items()}
    for name, embed in embeds().items():
        questions[f"embed-{name}"] = {"request": embed["request"], "embed": {"name": name, **embed}}
    for name, question in questions.items():
        answer = json.loads(estimate_json(json.dumps(question["request"]), catalog))
        if not answer["ok"]:
            raise BuildError(f"requests.json or embeds.toml, {name}: {answer['error']}")
        text = json.dumps({**question, "answer": answer}, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


def presets() -> None:
    """Answer every model of the catalog by each usual method, for the page to show before Python runs."""
    run(sys.executable, "calculator/web/presets.py", "build")


def coverage() -> None:
    """Measure how often the ranges were right, for the captions under the numbers."""
    run(sys.executable, "calculator/web/coverage.py", "build")


def prerender() -> None:
    """Render the calculator, form and answer, into HTML that the pages include."""
    run("node", "calculator/web/prerender.mjs", "build", REPO_URL=REPO_URL)


def browser_files() -> None:
    """Gather the calculator's own files beside the catalog and the wheel, and say where the rest is."""
    for path in APP.glob("*.js"):
        path.unlink()
    # What is imported at once goes into few files; what is imported when somebody needs it stays apart.
    run(
        *("node", ESBUILD, *(ROOT / "calculator" / "web" / name for name in SCRIPTS)),
        *("--bundle", "--splitting", "--format=esm", "--minify", "--target=es2022", "--log-level=warning"),
        *(f"--outdir={APP}", "--chunk-names=[name]-[hash]"),
    )
    shutil.rmtree(APP / "strings", ignore_errors=True)
    shutil.copytree(ROOT / "calculator" / "web" / "strings", APP / "strings")
    about = {"pyodide": f"../{pyodide_folder()}/", "wheel": "ajuste.whl", "catalog": "catalog.json", **versions()}
    (APP / "build.json").write_text(json.dumps(about), encoding="utf-8")


def preloads() -> str:
    """Link the files that the calculator's script imports: the page asks for them together with it.

    "@/" stands for their folder, which each page puts in: the theme's successor cannot split a list in a template.
    """
    script = (APP / "calculator.js").read_text(encoding="utf-8")
    names = re.findall(r'\bfrom"\./(chunk-\w+\.js)"', script)
    return "".join(f'<link rel="modulepreload" href="@/{name}">' for name in names)


def app_folder() -> str:
    """Return the name of the folder with the calculator's files, by content: a browser may keep it for ever."""
    return folder_hash(APP)


def pyodide_folder() -> str:
    """Return the name of Pyodide's folder, by content too: it outlives a change of prices."""
    version = json.loads((PYODIDE / "package.json").read_text())["version"]
    return f"pyodide-{version}-{folder_hash(BUILD / 'pyodide')}"


def versions() -> dict[str, str]:
    """Return the estimator's version and the newest day of the data."""
    from ajuste import __version__

    return {"estimator": __version__, "data": json.loads((APP / "catalog.json").read_text(encoding="utf-8"))["data"]}


def folder_hash(folder: Path) -> str:
    """Hash a folder's files, names and content."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(f"{path.relative_to(folder).as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:12]


def page_environment() -> dict[str, str]:
    """Return what mkdocs.yml reads from the environment."""
    known = versions()
    return {
        "SITE_URL": SITE_URL,
        "SITE_SCOPE": urlsplit(SITE_URL).path,
        **{f"SITE_URL_{language.upper()}": f"{SITE_URL}{language}/" for language in LANGUAGES},
        "REPO_URL": REPO_URL,
        "AJUSTE_APP": f"app/{app_folder()}",
        "AJUSTE_PRELOADS": preloads(),
        "AJUSTE_VERSION": known["estimator"],
        "AJUSTE_DATA": known["data"],
        "NO_MKDOCS_2_WARNING": "1",
    }


def pages(language: str) -> None:
    """Build one language's pages, strictly: a broken link or anchor ends the build."""
    target = BUILD / "pages" / language
    run("mkdocs", "build", "--strict", "-f", LANGUAGES[language], "-d", target, **page_environment())


# The site


class InlineCode(HTMLParser):
    """Collects what a content security policy has to name: inline scripts and styles; and what it must not let pass."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.attributes: list[str] = []
        self._open: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note inline handlers and styles, and the start of inline code."""
        values = dict(attrs)
        self.attributes += [name for name in values if name == "style" or name.startswith("on")]
        executable = values.get("type") in (None, "", "module", "text/javascript")
        if tag == "style":
            self._open = self.styles
        elif tag == "script" and "src" not in values and executable:
            self._open = self.scripts

    def handle_data(self, data: str) -> None:
        """Keep inline code as it stands: the policy's hash is of its exact text."""
        if self._open is not None:
            self._open.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Note the end of inline code."""
        if tag in ("script", "style"):
            self._open = None


def content_security_policy(page: str) -> str:
    """Return the policy that lets a page run what it holds now, and nothing else."""
    code = InlineCode()
    code.feed(page)
    if code.attributes:
        raise BuildError(f"inline {', '.join(sorted(set(code.attributes)))} in a page: its policy would block it")

    def hashes(texts: list[str]) -> list[str]:
        digests = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts}
        return [f"'sha256-{digest}'" for digest in sorted(digests)]

    return "; ".join(
        (
            "default-src 'none'",
            " ".join(["script-src 'self' 'wasm-unsafe-eval'", *hashes(code.scripts)]),
            " ".join(["style-src 'self'", *hashes(code.styles)]),
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'" + (f" {HUB}" if "/calculator.js" in page else ""),
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def add_policy(page: str) -> str:
    """Put the policy into a page's head, before anything that it governs."""
    policy = html.escape(content_security_policy(page), quote=True).replace("&#x27;", "'")
    done, count = re.subn(
        r'(<meta charset="?utf-8"?>)',
        rf'\1<meta http-equiv="Content-Security-Policy" content="{policy}">',
        page,
        count=1,
    )
    if not count:
        raise BuildError("a page without <meta charset>: nowhere to put its policy")
    return done


def assemble() -> None:
    """Put the site together: pages with their policies, the calculator's files, Pyodide, what stands at the root."""
    new = fresh(WORK / "site")
    shutil.copytree(BUILD / "pages", new, dirs_exist_ok=True)
    shutil.copytree(APP, new / "app" / app_folder())
    shutil.copytree(BUILD / "pyodide", new / "app" / pyodide_folder())
    shutil.copytree(BUILD / "api", new / "api" / "v1")
    shutil.copy(APP / "catalog.json", new / "api" / "v1")
    # Versions by content: a service worker with other bytes is a new release to the browser.
    files = sorted(path.relative_to(APP).as_posix() for path in APP.rglob("*") if path.suffix in (".js", ".json"))
    places = {
        "SITE_URL": SITE_URL,
        "SITE_PATH": urlsplit(SITE_URL).path,
        "RELEASE": folder_hash(new),
        "APP": app_folder(),
        "PYODIDE": pyodide_folder(),
        "FILES": json.dumps([name for name in files if not name.startswith("presets/")]),
    }
    for template in sorted((ROOT / "calculator" / "web" / "root").iterdir()):
        text = template.read_text(encoding="utf-8")
        for name, value in places.items():
            text = text.replace(f"{{{{{name}}}}}", value)
        (new / template.name).write_text(text, encoding="utf-8")
    shutil.copy(SMOKE_TEST, new)
    (new / ".nojekyll").touch()
    for path in new.rglob("*.html"):
        try:
            depth = len(path.relative_to(new).parts) - 2  # below the language's root
            page = path.read_text(encoding="utf-8").replace("%base%", "../" * depth)
            path.write_text(add_policy(page), encoding="utf-8")
        except BuildError as error:
            raise BuildError(f"{path.relative_to(new)}: {error}") from None
    replace_folder(new, SITE)


# All of it


def price_history() -> str:
    """Return the last commit that touched a price: tables and API tell the past as git knows it. "" without git."""
    return bootstrap.answer("git", "log", "-1", "--format=%H", "--", "data/prices")


# Steps of one stage do not read what the others make, and run side by side.
STAGES: tuple[tuple[Step, ...], ...] = (
    (Step("check", check, ("data/**/*", "calculator/pipeline/*"), ()),),
    (
        Step("tables", tables, ("data/**/*", "calculator/pipeline/*"), ("build/includes",), (AS_OF, price_history())),
        Step("bundle", bundle, ("data/**/*", "calculator/pipeline/*"), ("build/app/catalog.json",), (AS_OF,)),
        Step(
            "wheel",
            wheel,
            ("calculator/ajuste/*.py", "calculator/pack.py", "data/*.toml", "pyproject.toml", "README.md", "LICENSE"),
            ("build/wheel",),
        ),
    ),
    (
        Step(
            "bytecode",
            bytecode,
            # Not the catalog, though the probes read it: which modules they load does not depend on a price.
            (
                "build/wheel/*.whl",
                "calculator/web/requests.json",
                "calculator/web/pyodide_node.mjs",
                "node_modules/pyodide/*",
            ),
            ("build/app/ajuste.whl", "build/pyodide/python_stdlib.zip"),
            (sys.version,),
        ),
        Step(
            "api",
            api,
            ("data/**/*", "calculator/pipeline/*", "calculator/ajuste/*.py"),
            ("build/api",),
            (AS_OF, price_history()),
        ),
        Step(
            "reference",
            reference,
            (
                "calculator/ajuste/*.py",
                "calculator/pipeline/reference.py",
                "calculator/web/strings/*",
                "docs/reference.toml",
            ),
            tuple(f"build/includes/{name}-reference.{one}.md" for name in ("api", "cli") for one in LANGUAGES),
        ),
        Step(
            "answers",
            answers,
            (
                *("calculator/ajuste/*.py", "data/*.toml", "build/app/catalog.json"),
                *("calculator/web/requests.json", "docs/embeds.toml"),
            ),
            ("build/answers",),
        ),
        Step(
            "presets",
            presets,
            ("calculator/ajuste/*.py", "data/*.toml", "build/app/catalog.json", "calculator/web/presets.py"),
            ("build/app/presets",),
        ),
        Step(
            "coverage",
            coverage,
            (
                *("calculator/ajuste/*.py", "data/*.toml", "data/measurements/*", "build/app/catalog.json"),
                *("calculator/pipeline/*.py", "calculator/web/coverage.py"),
            ),
            ("build/coverage.json",),
        ),
        Step(
            "figures",
            figures,
            (
                *("docs/presets.toml", "docs/*/**/*.md", "build/app/catalog.json", "data/**/*"),
                *("calculator/ajuste/*.py", "calculator/pipeline/*", "calculator/web/strings/*"),
            ),
            (),
        ),
    ),
    (
        Step(
            "prerender",
            prerender,
            (
                *("build/answers/*", "build/app/catalog.json", "build/app/ajuste.whl", "build/pyodide/*"),
                "build/coverage.json",
                *("calculator/web/*.js", "calculator/web/prerender.mjs", "calculator/web/strings/*"),
            ),
            (
                "build/app/names.json",
                *(
                    f"build/includes/{name}.{one}.html"
                    for name in ("calculator", "answer-summary")
                    for one in LANGUAGES
                ),
            ),
            (REPO_URL,),
        ),
    ),
    (
        Step(
            "app",
            browser_files,
            (
                *("calculator/web/*.js", "calculator/web/strings/*"),
                *("calculator/ajuste/__init__.py", "build/app/catalog.json", "build/pyodide/*", "package-lock.json"),
            ),
            ("build/app/build.json",),
        ),
    ),
)


def stages() -> Iterator[tuple[Step, ...]]:
    """Every stage in its order; the last two know what they depend on only when the ones before are done."""
    yield from STAGES
    environment = tuple(f"{name}={value}" for name, value in page_environment().items())
    common = ("mkdocs*.yml", "docs/theme/**/*", "build/includes/*")
    yield tuple(
        Step(f"pages {one}", partial(pages, one), (f"docs/{one}/**/*", *common), (f"build/pages/{one}",), environment)
        for one in LANGUAGES
    )
    reads = (
        "build/pages/**/*",
        "build/app/**/*",
        "build/api/**/*",
        "build/pyodide/*",
        "calculator/web/root/*",
        "calculator/smoke/*",
    )
    yield (Step("site", assemble, reads, ("site/index.html",), environment),)


@bootstrap.one_at_a_time("build")
def build() -> None:
    """Run every step that has something to do."""
    started = time.perf_counter()
    for stage in stages():
        side_by_side(stage)
    print(f"site/ stands, {time.perf_counter() - started:.1f} s", flush=True)


@bootstrap.one_at_a_time("build")
def outdated() -> list[str]:
    """Name the steps whose inputs have changed since they ran. The day after, a build is as good as it was."""
    if not (BUILD / "stamps").is_dir():
        return ["all"]
    yesterday = (datetime.date.fromisoformat(AS_OF) - datetime.timedelta(days=1)).isoformat()

    def earlier(step: Step) -> Step:
        return step._replace(settings=tuple(yesterday if one == AS_OF else one for one in step.settings))

    return [
        step.name
        for stage in stages()
        for step in stage
        if not (stamp_of(step).exists() and stamp_of(step).read_text() in (key_of(step), key_of(earlier(step))))
    ]


def main(words: list[str]) -> int:
    """Build, and serve if asked."""
    try:
        build()
    except BuildError as error:
        print(f"build: {error}", file=sys.stderr)
        if "--serve" not in words:
            return 1
    if "--serve" in words:
        import serve

        serve.forever(SITE, Path(__file__), ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
