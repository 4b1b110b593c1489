// What the renderers need to speak: sentences, numbers and names of one language.

import { daysBetween, Format } from "./format.js";

/** @typedef {import("./format.js").Language} Language */
/** @typedef {Record<string, string | Record<string, string>>} Sentences */
/**
 * Names of catalog entries, as prerender.mjs writes them into app.json.
 * @typedef {object} Names
 * @property {Record<string, {name: string, family: string, hf_id: string | null, parameters: number | null}>} models
 * @property {Record<string, {name: string, gb: number | null}>} gpus
 * @property {Record<string, {name: string}>} providers
 * @property {{memory: {share: number, runs: number, unstated_share: number, unstated_runs: number}, time: {share: number, runs: number}}} coverage of measured runs, how many fall in our ranges
 */

export class View {
  /**
   * @param {object} parts
   * @param {Language} parts.language
   * @param {Sentences} parts.sentences
   * @param {Names} parts.names
   * @param {string} parts.base root of this language's pages, seen from the page
   * @param {string} parts.repository
   */
  constructor({ language, sentences, names, base, repository }) {
    this.language = language;
    this.sentences = sentences;
    this.names = names;
    this.base = base;
    this.repository = repository;
    this.format = new Format(language);
    this.plurals = new Intl.PluralRules(language);
  }

  /**
   * A sentence with its {places} filled. Plural sentences choose by `count`, a number; `counted` is its writing.
   * @param {string} key
   * @param {Record<string, string | number>} [values]
   * @returns {string}
   */
  say(key, values = {}) {
    const entry = this.sentences[key];
    if (entry === undefined) throw new Error(`no sentence “${key}” in ${this.language}`);
    let sentence = entry;
    if (typeof sentence !== "string") {
      sentence = sentence[this.plurals.select(Number(values.count))] ?? sentence.other;
    }
    return sentence.replace(/\{(\w+)\}/g, (_, name) => {
      const value = values[name];
      if (value === undefined) throw new Error(`“${key}” lacks {${name}}`);
      return typeof value === "number" ? this.format.plain(value) : value;
    });
  }

  /**
   * The name of something the estimator may name before the strings do: its id is better than nothing.
   * @param {string} kind
   * @param {string} id
   */
  name(kind, id) {
    const key = `${kind}.${id}`;
    return this.knows(key) ? this.say(key) : id.replaceAll(/[-_]/g, " ");
  }

  /** @param {string} key */
  knows(key) {
    return key in this.sentences;
  }

  /** @param {string | object} model */
  model(model) {
    if (typeof model !== "string") return this.say("model.pasted");
    return this.names.models[model]?.name ?? model;
  }

  /** @param {string} id */
  gpu(id) {
    const gpu = this.names.gpus[id];
    if (!gpu) return id;
    const name = gpu.name.replace(/\s*\d+\s?GB$/i, "");
    return gpu.gb ? `${name} ${this.format.gb(gpu.gb)}` : name;
  }

  /**
   * All GPUs, smallest memory first.
   * @returns {[string, string][]}
   */
  gpus() {
    return Object.entries(this.names.gpus)
      .sort(([, a], [, b]) => (a.gb ?? 0) - (b.gb ?? 0) || (a.name < b.name ? -1 : 1))
      .map(([id]) => [id, this.gpu(id)]);
  }

  /**
   * @param {number} count
   * @param {string} id
   */
  cards(count, id) {
    return count === 1 ? this.gpu(id) : this.say("cards", { count, gpu: this.gpu(id) });
  }

  /** @param {string} id */
  provider(id) {
    return this.names.providers[id]?.name ?? id;
  }

  /**
   * A field's value in words.
   * @param {string} field
   * @param {unknown} value
   * @returns {string}
   */
  value(field, value) {
    if (value === null || value === undefined || value === "") return this.say("value.auto");
    if (typeof value === "boolean") return this.say(value ? "value.yes" : "value.no");
    if (typeof value === "number") return this.format.plain(value);
    if (field === "model") return this.model(/** @type {string | object} */ (value));
    if (field === "gpu") return this.gpu(String(value));
    if (Array.isArray(value) && value.length > 8) return this.say("value.list", { count: value.length });
    if (Array.isArray(value)) return value.length ? value.map((v) => this.value(field, v)).join(", ") : this.say("value.none");
    if (typeof value === "object") return JSON.stringify(value);
    return this.name(`value.${field}`, String(value));
  }

  /**
   * How long ago a price was seen.
   * @param {string} checked
   * @param {string} asOf
   */
  age(checked, asOf) {
    const days = daysBetween(checked, asOf);
    if (days === null) return this.say("age.date", { date: this.format.date(checked) });
    return days < 1 ? this.say("age.today") : this.say("age.days", { count: days });
  }
}
