// Pyodide under node, for the build and the tests. One command per need:
//
//   node pyodide_node.mjs modules LIBRARY WHEEL CATALOG REQUESTS   print the standard library's files that our package uses
//   node pyodide_node.mjs compile LIBRARY ARCHIVE OUT              copy a zip or wheel with its .py compiled to .pyc, without docstrings
//   node pyodide_node.mjs answers LIBRARY WHEEL CATALOG REQUESTS   print the answers, one JSON line per request
//
// LIBRARY is the python_stdlib.zip to start with; REQUESTS is a JSON file with a list of requests, each a text or an object.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { loadPyodide } from "pyodide";

/**
 * Import our package straight from its wheel, as the page's worker does, and answer every request.
 * @param {any} pyodide @param {string} wheel @param {string} catalog @param {string} requests
 */
function answer(pyodide, wheel, catalog, requests) {
  pyodide.FS.writeFile("/ajuste.whl", readFileSync(wheel));
  pyodide.runPython("import sys; sys.path.insert(0, '/ajuste.whl')");
  const estimate = pyodide.runPython(`
from ajuste import estimate_json, load_catalog

def _open(text):
    catalog = load_catalog(text)
    return lambda request: estimate_json(request, catalog)

_open`)(readFileSync(catalog, "utf8"));
  const list = JSON.parse(readFileSync(requests, "utf8"));
  return list.map((/** @type {unknown} */ one) => estimate(typeof one === "string" ? one : JSON.stringify(one)));
}

const IMPORT_EVERYTHING = `
import importlib, pkgutil, ajuste
for found in pkgutil.iter_modules(ajuste.__path__):
    if found.name != "__main__":
        importlib.import_module("ajuste." + found.name)
`;

// Used files are the ones some module came from. A failing import must not be quiet: its traceback is printed as well.
const USED_FILES = `
import sys, json, traceback
try:
    raise LookupError("so that what prints a traceback is in the list too")
except LookupError:
    traceback.format_exc()
archive = next(path for path in sys.path if path.endswith(".zip")) + "/"  # the standard library's
files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
json.dumps(sorted(name.removeprefix(archive) for name in files if name.startswith(archive)))
`;

const COMPILE = `
import importlib.util, marshal, zipfile

UNCHECKED_HASH = (1).to_bytes(4, "little")
with zipfile.ZipFile("/source.zip") as old, zipfile.ZipFile("/compiled.zip", "w", zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist():
        content = old.read(name)
        if name.endswith(".py"):
            code = marshal.dumps(compile(content, name, "exec", dont_inherit=True, optimize=2))
            content = importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + importlib.util.source_hash(content) + code
            name += "c"
        new.writestr(name, content)
`;

/** @param {string} command @param {string} library @param {string[]} files */
async function main(command, library, files) {
  const pyodide = await loadPyodide({ stdLibURL: resolve(library) });
  if (command === "modules") {
    answer(pyodide, files[0], files[1], files[2]);
    pyodide.runPython(IMPORT_EVERYTHING);
    console.log(pyodide.runPython(USED_FILES));
  } else if (command === "compile") {
    pyodide.FS.writeFile("/source.zip", readFileSync(files[0]));
    pyodide.runPython(COMPILE);
    writeFileSync(files[1], pyodide.FS.readFile("/compiled.zip"));
  } else if (command === "answers") {
    console.log(answer(pyodide, files[0], files[1], files[2]).join("\n"));
  } else {
    throw new Error(`unknown command ${command}: modules, compile or answers`);
  }
}

const [command, library, ...files] = process.argv.slice(2);
try {
  await main(command, library, files);
} catch (error) {
  console.error(String(error)); // not node's own report: it prints the failing line, and Pyodide's is a megabyte long
  process.exitCode = 1;
}
