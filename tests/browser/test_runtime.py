"""What the browser runs: the pruned, compiled library is enough, and gives what CPython gives."""

import json


def test_every_module_of_the_estimator_imports_in_the_browser(visit, site):
    visitor = visit()
    visitor.open("es/calculator/")
    app = next(path for path in (site / "app").iterdir() if (path / "calculator.js").exists())
    build = json.loads((app / "build.json").read_text(encoding="utf-8"))
    imported = visitor.page.evaluate(
        """async ([folder, build]) => {
            const pyodide = new URL(build.pyodide, folder).href;
            const { loadPyodide } = await import(pyodide + "pyodide.mjs");
            const python = await loadPyodide({ indexURL: pyodide });
            const wheel = await (await fetch(new URL(build.wheel, folder))).arrayBuffer();
            python.FS.writeFile("/ajuste.whl", new Uint8Array(wheel));
            python.pyimport("sys").path.insert(0, "/ajuste.whl");
            return python.runPython(`
import zipimport, importlib, json
names = [name.removesuffix(".pyc").replace("/", ".") for name in zipimport.zipimporter("/ajuste.whl")._files
         if name.startswith("ajuste/") and name.endswith(".pyc") and "__main__" not in name]
for name in names:
    importlib.import_module(name.removesuffix(".__init__"))
json.dumps(sorted(names))`);
        }""",
        [f"{visitor.base}app/{app.name}/", build],
    )
    assert "ajuste.memory" in json.loads(imported)
