// The small calculators of a guide's page, alive: a change becomes a request, the answer replaces the printed one.

import { renderShort } from "./embed-view.js";
import { Engine } from "./engine.js";
import { FIELDS, flatten, unflatten } from "./fields.js";
import { readNumber } from "./format.js";
import { html } from "./html.js";
import { morph } from "./morph.js";
import { Paste } from "./paste.js";
import { View } from "./text.js";

const folder = new URL(".", import.meta.url);

/** @param {string} path */
const readJson = (path) => fetch(new URL(path, folder)).then((response) => response.json());

/**
 * What all embeds of a page share: one worker, started once.
 * @type {Promise<{view: View, engine: Engine, listeners: Set<import("./engine.js").Listener>}> | undefined}
 */
let shared;

/** @param {HTMLElement} root */
async function share({ dataset }) {
  const language = dataset.language === "en" ? "en" : "es";
  const [sentences, known, build] = await Promise.all([`strings/${language}.json`, "names.json", "build.json"].map(readJson));
  const view = new View({ language, sentences, names: known, base: dataset.base ?? "../", repository: known.repository });
  const at = (/** @type {string} */ path) => new URL(path, folder).href;
  /** @type {Set<import("./engine.js").Listener>} */
  const listeners = new Set();
  const all = (/** @type {keyof import("./engine.js").Listener} */ name) =>
    (/** @type {any[]} */ ...values) => listeners.forEach((one) => /** @type {any} */ (one[name])(...values));
  const engine = new Engine(
    folder,
    { pyodide: at(build.pyodide), wheel: at(build.wheel), catalog: at(build.catalog), downloads: known.downloads },
    { answered: all("answered"), loading: all("loading"), ready: all("ready"), broken: all("broken") },
  );
  return { view, engine, listeners };
}

/**
 * @param {HTMLElement} root
 * @returns {Promise<Small | Paste>}
 */
export async function upgrade(root) {
  shared ??= share(root);
  const { view, engine, listeners } = await shared;
  engine.wake();
  if (root.dataset.embed === "oom") return new Paste(root, view, engine, { request: () => null, adopt: () => {} });
  const small = new Small(root, view, engine);
  listeners.add(small);
  return small;
}

class Small {
  /**
   * @param {HTMLElement} root
   * @param {View} view
   * @param {Engine} engine
   */
  constructor(root, view, engine) {
    this.root = root;
    this.view = view;
    this.engine = engine;
    /** @type {import("./embed-view.js").Embed} */
    this.embed = JSON.parse(root.dataset.embed ?? "{}");
    /** @type {import("./fields.js").Flat} */
    this.printed = flatten(this.embed.request);
    this.request = { ...this.printed };
    this.target = /** @type {HTMLElement} */ (root.querySelector(".aj-answer"));
    this.asked = this.text();
    root.addEventListener("input", (event) => this.change(/** @type {HTMLInputElement} */ (event.target)));
    for (const control of root.querySelectorAll("input, select")) this.change(/** @type {HTMLInputElement} */ (control));
  }

  text() {
    return JSON.stringify(unflatten(this.request));
  }

  /**
   * A control as it was printed changes nothing: its value may be a default, and defaults follow the question.
   * @param {HTMLInputElement | HTMLSelectElement} control
   */
  change(control) {
    const { name, value } = control;
    const printed = control instanceof HTMLSelectElement ? control.querySelector("option[selected]")?.getAttribute("value") : control.defaultValue;
    const kind = FIELDS[name]?.kind;
    const typed = kind === "integer" || kind === "number" ? readNumber(value, kind, this.view.language).value : value;
    control.setAttribute("aria-invalid", String(value !== "" && typed === null));
    if (value === printed) this.request[name] = this.printed[name];
    else this.request[name] = value === "" || typed === null ? undefined : typed;
    const text = this.text();
    if (text === this.asked) return;
    this.asked = text;
    this.dim(true);
    this.engine.ask(text);
  }

  /** @param {boolean} stale */
  dim(stale) {
    this.target.classList.toggle("aj-stale", stale);
    this.target.setAttribute("aria-busy", String(stale));
  }

  /** @param {any} answer @param {string} request */
  answered(answer, request) {
    if (request !== this.asked) return;
    const shown = answer.ok
      ? renderShort(this.embed, this.request, answer, this.view)
      : html`<p class="aj-fault" role="alert">${answer.error.message[this.view.language]}</p>`;
    morph(this.target, String(shown));
    this.dim(false);
    this.root.dataset.answered = String(Number(this.root.dataset.answered ?? 0) + 1);
  }

  loading() {}

  ready() {}

  broken() {
    this.dim(false);
    this.root.insertAdjacentHTML("beforeend", String(html`<p class="aj-fault" role="alert">${this.view.say("embed.static")}</p>`));
  }
}
