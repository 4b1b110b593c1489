// The question as it stands: what was asked, what the estimator filled in, what was typed and is no value. No DOM.

import { FIELDS, flatten, modeFields, unflatten } from "./fields.js";
import { readNumber } from "./format.js";
import { hubName } from "./hub.js";
import { toFragment } from "./link.js";
import { modelNamed } from "./models.js";

/** @typedef {import("./fields.js").Flat} Flat */

/** What the modes start from when nothing was typed. */
/** @type {Record<string, Flat>} */
const MODE_STARTS = {
  "find-gpu": {},
  "have-gpu": { gpu: "rtx-4090-24gb" },
  "have-budget": { "job.budget_usd": 20, "job.deadline_h": 24 },
};
/** A change of these may change every default. */
const DECIDE_DEFAULTS = ["model", "method", "framework", "mode", "framework_version", "task"];
/** What no tool's file says: the mode, the card, the data, the job, the offers. */
const BESIDE_A_FILE = /^(mode|gpu|dataset\.|job\.|filters\.)/;

export class Question {
  /**
   * @param {{plan: Flat, sources: Record<string, string>}} known the question that the page was published with, resolved
   * @param {import("./text.js").View} view
   */
  constructor({ plan, sources }, view) {
    this.view = view;
    /** @type {Flat} The question that the page was published with. */
    this.start = { model: plan.model, method: plan.method };
    /** @type {Flat} What differs from it. */
    this.request = {};
    /** @type {{before: Flat, change: Flat}[]} */
    this.undo = [];
    /** @type {Record<string, Flat>} What was typed in the modes that were left. */
    this.left = {};
    /** @type {Record<string, string>} What was typed and is no value (yet). */
    this.drafts = {};
    /** @type {Record<string, string>} What is said of a value: how it was read, or that it stays. */
    this.echoes = {};
    /** @type {Record<string, import("./form.js").Fault>} */
    this.faults = {};
    this.plan = plan;
    this.sources = sources;
    this.filled = filledOf(plan, sources);
  }

  /**
   * How the estimator resolved a question.
   * @param {Flat} plan
   * @param {Record<string, string>} sources
   */
  understood(plan, sources) {
    Object.assign(this, { plan, sources, filled: filledOf(plan, sources) });
  }

  get asked() {
    return { ...this.start, ...this.request };
  }

  /** Whether anybody asked it: else it is the page's. */
  get isOwn() {
    return Object.keys(this.request).length > 0;
  }

  get isFaulty() {
    return Object.keys(this.faults).length > 0;
  }

  /** The request as the estimator takes it. */
  text() {
    return JSON.stringify(unflatten(this.asked));
  }

  /**
   * @param {import("./link.js").Then} [then]
   * @param {unknown[]} [pins]
   */
  fragment(then, pins = []) {
    return this.isOwn || pins.length ? toFragment(this.asked, then, pins) : "#";
  }

  /** @param {Flat} request */
  differing(request) {
    return Object.fromEntries(Object.entries(request).filter(([name, value]) => value !== this.start[name]));
  }

  /** What was typed, filled in or done belongs to the question before. */
  startAnew() {
    Object.assign(this, { drafts: {}, echoes: {}, faults: {}, undo: [], filled: {} });
  }

  /** A link's question. @param {Flat} request */
  adopt(request) {
    this.request = this.differing({ ...MODE_STARTS[String(request.mode)], ...request });
    this.startAnew();
  }

  /**
   * A tool's file becomes the question; a launcher's joins it. What no such file says stays.
   * @param {{request: object, partial: boolean}} read
   */
  adoptFile({ request, partial }) {
    const gone = Object.keys(this.request).filter((name) => !partial && !BESIDE_A_FILE.test(name));
    this.startAnew();
    const fields = flatten(request);
    if (typeof fields.model === "string") fields.model = this.modelMeant(fields.model) ?? fields.model;
    this.change({ ...Object.fromEntries(gone.map((name) => [name, undefined])), ...fields });
  }

