// The boxes to paste into, in the page: a tool's file becomes the question, an error is read against it. Loaded when
// a box is first used; the YAML library when the first file is read.

import { html } from "./html.js";
import { morph } from "./morph.js";
import { renderConfig, renderDiagnosis } from "./reading.js";

/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./text.js").View} View */
/**
 * @typedef {object} Owner what surrounds the boxes
 * @property {() => object | null} request the question that an error is read against; null where there is none
 * @property {() => boolean} [own] whether that question is the reader's, not the page's
 * @property {(read: {request: object, partial: boolean}) => void} adopt takes a file's question over
 */

const DEEPEST = 40; // tables in tables: a configuration has five at most
const MOST = 100_000; // values, each as often as an alias puts it somewhere

/**
 * Whether a parsed file is deeper or larger than any configuration, through its aliases or into itself.
 * @param {unknown} value
 * @returns {boolean}
 */
function isDeep(value, depth = 0, seen = { count: 0 }) {
  if (++seen.count > MOST || depth > DEEPEST) return true;
  return typeof value === "object" && value !== null && Object.values(value).some((inner) => isDeep(inner, depth + 1, seen));
}

export class Paste {
  /**
   * @param {ParentNode} root
   * @param {View} view
   * @param {Engine} engine
   * @param {Owner} owner
   */
  constructor(root, view, engine, owner) {
    this.root = root;
    this.view = view;
    this.engine = engine;
    this.owner = owner;
  }

  /** @param {string} kind config or oom */
  async read(kind) {
    const { view } = this;
    const text = /** @type {HTMLTextAreaElement} */ (this.root.querySelector(`#aj-paste-${kind}`)).value;
    const target = /** @type {HTMLElement} */ (this.root.querySelector(`#aj-read-${kind}`));
    const say = (/** @type {import("./html.js").Html} */ content) => morph(target, String(content));
    if (!text.trim()) return say(html``);
    say(html`<p>${view.say("tools.busy")}</p>`);
    try {
      const read = kind === "config" ? await this.config(text) : await this.oom(text);
      if (read.ok === false) return say(html`<p class="aj-fault" role="alert">${read.error.message[view.language]}</p>`);
      if (kind === "config") this.owner.adopt(read);
      say(kind === "config" ? renderConfig(read, view) : renderDiagnosis(read, view, this.whose()));
    } catch (error) {
      const detail = String(/** @type {any} */ (error).reason ?? /** @type {Error} */ (error).message);
      const key = error instanceof SyntaxError ? "tools.notConfig" : "tools.noPython";
      say(html`<p class="aj-fault" role="alert">${view.say(key, { detail })}</p>`);
    }
  }

  /** @param {string} text */
  async config(text) {
    const { load, YAML11_SCHEMA } = await import("js-yaml");
    let config;
    try {
      config = load(text, { schema: YAML11_SCHEMA }); // as PyYAML reads it; JSON is YAML too
      if (isDeep(config)) throw new RangeError(); // what holds itself cannot be sent
    } catch (error) {
      const reason = /** @type {any} */ (error).reason ?? this.view.say("tools.deep");
      throw Object.assign(new SyntaxError(), { reason });
    }
    const asked = /** @type {{method?: string} | null} */ (this.owner.request());
    return this.engine.call("config", { config, tool: null, method: asked?.method ?? null });
  }

  /** @param {string} message */
  async oom(message) {
    return this.engine.call("oom", { message, request: this.owner.request() });
  }

  /** Whose question an error is read against. */
  whose() {
    if (this.owner.request() === null) return "none";
    return this.owner.own?.() === false ? "page" : "reader";
  }

  /**
   * A file that was chosen or dropped goes through the box, so that it can be seen and changed.
   * @param {File} file
   */
  async file(file) {
    const box = /** @type {HTMLTextAreaElement} */ (this.root.querySelector("#aj-paste-config"));
    box.value = await file.text();
    const fold = box.closest("details");
    if (fold) fold.open = true;
    await this.read("config");
  }
}
