// Once the page stands, a service worker starts to keep what is seen, for reading without a connection.
if ("serviceWorker" in navigator && !navigator.connection?.saveData) {
  addEventListener("load", async () => {
    const first = !navigator.serviceWorker.controller;
    try {
      await navigator.serviceWorker.register(new URL("../../sw.js", import.meta.url), { updateViaCache: "none" });
    } catch {
      return; // no such file, or not allowed here: the site works without it
    }
    const { active } = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
    if (first) active.postMessage({ keep: [location.href, ...loaded] });
  });
}
