// The page: what a person does becomes a request, the worker's answer becomes HTML. Loaded as a module by the
// calculator's pages; everything else is found beside it, so that it works under any path.
//
//   events.js     what people do        question.js  what they ask         presets.js, engine.js  who answers
//   screen.js     what they see         pins.js      side by side          measuring.js, share.js, paste.js  beside it

import { Engine } from "./engine.js";
import { listen } from "./events.js";
import { flatten } from "./fields.js";
import { html } from "./html.js";
import { fetchConfig } from "./hub.js";
import { summarize } from "./judge.js";
import { fromFragment } from "./link.js";
import { CHARACTERS_PER_TOKEN, fieldsOf, kindOf, lengthsOf, runOf, send } from "./measuring.js";
import * as messages from "./messages.js";
import { Pins } from "./pins.js";
import { presetOf } from "./presets.js";
import { Question } from "./question.js";
import { Screen } from "./screen.js";
import { copy, download, offersCsv, summary } from "./share.js";
import { watch } from "./strip.js";
import { View } from "./text.js";

/** @typedef {import("./fields.js").Flat} Flat */

export class Calculator {
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
    this.folder = folder;
    this.question = new Question(known, view);
    this.screen = new Screen(root, view);
    this.pins = new Pins(this.question);
    this.dataOpen = false;
    /** @type {import("./form.js").FileState | undefined} */
    this.file = undefined;
    /** @type {File | null} */
    this.dropped = null;
    /** @type {any} The last answer that came. */
    this.answer = null;
    /** @type {import("./link.js").Then | null} The figures of the link that was opened. */
    this.then = null;
    this.asked = this.question.text();
    /** The request that the answer in view is for. */
    this.shown = this.asked;
    /** @type {"built" | "live"} */
    this.state = "built";
    /** @type {import("./takeaway.js").Taken | null} */
    this.taken = null;
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
    listen(this);
    watch(root, this.find("#aj-strip"), () => this.find("#verdict"));
    this.arrive();
  }

  /** @param {string} selector */
  find(selector) {
    return this.screen.find(selector);
  }

  // The question

  /**
   * Changes fields; undefined takes one back to its default.
   * @param {Flat} changes
   * @param {boolean} [commit] a whole step, which the browser's back button undoes
   */
  set(changes, commit = false) {
    this.question.change(changes);
    this.moved(commit);
  }

  /** The question is another one now. @param {boolean} [commit] */
  moved(commit = true) {
    this.then = null;
    if (commit) this.commit();
    this.ask();
  }

  /** A button's change. @param {Flat} changes @param {boolean} [undoable] */
  change(changes, undoable = false) {
    const { question } = this;
    if (undoable) {
      const before = Object.fromEntries(Object.keys(changes).map((name) => [name, question.request[name]]));
      question.undo.push({ before, change: changes });
    }
    for (const name of Object.keys(changes)) question.forget(name);
    this.set(changes, true);
  }

  /** @param {number} step */
  takeBack(step) {
    const [{ before }] = this.question.undo.splice(step, 1);
    this.set(before, true);
  }

  /** @param {string} name @param {string} text */
  type(name, text) {
    const changes = this.question.read(name, text);
    if (changes) return this.set(changes);
    return name in this.question.faults ? this.faulty() : this.ask();
  }

  /** @param {string} mode */
  setMode(mode) {
    this.question.setMode(mode);
    this.moved();
  }

  /** @param {string} text */
  typeModel(text) {
    const typed = text.trim();
    const { question, view } = this;
    if (!typed || typed === view.model(/** @type {any} */ (question.asked.model))) return;
    if (typed.startsWith("{")) {
      try {
        this.setModel(JSON.parse(typed));
        this.find("#aj-model").blur();
      } catch (error) {
        question.drafts.model = typed.slice(0, 80);
        question.faults.model = { message: view.say("error.config", { detail: String(/** @type {Error} */ (error).message) }), suggestions: [] };
        this.faulty();
      }
      return;
    }
    const same = question.modelMeant(typed);
    this.setModel(same ?? typed);
    if (!same) question.drafts.model = typed;
    else /** @type {HTMLInputElement} */ (this.find("#aj-model")).value = view.model(same); // an address was a name
  }

  /** @param {unknown} model an id, a hub's name or a config */
  setModel(model) {
    this.question.forget("model"); // what was typed before is no longer what is meant
    this.set({ model }, true);
  }

  /** @param {string} name */
  async askHub(name) {
    const found = await fetchConfig(name);
    if ("config" in found) return this.setModel(found.config);
    this.question.faults.model = { message: this.view.say(`hub.${found.trouble}`, { name }), suggestions: [], hub: name };
    this.render();
  }

  /** Puts the request into the address: one step of the browser's history. */
  commit() {
    const fragment = this.fragment();
    if (fragment.replace("#", "") === location.hash.replace(/^#|&~.*/g, "")) return;
    history.pushState(null, "", fragment === "#" ? location.pathname + location.search : fragment);
  }

  /** @param {import("./link.js").Then} [then] */
  fragment(then) {
    return this.question.fragment(then, this.pins.changes());
  }

  /** The address names a question, or one of the boxes below the answer. */
  arrive() {
    const fold = /^#(config|oom)$/.test(location.hash) && this.find(location.hash);
    if (!(fold instanceof HTMLDetailsElement)) return this.adopt(location.hash);
    fold.open = true;
    fold.scrollIntoView();
    fold.querySelector("textarea")?.focus();
  }

  /** @param {string} hash */
  adopt(hash) {
    const found = fromFragment(hash);
    if (!found && !this.question.isOwn) return;
    if (!found && hash.length > 1) return; // an anchor of the page
    this.then = found?.then ?? null;
    this.question.adopt(found?.request ?? {});
    if (found?.pins.length && !this.pins.columns.length) {
      this.pins.restore(found.pins, this.engine).then(() => this.render()).catch(() => {}); // without Python: nothing to compare
    }
    if (this.quote()) {
      this.dim(true);
      this.status(null);
    }
    this.ask();
  }

  // Asking

  wake() {
    if (!this.saver && this.engine.state === "off") this.engine.ask(this.question.text());
  }

  /** Whoever was asked first, or in vain, says yes: Python may come. */
  restart() {
    this.saver = false;
    this.engine.failures = 0;
    this.engine.ask(this.question.text());
  }

  ask() {
    this.render();
    const text = this.question.text();
    if (text === this.asked && this.answer) {
      if (text === this.shown && !this.question.isFaulty) this.settle();
      return;
    }
    this.asked = text;
    this.root.dataset.busy = "true";
    if (this.saver && this.engine.state === "off") return this.offer();
    if (this.engine.state !== "ready") this.preset();
    if (this.engine.state === "broken") return;
    this.engine.ask(text);
    if (this.engine.state === "loading") this.loading(this.progress);
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.dim(text !== this.shown), this.engine.state === "ready" ? 300 : 100);
  }

  /** What was computed when the site was built. */
  async preset() {
    const text = this.question.text();
    const found = await presetOf(this.question, this.folder, this.engine.state === "broken");
    if (!found || text !== this.question.text() || this.engine.state === "ready") return;
    this.show(found.answer, found.exact ? text : "", "built");
    if (this.engine.state === "broken") this.broken();
    else this.status(null);
  }

  /**
   * @param {any} answer
   * @param {string} request
   */
  answered(answer, request) {
    clearTimeout(this.slow);
    this.root.dataset.answered = String(Number(this.root.dataset.answered ?? 0) + 1);
    this.root.dataset.busy = "false";
    if (!answer.ok) {
      this.then = null;
      this.question.refused(answer.error);
      return this.faulty();
    }
    this.question.accepted();
    const start = performance.now();
    this.show(answer, request, "live");
    performance.measure("render", { start });
    this.status(null);
    const now = this.now();
    if (location.hash && request === this.question.text() && this.fragment() !== "#" && fromFragment(location.hash)) {
      if (this.then) this.status(messages.moved(this.then, now.middles, this.view));
      else history.replaceState(null, "", this.fragment(now));
    }
    clearTimeout(this.speech);
    this.speech = setTimeout(() => this.screen.speak(this.answer), 1000);
  }

  // What is seen

  /**
   * @param {any} answer
   * @param {string} request what it answers
   * @param {"built" | "live"} state
   */
  show(answer, request, state) {
    const { defaults, ...plan } = answer.plan;
    Object.assign(this, { answer, shown: request, state });
    this.question.understood(flatten(plan), defaults);
    this.dim(request !== this.question.text());
    this.render();
  }

  render() {
    const { question, dataOpen, file } = this;
    this.screen.form({ ...question, dataOpen, file });
    this.screen.compare(this.pins);
    if (!this.answer) return;
    const taken = this.taken?.request === this.shown ? this.taken : null;
    this.screen.answer(this.answer, { state: this.state, undo: question.undo.map((step) => step.change), taken });
  }

  /** Something in the answer changed that is no new answer: a fold, the files of the run. */
  reprint() {
    this.screen.printed = null;
    if (!this.answer) return this.preset(); // the page's own answer, as the build wrote it
    this.render();
  }

  toggleData() {
    this.dataOpen = !this.dataOpen;
    this.render();
  }

  /** @param {boolean} stale */
  dim(stale) {
    this.screen.dim(stale, { busy: this.engine.state !== "broken", quoted: this.quote() !== null });
  }

  /** The figures of the link that was opened, until its answer is here. */
  quote() {
    return this.then && this.shown !== this.question.text() ? messages.quoted(this.then, this.view) : null;
  }

  /** @param {import("./html.js").Html | null} content */
  status(content) {
    this.screen.status(this.quote(), content);
  }

  /** The answer in view is the question's. */
  settle() {
    this.dim(false);
    this.status(null);
  }

  /** A field is wrong: what is in view answers the question before. */
  faulty() {
    clearTimeout(this.slow);
    this.dim(true);
    this.status(messages.faulty(this.view));
    this.render();
  }

  /** @param {{sent: number, total: number} | null} progress */
  loading(progress) {
    this.progress = progress; // for who changes something while a slow line is silent
    if (this.question.text() === this.shown) return this.status(null); // the answer in view is the right one: nobody waits
    this.status(messages.loading(progress, this.view, !this.quote()));
  }

  offer() {
    this.dim(true);
    this.status(messages.saver(this.progress?.total ?? 0, this.view));
  }

  broken() {
    const text = this.question.text();
    this.dim(text !== this.shown);
    if (text !== this.shown && this.shown !== "") this.preset();
    this.status(messages.broken(text, this.view));
  }

  // Beside the question

  /**
   * A file that was dropped or chosen: a model's config.json, a tool's configuration, or a dataset to measure.
   * @param {File} file
   */
  async take(file) {
    const kind = await kindOf(file);
    if (kind === "model") return this.typeModel(await file.text());
    if (kind === "tool") return (await this.paste()).file(file);
    this.dropped = file;
    this.measure(this.file?.ratio ?? CHARACTERS_PER_TOKEN);
  }

  /** @param {number} ratio characters per token */
  async measure(ratio) {
    const file = this.dropped;
    if (!file) return;
    this.file = { name: file.name, ratio, measured: null };
    this.render();
    const measured = await lengthsOf(file, ratio, this.folder);
    this.file = { name: file.name, ratio, measured, unreadable: !measured };
    if (measured) this.set(fieldsOf(measured), true);
    else this.render();
  }

  /**
   * A run of the reader's own: narrows the ranges here, or goes to the project as an issue.
   * @param {string} what narrow or send
   */
  measured(what) {
    const measured = runOf((id) => this.find(id), this.view, this.question.text());
    if (what === "send") return send(measured, this.view.repository);
    const { gib, rate, run } = measured;
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
    const request = this.question.text();
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
    this.reprint();
  }

  /** @param {number} place @param {Element} button */
  copyFile(place, button) {
    return this.copy(button, this.taken?.files?.[place].text ?? "", this.view.say("takeaway.copied"));
  }

  /** The boxes for a file and for an error. @returns {Promise<import("./paste.js").Paste>} */
  paste() {
    this.boxes ??= import("./paste.js").then(({ Paste }) => new Paste(this.root, this.view, this.engine, {
      request: () => JSON.parse(this.question.text()),
      own: () => this.question.isOwn,
      adopt: (read) => {
        this.question.adoptFile(read);
        this.moved();
      },
    }));
    return this.boxes;
  }

  pin() {
    if (this.pins.isFull) return this.status(html`<p>${this.view.say("compare.full")}</p>`);
    if (!this.answer) return this.engine.ask(this.question.text());
    this.pins.add(this.answer);
    this.pinned();
    this.find("#aj-compare").scrollIntoView({ block: "start" });
  }

  /** @param {number} column */
  unpin(column) {
    this.pins.remove(column);
    this.pinned();
  }

  /** @param {number} column */
  compareWith(column) {
    this.pins.beside = column;
    this.render();
  }

  pinned() {
    history.replaceState(null, "", this.fragment(this.answer ? this.now() : undefined));
    this.render();
  }

  /** @returns {import("./link.js").Then} the answer's figures, for a link */
  now() {
    const { versions } = this.answer;
    return { version: versions.estimator, data: versions.data, middles: summarize(this.answer, this.view).middles };
  }

  /**
   * @param {string} what link, summary, pin, json, csv or print
   * @param {Element} button
   */
  async share(what, button) {
    const { view } = this;
    if (what === "print") return print();
    if (what === "pin") return this.pin();
    if (what === "json") return download("ajuste.json", "application/json", JSON.stringify({ request: JSON.parse(this.question.text()), answer: this.answer }, null, 2));
    if (what === "csv") return download("ajuste.csv", "text/csv", offersCsv(this.answer));
    const link = new URL(this.answer ? this.fragment(this.now()) : this.fragment(), location.href).href;
    if (what === "link") return this.copy(button, link, view.say("share.copied"));
    return this.copy(button, summary(this.root, link), view.say("share.summaryCopied"));
  }

  /** @param {Element} button @param {string} text @param {string} copied */
  async copy(button, text, copied) {
    await copy(button, text, copied).catch(() => this.status(html`<p>${this.view.say("share.failed", { text })}</p>`));
  }
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
