"""What the browser pays before the first answer: the modules that importing the estimator brings along."""

import json
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each costs the browser 50 to 400 ms (measured in Pyodide), and none is needed to answer.
EXPENSIVE = {
    "argparse",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "fractions",
    "importlib.metadata",
    "importlib.resources",
    "inspect",
    "logging",
    "pathlib",
    "random",
    "statistics",
    "subprocess",
    "tomllib",
}


IMPORT_AIM_MS = 30.0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as in the wheel: constants packed, compiled."""
    sys.path.insert(0, str(ROOT / "calculator"))
    try:
        from pack import packed
    finally:
        sys.path.pop(0)
    folder = tmp_path_factory.mktemp("wheel")
    package = folder / "ajuste"
    package.mkdir()
    for module in (ROOT / "calculator" / "ajuste").glob("*.py"):
        (package / module.name).write_text(module.read_text(encoding="utf-8"), encoding="utf-8")
    (package / "_packed.py").write_text(packed(ROOT / "data"), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "compileall", "-q", package], check=True)
    return folder


def run_python(wheel: Path, program: str) -> str:
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(wheel)!r})\n{program}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_browser_path_imports_nothing_expensive(wheel: Path):
    """One answer asked, then look at what is loaded."""
    program = textwrap.dedent("""
        import json, sys
        before = set(sys.modules)
        import ajuste
        config = dict(model_type="llama", hidden_size=256, intermediate_size=512, num_hidden_layers=2,
                      num_attention_heads=4, vocab_size=1000)
        answer = json.loads(ajuste.estimate_json(json.dumps({"model": config, "method": "qlora"}), "{}"))
        assert answer["ok"], answer
        print(json.dumps(sorted(set(sys.modules) - before)))
    """)
    loaded = set(json.loads(run_python(wheel, program)))
    assert loaded & EXPENSIVE == set()
    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"ajuste"}
    assert foreign == set(), "the estimator runs on the standard library alone"


@pytest.mark.timed
def test_importing_costs_next_to_nothing(wheel: Path):
    """Processor time of fresh interpreters, least of several, against that of two standard modules in the same run."""

    def least_ms(program: str) -> float:
        spent = []
        for _ in range(9):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run_python(wheel, program)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        return 1000 * min(spent)

    nothing, standard = least_ms("pass"), least_ms("import json, typing")
    package, whole = least_ms("import ajuste"), least_ms("import ajuste.answer")
    print(
        f"import ajuste {package - nothing:.1f} ms (aim {IMPORT_AIM_MS:.0f}), with everything that an answer needs "
        f"{whole - nothing:.1f} ms; json and typing {standard - nothing:.1f} ms"
    )
    assert package - nothing < standard - nothing  # about 15 ms where the aim was set
    assert whole - nothing < 5 * (standard - nothing)
