// The page's end of the worker: wakes it once, sends the newest request, drops stale ones, restarts it once.

/**
 * @typedef {object} Listener
 * @property {(answer: any, request: string) => void} answered
 * @property {(progress: {sent: number, total: number} | null) => void} loading null: everything is here, Python starts
 * @property {() => void} ready
 * @property {(message: string) => void} broken
 */

export class Engine {
  /**
   * @param {URL} folder where worker.js lies
   * @param {import("./worker.js").Start} start
   * @param {Listener} listener
   */
  constructor(folder, start, listener) {
    this.folder = folder;
    this.start = start;
    this.listener = listener;
    /** @type {"off" | "loading" | "ready" | "broken"} */
    this.state = "off";
    this.failures = 0;
    this.id = 0;
    /** @type {string | null} The newest request that nobody has sent yet. */
    this.wanted = null;
    /** @type {string | null} The request that is being answered. */
    this.sent = null;
    /** @type {Map<number, {door: string, text: string, resolve: (answer: any) => void, reject: (error: Error) => void}>} Calls without an answer. */
    this.calls = new Map();
    this.lastCall = 0;
    /** @type {Worker | null} */
    this.worker = null;
  }

  /** Starts Python unless it runs. */
  wake() {
    if (this.state === "loading" || this.state === "ready") return;
    this.state = "loading";
    this.worker = new Worker(new URL("worker.js", this.folder), { type: "module" });
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.fail(event.message || "worker");
    };
    this.worker.postMessage({ start: this.start });
  }

  /**
   * Wants an answer. While one request is being answered only the newest of the others is kept.
   * @param {string} request
   */
  ask(request) {
    this.wanted = request;
    this.wake();
    this.send();
  }

  /**
   * Opens a door of the estimator: an object in, an object out. Fails where Python does not come.
   * @param {string} door
   * @param {object} asked
   * @returns {Promise<any>}
   */
  call(door, asked) {
    return new Promise((resolve, reject) => {
      const call = ++this.lastCall;
      const text = JSON.stringify(asked);
      this.calls.set(call, { door, text, resolve, reject });
      if (this.state === "ready") this.worker?.postMessage({ call, door, text });
      else this.wake();
    });
  }

  send() {
    if (this.state !== "ready" || this.sent !== null || this.wanted === null) return;
    this.sent = this.wanted;
    this.wanted = null;
    this.worker?.postMessage({ id: ++this.id, request: this.sent });
  }

  /** @param {any} data */
  hear(data) {
    if (data.progress) this.listener.loading(data.progress);
    else if (data.starting) this.listener.loading(null);
    else if (data.broken) this.fail(data.broken);
    else if (data.ready) {
      this.state = "ready";
      this.listener.ready();
      this.send();
      // Whoever used it once can use it without a connection.
      navigator.serviceWorker?.ready.then(({ active }) => active?.postMessage({ keep: data.files, calculator: true }));
      for (const [call, { door, text }] of this.calls) this.worker?.postMessage({ call, door, text });
    } else if (data.call) {
      this.calls.get(data.call)?.resolve(JSON.parse(data.answer));
      this.calls.delete(data.call);
    } else if (data.id === this.id && this.sent !== null) {
      const request = this.sent;
      this.sent = null;
      performance.measure("python", { start: performance.now() - data.spent, duration: data.spent }); // bench_browser.py reads it
      if (this.wanted === null) this.listener.answered(JSON.parse(data.answer), request);
      else this.send();
    }
  }

  /** @param {string} message */
  fail(message) {
    this.worker?.terminate();
    this.worker = null;
    this.wanted ??= this.sent;
    this.sent = null;
    this.state = "broken";
    this.failures += 1;
    if (this.failures === 1) return this.wake();
    for (const { reject } of this.calls.values()) reject(new Error(message));
    this.calls.clear();
    this.listener.broken(message);
  }
}
