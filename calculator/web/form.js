// request and plan → the form's HTML. No DOM. A field shows what was asked, else what the plan filled in and from where.

import { FIELDS, METHODS, modeFields, OTHER_METHODS, SETTINGS, trainsBase } from "./fields.js";
import { html } from "./html.js";
import { dataWords } from "./render.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./text.js").View} View */
/** @typedef {import("./fields.js").Flat} Flat */
/**
 * @typedef {object} Fault
 * @property {string} message
 * @property {{field: string, value: unknown, label: string}[]} suggestions
 * @property {string | null} [hub] a name that the Hugging Face hub may know
 */
/**
 * @typedef {object} FormState
 * @property {Flat} plan every field resolved, flat
 * @property {Record<string, string>} sources field → where its value came from
 * @property {Flat} request what the person set
 * @property {Record<string, string>} [drafts] text typed that is no value (yet)
 * @property {Record<string, Fault>} [faults]
 * @property {Record<string, string>} [echoes] what is said of a value: how it was read, or that it stays
 * @property {boolean} [dataOpen] on a phone, the data questions are unfolded
 * @property {FileState} [file] the dataset that was measured here
 */
/**
 * @typedef {object} FileState
 * @property {string} name
 * @property {number} ratio characters per token
 * @property {import("./dataset.js").Measured | null} measured null while it is read
 * @property {boolean} [unreadable]
 */

/**
 * @param {FormState} state
 * @param {View} view
 * @returns {Html}
 */
export function renderForm(state, view) {
  const plan = { ...state.plan, ...state.request };
  const form = new Form({ ...state, plan }, view);
  return html`<form class="aj-form" autocomplete="off" novalidate aria-label="${view.say("form.title")}">
    ${form.mode()} ${form.model()} ${form.method()} ${trainsBase(plan) && html`<div class="aj-pair">${form.field("precision")}${form.field("optimizer")}</div>`}
    ${form.data()} ${form.settings()} ${form.others()}
  </form>`;
}

/** @param {string} name */
export const controlId = (name) => `aj-${name.replaceAll(".", "-")}`;

/** Asked below the form: beside the offers, and with a measurement. */
const ELSEWHERE = /^filters\.(purchase|providers|kinds|regions|max_age_days|max_gpus)$|^calibration\.request$/;

class Form {
  /**
   * @param {FormState} state
   * @param {View} view
   */
  constructor(state, view) {
    this.state = state;
    this.plan = state.plan;
    this.view = view;
    this.placed = new Set(["model", "method", "mode"]);
  }

  mode() {
    const { plan } = this;
    const own = modeFields(plan);
    return html`<div class="aj-mode">
      ${this.segments("mode", ["find-gpu", "have-gpu", "have-budget"], String(plan.mode))}
      ${own.length > 0 && html`<div class="${own.length > 1 && "aj-pair"}">${own.map((name) => this.field(name))}</div>`}
    </div>`;
  }

  model() {
    const { view, plan, state } = this;
    const fault = this.fault("model");
    return html`<div class="aj-field aj-model" data-field="model">
      <label for="aj-model">${view.say("field.model")}</label>
      <div class="aj-input">
        <input id="aj-model" name="model" type="text" role="combobox" aria-expanded="false" aria-autocomplete="list" aria-controls="aj-models"
          spellcheck="false" autocapitalize="off" value="${state.drafts?.model ?? view.model(/** @type {any} */ (plan.model))}"
          aria-describedby="aj-model-note" ${fault && html`aria-invalid="true"`}>
      </div>
      <ul id="aj-models" role="listbox" aria-label="${view.say("field.model")}" hidden data-keep></ul>
      <p class="aj-hint aj-visually-hidden" id="aj-model-note">${view.say("hint.model")}</p>
      ${fault}
    </div>`;
  }

  method() {
    const { view, plan } = this;
    const method = String(plan.method);
    const other = OTHER_METHODS.includes(method);
    return html`${this.segments("method", [...METHODS, "more"], other ? "more" : method)}
      ${other && html`<div class="aj-field" data-field="method">
        <label for="aj-method-other">${view.say("field.method.other")}</label>
        <div class="aj-input"><select id="aj-method-other" name="method">${OTHER_METHODS.map(
          (m) => html`<option value="${m}" ${m === method && html`selected`}>${view.value("method", m)}</option>`,
        )}</select></div>
      </div>`}${this.fault("method")}`;
  }

