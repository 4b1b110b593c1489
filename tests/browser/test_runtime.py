"""What the browser runs: the pruned, compiled library is enough, and gives what CPython gives."""

import json
import zipfile


def test_every_module_of_the_estimator_imports_in_the_browser(visit, site):
    visitor = visit()
    visitor.open("es/calculator/")
    app = next(path for path in (site / "app").iterdir() if (path / "calculator.js").exists())
    build = json.loads((app / "build.json").read_text(encoding="utf-8"))
    with zipfile.ZipFile(app / build["wheel"]) as wheel:
        compiled = [name.removesuffix(".pyc") for name in wheel.namelist() if name.endswith(".pyc")]
    modules = [name.replace("/", ".") for name in compiled if not name.endswith("__")]
    assert len(modules) > 20
    imported = visitor.page.evaluate(
        """async ([folder, build, modules]) => {
            const pyodide = new URL(build.pyodide, folder).href;
            const { loadPyodide } = await import(pyodide + "pyodide.mjs");
            const python = await loadPyodide({ indexURL: pyodide });
            const wheel = await (await fetch(new URL(build.wheel, folder))).arrayBuffer();
            python.FS.writeFile("/ajuste.whl", new Uint8Array(wheel));
            python.pyimport("sys").path.insert(0, "/ajuste.whl");
            return modules.map(name => python.pyimport(name).__name__);
        }""",
        [f"{visitor.base}app/{app.name}/", build, modules],
    )
    assert imported == modules
