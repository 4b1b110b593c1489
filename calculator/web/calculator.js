// The page: what a person does becomes a request, the worker's answer becomes HTML. Loaded as a module by the
// calculator's pages; everything else is found beside it, so that it works under any path.

import { Combobox } from "./combobox.js";
import { Engine } from "./engine.js";
import { applied, difference, MOST, renderCompare } from "./compare.js";
import { FIELDS, flatten, METHODS, OTHER_METHODS, unflatten } from "./fields.js";
import { renderForm } from "./form.js";
import { readNumber } from "./format.js";
import { html } from "./html.js";
import { fetchConfig, hubName } from "./hub.js";
import { fromFragment, toFragment } from "./link.js";
import * as messages from "./messages.js";
import { modelNamed } from "./models.js";
import { morph } from "./morph.js";
import { summarize } from "./judge.js";
import { renderAnswer, renderStrip } from "./render.js";
import { copy, download, offersCsv, summary } from "./share.js";
import { watch } from "./strip.js";
import { View } from "./text.js";

/** @typedef {import("./fields.js").Flat} Flat */

/** Of common tokenizers on prose; code and other scripts need more tokens. Shown and editable. */
const CHARACTERS_PER_TOKEN = 4;
/** What the modes start from when nothing was typed. */
/** @type {Record<string, Flat>} */
const MODE_STARTS = {
  "find-gpu": {},
  "have-gpu": { gpu: "rtx-4090-24gb" },
  "have-budget": { "job.budget_usd": 20, "job.deadline_h": 24 },
};
/** A change of these may change every default. */
const DECIDE_DEFAULTS = ["model", "method", "framework", "mode", "framework_version", "task"];

class Calculator {
  /**
   * @param {HTMLElement} root
   * @param {View} view
   * @param {any} known names.json
   * @param {any} build build.json
   * @param {URL} folder
   */
  constructor(root, view, known, build, folder) {
    this.root = root;
    this.view = view;
    this.known = known;
    /** @type {Flat} The question that the page was published with. */
    this.start = { model: known.plan.model, method: known.plan.method };

    /** @type {Flat} What differs from the default question. */
    this.request = {};
    /** @type {Flat} */
    this.plan = known.plan;
    /** @type {Record<string, string>} */
    this.sources = known.sources;
    /** @type {Flat} Values that the estimator filled in, as last seen: typing one of them again is no change. */
    this.filled = filledOf(this.plan, this.sources);
    /** @type {Record<string, string>} */
    this.drafts = {};
    /** @type {Record<string, string>} */
    this.echoes = {};
    /** @type {Record<string, import("./form.js").Fault>} */
    this.faults = {};
    /** @type {{before: Flat, change: Flat}[]} */
    this.undo = [];
    /** @type {Record<string, Flat>} What was typed in the modes that were left. */
    this.left = {};
    this.dataOpen = false;
    /** @type {import("./form.js").FileState | undefined} */
    this.file = undefined;
    /** @type {File | null} */
    this.dropped = null;
    this.folder = folder;
    /** @type {any} The last answer that came. */
    this.answer = null;
    /** @type {import("./link.js").Then | null} */
    this.then = null;
    this.asked = this.text();
    /** The request that the answer in view is for. */
    this.shown = this.asked;
    /** @type {"built" | "live"} */
    this.state = "built";
    /** @type {import("./takeaway.js").Taken | null} */
    this.taken = null;
    /** @type {import("./compare.js").Column[]} */
    this.pins = [];
    this.beside = 0;
    /** @type {Promise<import("./paste.js").Paste> | undefined} */
    this.boxes = undefined;
    this.saver = Boolean(/** @type {any} */ (navigator).connection?.saveData);

    const { downloads } = known;
    const total = Object.values(/** @type {Record<string, {sent: number}>} */ (downloads)).reduce((sum, size) => sum + size.sent, 0);
    /** @type {{sent: number, total: number} | null} What of Python has arrived; null when all has. */
    this.progress = { sent: 0, total };
    const at = (/** @type {string} */ path) => new URL(path, folder).href;
    this.engine = new Engine(folder, { pyodide: at(build.pyodide), wheel: at(build.wheel), catalog: at(build.catalog), downloads }, {
      answered: (answer, request) => this.answered(answer, request),
      loading: (progress) => this.loading(progress),
      ready: () => this.loading(null),
      broken: () => this.broken(),
    });
    this.listen();
    watch(root, this.find("#aj-strip"), () => this.find("#verdict"));
    this.arrive();
  }