  /**
   * Changes fields; undefined takes one back to its default.
   * @param {Flat} changes
   */
  change(changes) {
    const defaults = { ...this.filled, ...this.start };
    for (const [name, value] of Object.entries(changes)) {
      delete this.faults[name];
      if (value === undefined && name.startsWith("calibration.measured")) delete this.request["calibration.request"];
      if (value === undefined || JSON.stringify(value) === JSON.stringify(defaults[name])) delete this.request[name];
      else this.request[name] = value;
    }
    if (Object.keys(changes).some((name) => DECIDE_DEFAULTS.includes(name))) this.filled = {};
  }

  /** Another mode: what was typed in the one that is left waits there. @param {string} mode */
  setMode(mode) {
    const before = String(this.asked.mode ?? "find-gpu");
    const own = Object.keys(MODE_STARTS[before] ?? {});
    this.left[before] = Object.fromEntries(own.filter((name) => name in this.request).map((name) => [name, this.request[name]]));
    for (const name of own) this.forget(name);
    const cleared = Object.fromEntries(own.map((name) => [name, undefined]));
    this.change({ ...cleared, mode, ...MODE_STARTS[mode], ...this.left[mode] });
  }

  /** @param {string} name */
  forget(name) {
    delete this.faults[name];
    delete this.drafts[name];
    delete this.echoes[name];
  }

  /**
   * What a typed number changes; null where it is none, or where the mode cannot do without the one it had.
   * @param {string} name
   * @param {string} text
   * @returns {Flat | null}
   */
  read(name, text) {
    const { view } = this;
    this.forget(name);
    if (text.trim() === "") {
      const had = this.request[name];
      if (had === undefined || !modeFields(this.asked).includes(name)) return { [name]: undefined };
      this.drafts[name] = "";
      this.echoes[name] = view.say("error.kept", { value: view.value(name, had), other: view.value("mode", "find-gpu") });
      return null;
    }
    const kind = FIELDS[name].kind === "integer" ? "integer" : "number";
    const { value, echo } = readNumber(text, kind, view.language);
    if (value === null) {
      this.drafts[name] = text;
      this.faults[name] = { message: view.say(kind === "integer" ? "error.integer" : "error.number"), suggestions: [] };
      return null;
    }
    if (echo) this.echoes[name] = view.say("error.echo", { value: view.format.plain(value) });
    return { [name]: value };
  }

  /**
   * The catalog's id of a model, by any of its names; a repository that only shares its architecture keeps its own
   * name, so that the run's files load the weights that were meant.
   * @param {string} text
   */
  modelMeant(text) {
    const id = modelNamed(text, this.view.names.models);
    const repository = hubName(text);
    if (!id || !repository) return id;
    return this.view.names.models[id].hf_id?.toLowerCase() === repository.toLowerCase() ? id : repository;
  }

  /**
   * What the estimator said against it.
   * @param {{code: string, field: string, message: Record<string, string>, suggestions: string[]}} error
   */
  refused({ code, field: named, message, suggestions }) {
    const { view } = this;
    const field = named in FIELDS || !named.startsWith("model.") ? named : "model";
    const values = code === "unknown-field" ? [] : suggestions;
    this.faults[field] = {
      message: message[view.language],
      suggestions: values.map((value) => ({ field, value, label: view.value(field, value) })),
      hub: field === "model" ? hubName(String(this.request.model)) : null,
    };
  }

  /** The estimator took it: what remains wrong was never sent. */
  accepted() {
    this.faults = Object.fromEntries(Object.entries(this.faults).filter(([name]) => name in this.drafts && name !== "model"));
  }
}

/**
 * Values that the estimator filled in: typing one of them again is no change.
 * @param {Flat} plan
 * @param {Record<string, string>} sources
 * @returns {Flat}
 */
function filledOf(plan, sources) {
  const names = Object.keys(plan).filter((name) => name in sources || name.split(".")[0] in sources);
  return Object.fromEntries(names.map((name) => [name, plan[name]]));
}