  /**
   * Radio buttons that look like one bar.
   * @param {string} name
   * @param {string[]} values
   * @param {string} chosen
   */
  segments(name, values, chosen) {
    const { view } = this;
    return html`<fieldset class="aj-segments" data-field="${name}">
      <legend>${view.say(`field.${name}`)}</legend>
      <div>${values.map(
        (value) => html`<label><input type="radio" name="${name}" id="aj-${name}-${value}" value="${value}" ${value === chosen && html`checked`}><span>${
          value === "more" ? view.say("method.more") : view.value(name, value)
        }</span></label>`,
      )}</div>
    </fieldset>`;
  }

  data() {
    const { view, plan, state } = this;
    const open = state.dataOpen ?? false;
    return html`<button type="button" class="aj-data" data-toggle="data" aria-expanded="${open ? "true" : "false"}" aria-controls="aj-data">
        <span>${view.say("data.open")}</span> <small>${view.value("framework", plan.framework)} · ${dataWords(plan, view)}</small></button>
      <div id="aj-data" class="aj-data-fields">
        <div class="aj-pair">${this.field("framework")}${this.field("task")}</div>
        <div class="aj-pair">${this.field("sequence_length")}${this.field("dataset.mean_tokens")}</div>
        <div class="aj-pair">${this.field("dataset.examples")}${this.field("dataset.epochs")}</div>
        ${this.file()}
        <p class="aj-doors"><a href="#config">${view.say("tools.config")}</a> · <a href="#oom">${view.say("tools.oom")}</a></p>
      </div>`;
  }

  /** A dataset's own lengths, measured in the page. */
  file() {
    const { view, state } = this;
    const { format } = view;
    const { file } = state;
    const m = file?.measured;
    return html`<div class="aj-file" data-field="file">
      <input class="aj-visually-hidden" type="file" id="aj-file" name="file" accept=".jsonl,.ndjson,.json,.csv,.tsv">
      <label for="aj-file">${view.say("file.title")} <small>${view.say("file.promise")}</small></label>
      ${file && !m && html`<p class="aj-hint">${view.say(file.unreadable ? "file.unreadable" : "file.reading", { name: file.name })}</p>`}
      ${file && m && html`<p class="aj-hint">${view.say("file.measured", {
        name: file.name, examples: format.number(m.examples), mean: format.number(m.mean), median: format.number(m.median),
        p99: format.number(m.p99), longest: format.number(m.longest),
      })} ${m.skipped > 0 && view.say("file.skipped", { count: m.skipped })}</p>
      <div class="aj-ratio"><label for="aj-ratio">${view.say("file.ratio")}</label>
        <div class="aj-input"><input type="text" inputmode="decimal" id="aj-ratio" name="ratio" value="${format.plain(file.ratio)}"></div>
        ${m.p99 < m.longest && html`<button type="button" data-change="${JSON.stringify({ sequence_length: m.p99 })}">${view.say("file.cut", { length: format.number(m.p99) })}</button>`}</div>`}
    </div>`;
  }

  settings() {
    const { view, plan, state } = this;
    let defaults = 0;
    let changed = 0;
    const groups = SETTINGS.map(([group, names]) => {
      const shown = names.filter((name) => !this.placed.has(name) && (FIELDS[name].when?.(plan) ?? true));
      for (const name of shown) name in state.request ? changed++ : defaults++;
      return html`<fieldset class="aj-group"><legend>${view.say(`group.${group}`)}</legend>${shown.map((name) => this.field(name, true))}</fieldset>`;
    });
    return html`<details class="aj-settings" id="aj-settings">
      <summary>${view.say("settings.title")} <small>${changed > 0 && html`<b>${view.say("settings.changed", { count: changed })}</b> · `}${view.say("settings.defaults", { count: defaults })}</small></summary>
      ${groups}
    </details>`;
  }

  /** What was asked (by a link, by a lever) and has no question of its own. */
  others() {
    const { view, state } = this;
    const names = Object.keys(state.request).filter((name) => !this.placed.has(name) && !ELSEWHERE.test(name));
    const faults = Object.keys(state.faults ?? {}).filter((name) => !this.placed.has(name));
    if (!names.length && !faults.length) return null;
    return html`<div class="aj-others"><p>${names.length > 0 && view.say("settings.other")}</p><ul>${names.map(
      (name) => html`<li>${view.name("field", name)}: ${view.value(name, state.request[name])}
        <button type="button" data-reset="${name}" aria-label="${view.say("settings.removeField", { field: view.name("field", name) })}">${view.say("settings.remove")}</button></li>`,
    )}</ul>${faults.map((name) => this.fault(name))}</div>`;
  }