  /** @param {string} id */
  find(id) {
    return /** @type {HTMLElement} */ (this.root.querySelector(id));
  }

  /** The request as the estimator takes it. */
  text() {
    return JSON.stringify(unflatten({ ...this.start, ...this.request }));
  }

  // What people do

  listen() {
    const { root, view } = this;
    const models = Object.entries(view.names.models).map(([id, m]) => ({
      id,
      name: m.name,
      detail: m.parameters ? view.format.parameters(m.parameters) : "",
      search: `${m.name} ${m.family} ${m.hf_id ?? ""} ${id}`,
    }));
    new Combobox(root, models, {
      none: view.say("model.none"),
      named: (text) => this.modelNamed(text),
      choose: (id) => this.setModel(id),
      type: (text) => this.typeModel(text),
    });
    const ask = this.find(".aj-ask");
    for (const event of ["focusin", "pointerdown"]) ask.addEventListener(event, () => this.wake(), { passive: true });
    root.addEventListener("input", (event) => this.typed(/** @type {HTMLInputElement} */ (event.target)));
    root.addEventListener("change", (event) => this.chosen(/** @type {HTMLInputElement} */ (event.target)));
    root.addEventListener("submit", (event) => event.preventDefault());
    root.addEventListener("click", (event) => {
      const button = event.target instanceof Element && event.target.closest("button");
      if (button) this.pressed(button);
    });
    root.addEventListener("paste", (event) => {
      const text = event.clipboardData?.getData("text") ?? "";
      if (event.target !== this.find("#aj-model") || !text.trim().startsWith("{")) return;
      event.preventDefault();
      this.typeModel(text);
    });
    ask.addEventListener("dragover", (event) => event.preventDefault());
    ask.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) this.take(file);
    });
    // A fold's content is printed when it opens; "toggle" does not bubble.
    const unfold = (/** @type {Event} */ event) => {
      if (!(event.target instanceof Element) || !event.target.closest("#aj-answer")) return;
      this.rendered = null;
      if (!this.answer) return this.preset(this.text()); // the page's own answer, as the build wrote it
      this.render();
    };
    root.addEventListener("toggle", unfold, true);
    addEventListener("popstate", () => this.adopt(location.hash));
    addEventListener("hashchange", () => this.arrive());
  }

  /** The address names a question, or one of the boxes below the answer. */
  arrive() {
    const fold = /^#(config|oom)$/.test(location.hash) && this.find(location.hash);
    if (!(fold instanceof HTMLDetailsElement)) return this.adopt(location.hash);
    fold.open = true;
    fold.scrollIntoView();
    fold.querySelector("textarea")?.focus();
  }

  wake() {
    if (!this.saver && this.engine.state === "off") this.engine.ask(this.text());
  }

  /** @param {HTMLInputElement} control */
  typed(control) {
    const field = FIELDS[control.name];
    if (!field || control.type !== "text") return;
    const { name, value } = control;
    delete this.faults[name];
    delete this.drafts[name];
    delete this.echoes[name];
    if (value.trim() === "") return this.set({ [name]: undefined });
    const kind = field.kind === "integer" ? "integer" : "number";
    const { value: number, echo } = readNumber(value, kind, this.view.language);
    if (number === null) {
      this.drafts[name] = value;
      this.faults[name] = { message: this.view.say(kind === "integer" ? "error.integer" : "error.number"), suggestions: [] };
      return this.faulty();
    }
    if (echo) this.echoes[name] = this.view.format.plain(number);
    this.set({ [name]: number });
  }

  /** @param {HTMLInputElement} control */
  chosen(control) {
    const { name, value, type } = control;
    if (control.id === "aj-paste-file") return control.files?.[0] && this.take(control.files[0]);
    if (name === "file") return control.files?.[0] && this.take(control.files[0]);
    if (name === "ratio") return this.measure(readNumber(value, "number", this.view.language).value ?? CHARACTERS_PER_TOKEN);
    if (name === "model") return this.typeModel(value);
    if (name === "mode") return this.setMode(value);
    if (name === "method") return this.set({ method: value === "more" ? OTHER_METHODS[0] : value }, true);
    const field = FIELDS[name];
    if (!field) return;
    if (type === "checkbox") this.set({ [name]: control.checked }, true);
    else if (field.kind === "list") this.set({ [name]: value === "" ? undefined : [value] }, true);
    else if (control instanceof HTMLSelectElement && field.kind === "integer") {
      this.set({ [name]: value === "" ? undefined : Number(value) }, true);
    } else if (field.kind === "choice") this.set({ [name]: value === "" ? undefined : value }, true);
    else this.commit();
    this.render();
  }

  /** @param {string} text */
  typeModel(text) {
    const typed = text.trim();
    if (!typed || typed === this.view.model(/** @type {any} */ (this.request.model ?? this.start.model))) return;
    if (typed.startsWith("{")) {
      try {
        this.setModel(JSON.parse(typed));
        this.find("#aj-model").blur();
      } catch (error) {
        this.drafts.model = typed.slice(0, 80);
        this.faults.model = { message: this.view.say("error.config", { detail: String(/** @type {Error} */ (error).message) }), suggestions: [] };
        this.faulty();
      }
      return;
    }
    const same = this.modelNamed(typed);
    this.setModel(same ?? typed);
    if (!same) this.drafts.model = typed;
  }

  /** What was typed before is no longer what is meant. @param {unknown} model an id, a hub's name or a config */
  setModel(model) {
    delete this.drafts.model;
    this.set({ model }, true);
  }

  /** The catalog's id of a model, by any of its names. @param {string} name */
  modelNamed(name) {
    return modelNamed(name, this.view.names.models);
  }

  /**
   * A file that was dropped or chosen: a model's config.json, or a dataset to measure.
   * @param {File} file
   */
  async take(file) {
    if (/\.json$/i.test(file.name) && file.size < 1e6) {
      const text = await file.text();
      if (/"(model_type|hidden_size|architectures)"/.test(text)) return this.typeModel(text);
    }
    if (/\.ya?ml$/i.test(file.name) || (/\.json$/i.test(file.name) && file.size < 1e5 && (await isToolFile(file)))) {
      return (await this.paste()).file(file);
    }
    this.dropped = file;
    this.measure(this.file?.ratio ?? CHARACTERS_PER_TOKEN);
  }

  /** @param {number} ratio characters per token */
  measure(ratio) {
    const file = this.dropped;
    if (!file) return;
    this.file = { name: file.name, ratio, measured: null };
    this.render();
    const worker = new Worker(new URL("dataset.js", this.folder), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.done) return;
      worker.terminate();
      const { measured } = data;
      this.file = { name: file.name, ratio, measured: measured ?? null, unreadable: !measured };
      if (!measured) return this.render();
      const { examples, mean, longest, histogram } = measured;
      this.set(
        { "dataset.examples": examples, "dataset.mean_tokens": mean, "dataset.length_histogram": histogram, sequence_length: longest },
        true,
      );
    };
    worker.postMessage({ file, ratio });
  }

  /**
   * A run of the reader's own: narrows the ranges here, or goes to the project as an issue.
   * @param {string} what narrow or send
   */
  measured(what) {
    const { view } = this;
    const number = (/** @type {string} */ id) =>
      readNumber(/** @type {HTMLInputElement} */ (this.find(id)).value, "number", view.language).value ?? undefined;
    const [gib, rate] = [number("#aj-measured-gib"), number("#aj-measured-rate")];
    const { calibration: _, ...asked } = JSON.parse(this.text());
    const run = { ...asked, gpu: /** @type {HTMLSelectElement} */ (this.find("#aj-measured-gpu")).value };
    if (what === "send") {
      const body = JSON.stringify({ measured_gib: gib, measured_tokens_per_second: rate, request: run }, null, 2);
      const form = new URLSearchParams({ title: "measurement: ", body: `\`\`\`json\n${body}\n\`\`\`` });
      open(`${view.repository}/issues/new?${form}`, "_blank", "noopener");
      return;
    }
    this.set({
      "calibration.measured_gib": gib,
      "calibration.measured_tokens_per_second": rate,
      "calibration.request": gib || rate ? run : undefined,
    }, true);
  }

  /**
   * The files that start the run: shown when asked for, then saved one by one.
   * @param {string} what write, or the place of a file
   */
  async takeaway(what) {
    const { language } = this.view;
    const file = this.taken?.files?.[Number(what)];
    if (file) return download(file.name, "text/plain", file.text);
    const target = /** @type {HTMLSelectElement} */ (this.find("#aj-take-target")).value;
    const request = this.text();
    if (!this.answer || this.shown !== request) {
      // The files belong to the question as it is asked now, and stand below its answer.
      const answer = await this.engine.call("estimate", JSON.parse(request)).catch(() => null);
      if (answer) this.answered(answer, request);
      if (answer && !answer.ok) return;
    }
    const said = await this.engine
      .call("files", { request: JSON.parse(request), target, language })
      .catch(() => ({ ok: false, error: { message: { [language]: this.view.say("tools.noPython") } } }));
    this.taken = said.ok ? { request, target, files: said.files, refused: said.refused } : { request, target, trouble: said.error.message[language] };
    this.rendered = null;
    this.render();
  }

  /** The boxes for a file and for an error. @returns {Promise<import("./paste.js").Paste>} */
  paste() {
    this.boxes ??= import("./paste.js").then(({ Paste }) => new Paste(this.root, this.view, this.engine, {
      request: () => JSON.parse(this.text()),
      own: () => Object.keys(this.request).length > 0,
      adopt: (read) => this.adoptFile(read),
    }));
    return this.boxes;
  }

  /**
   * A tool's file becomes the question; a launcher's joins it. What no such file says stays: the data, the job, the GPU.
   * @param {{request: object, partial: boolean}} read
   */
  adoptFile({ request, partial }) {
    const gone = Object.keys(this.request).filter((name) => !partial && !/^(mode|gpu|dataset\.|job\.|filters\.)/.test(name));
    Object.assign(this, { filled: {}, drafts: {}, echoes: {}, faults: {}, undo: [] });
    const fields = flatten(request);
    if (typeof fields.model === "string") fields.model = this.modelNamed(fields.model) ?? fields.model;
    this.set({ ...Object.fromEntries(gone.map((name) => [name, undefined])), ...fields }, true);
  }

  /** @param {string} name */
  async askHub(name) {
    const found = await fetchConfig(name);
    if ("config" in found) return this.setModel(found.config);
    this.faults.model = { message: this.view.say(`hub.${found.trouble}`, { name }), suggestions: [], hub: name };
    this.render();
  }

  /** @param {string} mode */
  setMode(mode) {
    const before = String(this.request.mode ?? this.start.mode ?? "find-gpu");
    const own = Object.keys(MODE_STARTS[before] ?? {});
    this.left[before] = Object.fromEntries(own.filter((name) => name in this.request).map((name) => [name, this.request[name]]));
    const cleared = Object.fromEntries(own.map((name) => [name, undefined]));
    this.set({ ...cleared, mode, ...MODE_STARTS[mode], ...this.left[mode] }, true);
  }

  /** @param {Element} button */
  pressed(button) {
    const { change, reset, undo, share, toggle, start, hub, measure, take, copy: place, paste, compare, unpin } = /** @type {HTMLElement} */ (button).dataset;
    if (change) {
      const changes = JSON.parse(change);
      if (button.closest(".aj-levers, .aj-fixes")) {
        const before = Object.fromEntries(Object.keys(changes).map((name) => [name, this.request[name]]));
        this.undo.push({ before, change: changes });
      }
      for (const name of Object.keys(changes)) delete this.drafts[name];
      this.set(changes, true);
    } else if (reset) {
      delete this.drafts[reset];
      this.set({ [reset]: undefined }, true);
    } else if (undo) {
      const [{ before }] = this.undo.splice(Number(undo), 1);
      this.set(before, true);
    } else if (hub) {
      this.askHub(hub);
    } else if (unpin) {
      this.pins.splice(Number(unpin), 1);
      this.pinned();
    } else if (compare) {
      this.beside = Number(compare);
      this.render();
    } else if (paste) {
      this.paste().then((box) => box.read(paste));
    } else if (take) {
      this.takeaway(take);
    } else if (place) {
      this.copy(button, this.taken?.files?.[Number(place)].text ?? "", this.view.say("takeaway.copied"));
    } else if (measure) {
      this.measured(measure);
    } else if (share) {
      this.share(share, button);
    } else if (toggle) {
      this.dataOpen = !this.dataOpen;
      this.render();
    } else if (start) {
      this.saver = false;
      this.engine.failures = 0;
      this.engine.ask(this.text());
    }
  }

  // The request

  /**
   * Changes fields; undefined takes one back to its default.
   * @param {Flat} changes
   * @param {boolean} [commit] a whole step, which the browser's back button undoes
   */
  set(changes, commit = false) {
    const defaults = { ...this.filled, ...this.start };
    for (const [name, value] of Object.entries(changes)) {
      delete this.faults[name];
      if (value === undefined && name.startsWith("calibration.measured")) delete this.request["calibration.request"];
      if (value === undefined || JSON.stringify(value) === JSON.stringify(defaults[name])) delete this.request[name];
      else this.request[name] = value;
    }
    if (Object.keys(changes).some((name) => DECIDE_DEFAULTS.includes(name))) this.filled = {};
    this.then = null;
    if (commit) this.commit();
    this.ask();
  }

  ask() {
    this.render();
    const text = this.text();
    if (text === this.asked && this.answer) {
      if (text === this.shown && !Object.keys(this.faults).length) this.settle();
      return;
    }
    this.asked = text;
    this.root.dataset.busy = "true";
    if (this.saver && this.engine.state === "off") return this.offer();
    if (this.engine.state !== "ready") this.preset(text);
    if (this.engine.state === "broken") return;
    this.engine.ask(text);
    if (this.engine.state === "loading") this.loading(this.progress);
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.dim(text !== this.shown), this.engine.state === "ready" ? 300 : 100);
  }

  /**
   * The commonest questions were answered when the site was built: no need to wait for Python, and where Python never
   * comes they stand for the nearest question.
   * @param {string} text
   */
  async preset(text) {
    const { model, method } = { ...this.start, ...this.request };
    const exact = Object.keys(this.request).every((name) => name === "model" || name === "method");
    if (typeof model !== "string" || (!exact && this.engine.state !== "broken")) return;
    if (!(model in this.view.names.models) || !METHODS.includes(String(method))) return;
    const response = await fetch(new URL(`presets/${model}.${method}.json`, this.folder)).catch(() => null);
    const answer = response?.ok ? await response.json() : null;
    if (!answer || text !== this.text() || this.engine.state === "ready") return;
    this.show(answer, exact ? text : "", "built");
    if (this.engine.state === "broken") this.broken();
    else this.status(null);
  }

  /** Puts the request into the address: one step of the browser's history. */
  commit() {
    const fragment = this.fragment();
    if (fragment.replace("#", "") === location.hash.replace(/^#|&~.*/g, "")) return;
    history.pushState(null, "", fragment === "#" ? location.pathname + location.search : fragment);
  }

  /** @param {import("./link.js").Then} [then] */
  fragment(then) {
    const own = Object.keys(this.request).length > 0;
    const asked = { ...this.start, ...this.request };
    const pins = this.pins.map((pin) => difference(asked, { ...this.start, ...pin.request }));
    return own || pins.length ? toFragment(asked, then, pins) : "#";
  }

  /** @param {string} hash */
  adopt(hash) {
    const found = fromFragment(hash);
    if (!found && !Object.keys(this.request).length) return;
    if (!found && hash.length > 1) return; // an anchor of the page
    const request = found?.request ?? {};
    this.then = found?.then ?? null;
    this.request = Object.fromEntries(
      Object.entries(request).filter(([name, value]) => value !== this.start[name]),
    );
    Object.assign(this, { drafts: {}, echoes: {}, faults: {}, undo: [], filled: {} });
    if (found?.pins.length && !this.pins.length) this.restore(found.pins).catch(() => {}); // without Python: nothing to compare
    if (this.quote()) {
      this.dim(true);
      this.status(null);
    }
    this.ask();
  }

  // Questions side by side

  pin() {
    if (this.pins.length === MOST) return this.status(html`<p>${this.view.say("compare.full")}</p>`);
    if (!this.answer) return this.engine.ask(this.text());
    this.pins.push({ request: { ...this.request }, answer: this.answer });
    this.pinned();
    this.find("#aj-compare").scrollIntoView({ block: "start" });
  }

  pinned() {
    this.beside = this.pins.length - 1;
    history.replaceState(null, "", this.fragment(this.answer ? this.now() : undefined));
    this.render();
  }

  /**
   * Pins of a link: each is answered anew.
   * @param {any[]} changes
   */
  async restore(changes) {
    const asked = { ...this.start, ...this.request };
    const requests = changes.slice(0, MOST).map((pin) => applied(asked, pin));
    const answers = await Promise.all(requests.map((request) => this.engine.call("estimate", unflatten(request))));
    const own = (/** @type {Flat} */ request) => Object.fromEntries(Object.entries(request).filter(([name, value]) => value !== this.start[name]));
    this.pins = requests.map((request, i) => ({ request: own(request), answer: answers[i] })).filter(({ answer }) => answer.ok);
    this.beside = this.pins.length - 1;
    this.render();
  }

  // The answer

  /**
   * @param {any} answer
   * @param {string} request
   */
  answered(answer, request) {
    clearTimeout(this.slow);
    this.root.dataset.answered = String(Number(this.root.dataset.answered ?? 0) + 1);
    this.root.dataset.busy = "false";
    if (!answer.ok) return this.refused(answer.error);
    this.faults = Object.fromEntries(Object.entries(this.faults).filter(([name]) => name in this.drafts && name !== "model"));
    const start = performance.now();
    this.show(answer, request, "live");
    performance.measure("render", { start });
    this.status(null);
    const { version, data, middles } = this.now();
    if (location.hash && request === this.text() && this.fragment() !== "#" && fromFragment(location.hash)) {
      if (this.then) this.status(messages.moved(this.then, middles, this.view));
      else history.replaceState(null, "", this.fragment({ version, data, middles }));
    }
    clearTimeout(this.speech);
    this.speech = setTimeout(() => this.speak(), 1000);
  }

  /**
   * @param {any} answer
   * @param {string} request what it answers
   * @param {"built" | "live"} state
   */
  show(answer, request, state) {
    const { defaults, ...plan } = answer.plan;
    Object.assign(this, { answer, shown: request, state, sources: defaults, plan: flatten(plan) });
    this.filled = filledOf(this.plan, defaults);
    this.dim(request !== this.text());
    this.render();
  }

  now() {
    const { versions } = this.answer;
    return { version: versions.estimator, data: versions.data, middles: summarize(this.answer, this.view).middles };
  }

  /** @param {{code: string, field: string, message: Record<string, string>, suggestions: string[]}} error */
  refused(error) {
    const { view } = this;
    const field = error.field in FIELDS || !error.field.startsWith("model.") ? error.field : "model";
    this.then = null;
    const values = error.code === "unknown-field" ? [] : error.suggestions;
    this.faults[field] = {
      message: error.message[view.language],
      suggestions: values.map((value) => ({ field, value, label: view.value(field, value) })),
      hub: field === "model" ? hubName(String(this.request.model)) : null,
    };
    this.faulty();
  }

  /** A field is wrong: what is in view answers the question before. */
  faulty() {
    clearTimeout(this.slow);
    this.dim(true);
    this.status(messages.faulty(this.view));
    this.render();
  }

  speak() {
    const { sentence, memory, time, bill } = summarize(this.answer, this.view);
    this.find("#aj-live").textContent = this.view.say("live.sentence", { verdict: sentence, memory, time, bill });
  }

  /** The answer in view is the question's. */
  settle() {
    this.dim(false);
    this.status(null);
  }

  // What is seen

  render() {
    const { view, plan, sources, request, drafts, faults, echoes, dataOpen, file } = this;
    morph(this.find(".aj-ask"), String(renderForm({ plan, sources, request: { ...request }, drafts, faults, echoes, dataOpen, file }, view)));
    morph(this.find("#aj-compare"), String(renderCompare(this.pins, this.beside, view)));
    if (!this.answer) return;
    if (this.answer !== this.rendered) {
      this.rendered = this.answer;
      const undo = this.undo.map((step) => step.change);
      const taken = this.taken?.request === this.shown ? this.taken : null;
      const open = (/** @type {string} */ id) => /** @type {HTMLDetailsElement | null} */ (this.root.querySelector(`#${id}`))?.open ?? false;
      morph(this.find("#aj-answer"), String(renderAnswer(this.answer, view, { state: this.state, undo, taken, open })));
      const strip = this.find("#aj-strip");
      morph(strip, String(renderStrip(this.answer, view)));
      strip.className = `aj-strip aj-${summarize(this.answer, view).verdict}`;
    }
  }

  /** @param {boolean} stale */
  dim(stale) {
    for (const part of ["#aj-answer", "#aj-strip"]) this.find(part).classList.toggle("aj-stale", stale);
    this.find("#aj-strip").dataset.before = stale ? this.view.say("state.before") : "";
    this.find("#aj-answer").setAttribute("aria-busy", String(stale && this.engine.state !== "broken"));
    // A link brings its own figures: they stand in for another question's answer.
    this.find("#aj-answer").hidden = stale && this.quote() !== null;
  }

  /** The figures of the link that was opened, until its answer is here. */
  quote() {
    return this.then && this.shown !== this.text() ? messages.quoted(this.then, this.view) : null;
  }

  /** @param {import("./html.js").Html | null} content */
  status(content) {
    const box = this.find("#aj-status");
    const quote = this.quote();
    box.hidden = !content && !quote;
    morph(box, `${quote ?? ""}${content ?? ""}`);
  }

  /** @param {{sent: number, total: number} | null} progress */
  loading(progress) {
    this.progress = progress; // for who changes something while a slow line is silent
    if (this.text() === this.shown) return this.status(null); // the answer in view is the right one: nobody waits
    this.status(messages.loading(progress, this.view, !this.quote()));
  }

  offer() {
    this.dim(true);
    this.status(messages.saver(this.progress?.total ?? 0, this.view));
  }

  broken() {
    this.dim(this.text() !== this.shown);
    if (this.text() !== this.shown && this.shown !== "") this.preset(this.text());
    this.status(messages.broken(this.text(), this.view));
  }

  /**
   * @param {string} what link or summary
   * @param {Element} button
   */
  async share(what, button) {
    const { view } = this;
    const link = new URL(this.answer ? this.fragment(this.now()) : this.fragment(), location.href).href;
    if (what === "print") return print();
    if (what === "pin") return this.pin();
    if (what === "json") return download("ajuste.json", "application/json", JSON.stringify({ request: JSON.parse(this.text()), answer: this.answer }, null, 2));
    if (what === "csv") return download("ajuste.csv", "text/csv", offersCsv(this.answer));
    const text = what === "link" ? link : summary(this.root, link);
    await this.copy(button, text, view.say(what === "link" ? "share.copied" : "share.summaryCopied"));
  }

  /** @param {Element} button @param {string} text @param {string} copied */
  async copy(button, text, copied) {
    await copy(button, text, copied).catch(() => this.status(html`<p>${this.view.say("share.failed", { text })}</p>`));
  }
}

/** Whether a JSON file is a launcher's or a trainer's, by keys that no dataset has. @param {File} file */
async function isToolFile(file) {
  return /"(zero_optimization|train_micro_batch_size_per_gpu|compute_environment|finetuning_type|sequence_len)"/.test(await file.text());
}

/** @param {Flat} plan @param {Record<string, string>} sources */
function filledOf(plan, sources) {
  const names = Object.keys(plan).filter((name) => name in sources || name.split(".")[0] in sources);
  return Object.fromEntries(names.map((name) => [name, plan[name]]));
}

async function begin() {
  const root = /** @type {HTMLElement | null} */ (document.querySelector(".aj-calc"));
  if (!root) return;
  const folder = new URL(".", import.meta.url);
  const language = root.dataset.language === "en" ? "en" : "es";
  const files = [`strings/${language}.json`, "names.json", "build.json"];
  const [sentences, known, build] = await Promise.all(
    files.map((path) => fetch(new URL(path, folder)).then((response) => response.json())),
  );
  const view = new View({ language, sentences, names: known, base: root.dataset.base ?? "../", repository: known.repository });
  new Calculator(root, view, known, build, folder);
  root.dataset.ready = "true";
}

begin();
