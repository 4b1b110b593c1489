// Runs the estimator: Python in its own thread. The page sends {start}, then requests; one string in, one string out.
//
//   page → worker   {start: {pyodide, wheel, catalog, downloads}}   {id, request}   {call, door, text}
//   worker → page   {progress: {sent, total}} while files arrive   {starting} when they are here   {ready, files}
//                   {id, answer, spent}   {call, answer}   {broken: message} when Python cannot start or has stopped

/** @typedef {{sent: number, bytes: number}} Size */
/** @typedef {{pyodide: string, wheel: string, catalog: string, downloads: Record<string, Size>}} Start */

/** @type {{estimate: (request: string) => string, open: (door: string, text: string) => string, tidy: () => void}} */
let python;

/** @param {object} message */
const tell = (message) => self.postMessage(message);

/** @param {unknown} error one that Pyodide would only warn of, and never start */
const broken = (error) => tell({ broken: String(error) });

self.onmessage = async ({ data }) => {
  try {
    if (data.start) {
      python = await start(data.start);
      tell({ ready: true, files: performance.getEntriesByType("resource").map((entry) => entry.name) });
    } else if (data.door) {
      tell({ call: data.call, answer: python.open(data.door, data.text) });
    } else {
      const from = performance.now();
      const answer = python.estimate(data.request);
      tell({ id: data.id, answer, spent: performance.now() - from });
    }
    if (!data.start) python.tidy();
  } catch (error) {
    broken(error);
  }
};

/** @param {Start} settings */
async function start({ pyodide, wheel, catalog, downloads }) {
  const count = counter(downloads);
  // Everything at once: left alone, each of Pyodide's files is asked for only when the one before has run. First what the
  // others wait for: a browser asks a host for six at a time.
  const loader = import(new URL("pyodide.mjs", pyodide).href);
  compileEarly(count.fetchEarly(new URL("pyodide.asm.wasm", pyodide).href));
  const script = import(new URL("pyodide.asm.js", pyodide).href).then(() => count.arrived("pyodide.asm.js"));
  for (const name of ["python_stdlib.zip", "pyodide-lock.json"]) count.fetchEarly(new URL(name, pyodide).href);
  const ours = Promise.all([
    fetch(wheel).then((response) => response.arrayBuffer()),
    fetch(catalog).then((response) => response.text()),
  ]);
  const { loadPyodide } = await loader;
  count.arrived("pyodide.mjs");
  const [python, [packed, rows]] = await Promise.all([loadPyodide({ indexURL: pyodide }), ours, script]);
  // The wheel stays a zip: Python imports its compiled modules from there.
  python.FS.writeFile("/ajuste.whl", new Uint8Array(packed));
  const system = python.pyimport("sys");
  system.path.insert(0, "/ajuste.whl");
  system.destroy();
  // Python looks for circular rubbish between answers, when little is alive that was not before: in the middle of one the
  // same search costs up to two thirds of an answer.
  const gc = python.pyimport("gc");
  gc.disable();
  const ajuste = python.pyimport("ajuste");
  const opened = ajuste.load_catalog(rows);
  return {
    estimate: (/** @type {string} */ request) => ajuste.estimate_json(request, opened),
    open: (/** @type {string} */ door, /** @type {string} */ text) => python.pyimport("ajuste.doors").call_json(door, text, opened),
    tidy() {
      gc.collect();
      gc.freeze();
    },
  };
}

/**
 * Compiles Python while it arrives and while Pyodide's script is read, which would begin only after that.
 * @param {Promise<Response>} response
 */
function compileEarly(response) {
  const compiled = WebAssembly.compileStreaming(response);
  compiled.catch(broken);
  WebAssembly.instantiateStreaming = async (_, imports) => {
    const module = await compiled;
    return { module, instance: await WebAssembly.instantiate(module, imports) };
  };
}

/**
 * Counts what arrives through fetch, in bytes as sent, and starts downloads before they are asked for.
 * @param {Record<string, Size>} downloads
 */
function counter(downloads) {
  const total = Object.values(downloads).reduce((sum, size) => sum + size.sent, 0);
  const plain = self.fetch.bind(self);
  /** @type {Map<string, Promise<Response>>} */
  const early = new Map();
  let sent = 0;
  let told = 0;

  /** @param {number} bytes as sent */
  function add(bytes) {
    sent += bytes;
    if (sent - told < total / 50 && sent < total * 0.99) return;
    told = sent;
    tell(sent < total * 0.99 ? { progress: { sent: Math.min(sent, total), total } } : { starting: true });
  }

  /** @param {any} target @param {RequestInit} [init] */
  async function counted(target, init) {
    const address = new URL(target.url ?? target, self.location.href).href;
    const waiting = early.get(address);
    early.delete(address);
    if (waiting) return waiting;
    const response = await plain(target, init);
    const size = downloads[address.split("/").pop() ?? ""];
    if (!response.ok) throw new Error(`${response.status} ${address}`);
    if (!size || !response.body) return response;
    const ratio = size.sent / size.bytes;
    const body = response.body.pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          add(chunk.byteLength * ratio);
          controller.enqueue(chunk);
        },
      }),
    );
    return new Response(body, { status: response.status, headers: response.headers });
  }

  self.fetch = /** @type {typeof fetch} */ (counted);
  return {
    /** @param {string} address */
    fetchEarly(address) {
      const promise = counted(address);
      promise.catch(broken);
      early.set(address, promise);
      return promise;
    },
    /** @param {string} name */
    arrived(name) {
      add(downloads[name]?.sent ?? 0);
    },
  };
}