  /**
   * @param {string} name
   * @param {boolean} [setting] in the fold: says where the value comes from and offers its return
   */
  field(name, setting = false) {
    this.placed.add(name);
    const { view, state } = this;
    const field = FIELDS[name];
    const id = controlId(name);
    const changed = name in state.request;
    const hint = view.knows(`hint.${name}`) && view.say(`hint.${name}`);
    const fault = this.fault(name);
    const echo = state.echoes?.[name];
    const note = setting && html`<span>${changed ? view.say("source.you") : this.source(name)}</span>${
      changed && html` <button type="button" data-reset="${name}" aria-label="${view.say("settings.resetField", { field: view.say(`field.${name}`) })}">${view.say("settings.reset")}</button>`
    }`;
    return html`<div class="aj-field aj-${field.kind} ${changed && setting && "aj-changed"}" data-field="${name}">
      <label for="${id}">${view.say(`field.${name}`)} ${hint && html`<small>${hint}</small>`}</label>
      <p class="aj-hint" id="${id}-note">${echo && html`<span class="aj-echo">${echo}</span> `}${note}</p>
      <div class="aj-input">${this.control(name, field, id, fault)}${field.unit && html`<span class="aj-unit" aria-hidden="true">${view.say(field.unit)}</span>`}</div>
      ${fault}
    </div>`;
  }

  /** The mode's own question cannot be left open. @param {string} name */
  needed(name) {
    return modeFields(this.plan).includes(name);
  }

  /** @param {string} name */
  source(name) {
    const { view, state, plan } = this;
    const from = state.sources[name] ?? state.sources[name.split(".")[0]] ?? "other";
    if (from === "framework") return view.say("source.framework", { framework: view.value("framework", plan.framework) });
    return view.say(view.knows(`source.${from}`) ? `source.${from}` : "source.other");
  }

  /**
   * @param {string} name
   * @param {import("./fields.js").Field} field
   * @param {string} id
   * @param {Html | null} fault
   */
  control(name, field, id, fault) {
    const { view, state, plan } = this;
    const value = plan[name];
    /** @type {Html} */
    const marks = html`id="${id}" name="${name}" aria-describedby="${id}-note" ${fault && html`aria-invalid="true"`}`;
    if (field.kind === "boolean") {
      return html`<label class="aj-switch"><input type="checkbox" ${marks} ${value === true && html`checked`}><span></span></label>`;
    }
    if (field.kind === "choice") {
      /** @type {[string, string][]} */
      const choices = name === "gpu" ? view.gpus() : (field.choices ?? []).map((choice) => [choice, view.value(name, choice)]);
      const known = value === null || value === undefined || choices.some(([choice]) => choice === value);
      if (!known) choices.unshift([JSON.stringify(value), view.value(name, value)]);
      if (field.automatic && !this.needed(name)) choices.unshift(["", view.say("value.any")]);
      return html`<select ${marks}>${choices.map(
        ([choice, label]) => html`<option value="${choice}" ${choice === (value ?? "") && html`selected`}>${label}</option>`,
      )}</select>`;
    }
    const open = field.automatic && !this.needed(name) && view.say(name.startsWith("job.") ? "value.none" : "value.auto");
    const text = state.drafts?.[name] ?? (value === null || value === undefined ? "" : view.format.plain(Number(value)));
    return html`<input type="text" inputmode="${field.kind === "integer" ? "numeric" : "decimal"}" ${marks} value="${text}" ${
      open && html`placeholder="${open}"`
    }>`;
  }

  /** @param {string} name */
  fault(name) {
    const { view, state } = this;
    const fault = state.faults?.[name];
    if (!fault) return null;
    return html`<p class="aj-fault" id="${controlId(name)}-fault" role="alert">${fault.message}${
      fault.suggestions.length > 0 && html` <span>${view.say("error.suggest")}</span> ${fault.suggestions.map(
        (s) => html`<button type="button" data-change="${JSON.stringify({ [s.field]: s.value })}">${s.label}</button> `,
      )}`
    }${fault.hub && html` <button type="button" data-hub="${fault.hub}">${view.say("hub.ask")}</button>`}</p>`;
  }
}
