// Keeps what was seen readable without a connection. Files in versioned folders never change: a copy is as good as the
// original. Everything else is asked for first, and its last copy is shown only where no answer comes: a new release
// never leaves an old page behind.

const CURRENT = { pages: "{{RELEASE}}", app: "{{APP}}", pyodide: "{{PYODIDE}}" };
/** The calculator's own files, small; kept all together once somebody has used it. */
/** @type {string[]} */
const FILES = JSON.parse('{{FILES}}');
const worker = /** @type {any} */ (self); // a ServiceWorkerGlobalScope: TypeScript's library cannot name it beside a page's
/** @type {string} */
const SCOPE = worker.registration.scope;

/** One store for each folder that has a version, and one for the pages of a release. @param {string} kind @param {string} version */
const nameOf = (kind, version) => `${SCOPE} ${kind} ${version}`;

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(takeOver()));

// Of every kind the newest old store stays, for the pages of the last release that are still open.
async function takeOver() {
  const names = await caches.keys();
  for (const [kind, version] of Object.entries(CURRENT)) {
    const old = names.filter((name) => name.startsWith(nameOf(kind, "")) && name !== nameOf(kind, version));
    for (const name of old.slice(0, -1)) await caches.delete(name);
  }
  await worker.clients.claim();
}

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(SCOPE)) return;
  event.respondWith(folderOf(request.url) ? copyFirst(request) : networkFirst(request));
});

// A page that was there before this worker tells what it had loaded, the calculator what Python had.
worker.addEventListener("message", (/** @type {any} */ event) => event.waitUntil(keep(event.data)));

/** @param {{keep: string[], calculator?: boolean}} told */
async function keep({ keep: addresses, calculator }) {
  const files = calculator ? FILES.map((file) => `${SCOPE}app/${CURRENT.app}/${file}`) : [];
  for (const address of new Set([...addresses, ...files].map((one) => one.split("#")[0]))) {
    if (!address.startsWith(SCOPE)) continue;
    const request = new Request(address);
    await (folderOf(address) ? copyFirst(request) : networkFirst(request)).catch(() => null);
  }
}

/** The versioned folder that a file is in, null for everything else. @param {string} address */
function folderOf(address) {
  return address.slice(SCOPE.length).match(/^app\/([^/]+)\//)?.[1] ?? null;
}

/** @param {Request} request one of a versioned folder */
async function copyFirst(request) {
  const folder = folderOf(request.url) ?? "";
  const store = await caches.open(nameOf(folder.startsWith("pyodide-") ? "pyodide" : "app", folder));
  const copy = await store.match(request.url, { ignoreVary: true });
  if (copy) return copy;
  const response = await fetch(request);
  if (response.status === 200) await store.put(request.url, response.clone());
  return response;
}

/** @param {Request} request */
async function networkFirst(request) {
  const store = await caches.open(nameOf("pages", CURRENT.pages));
  try {
    // A page is asked for again even where the browser has a fresh one: it names the folders of its release.
    const response = await fetch(request, request.mode === "navigate" ? { cache: "no-cache" } : {});
    if (response.status === 200) await store.put(request.url, response.clone());
    return response;
  } catch (error) {
    const search = { ignoreSearch: true, ignoreVary: true };
    const copy = (await store.match(request.url, search)) ?? (await caches.match(request.url, search));
    if (copy) return copy;
    throw error;
  }
}
