"""What the browser pays before the first answer: the modules that importing the estimator brings along."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

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


def test_the_browser_path_imports_nothing_expensive(tmp_path: Path):
    """As in the wheel: constants packed, one answer asked, then look at what is loaded."""
    sys.path.insert(0, str(ROOT / "calculator"))
    try:
        from pack import packed
    finally:
        sys.path.pop(0)
    package = tmp_path / "ajuste"
    package.mkdir()
    for module in (ROOT / "calculator" / "ajuste").glob("*.py"):
        (package / module.name).write_text(module.read_text(encoding="utf-8"), encoding="utf-8")
    (package / "_packed.py").write_text(packed(ROOT / "data"), encoding="utf-8")
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
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(run.stdout))
    assert loaded & EXPENSIVE == set()
    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"ajuste"}
    assert foreign == set(), "the estimator runs on the standard library alone"
