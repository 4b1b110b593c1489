// What people paste of a run they already have, and what was read in it: a tool's file, an out-of-memory error. No DOM.

import { cellStack } from "./charts.js";
import { flatten } from "./fields.js";
import { html } from "./html.js";
import { changeWords, leverEffect } from "./levers.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./text.js").View} View */

/**
 * A box to paste into.
 * @param {View} view
 * @param {"config" | "oom"} kind
 */
export function renderBox(view, kind) {
  return html`<label for="aj-paste-${kind}">${view.say(kind === "oom" ? "tools.oomLabel" : "tools.configLabel")} <small>${view.say("tools.local")}</small></label>
    <textarea id="aj-paste-${kind}" rows="7" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off"></textarea>
    <div class="aj-share"><button type="button" data-paste="${kind}">${view.say("tools.read")}</button>${
      kind === "config" && html`<div class="aj-file"><input class="aj-visually-hidden" type="file" id="aj-paste-file" accept=".yaml,.yml,.json"><label for="aj-paste-file">${view.say("tools.configFile")}</label></div>`
    }</div>
    <div class="aj-read" id="aj-read-${kind}" role="status"></div>`;
}

/** Both boxes, below the answer. @param {View} view */
export function renderTools(view) {
  return html`<section class="aj-tools"><h3>${view.say("tools.title")}</h3>${/** @type {const} */ (["config", "oom"]).map(
    (kind) => html`<details id="${kind}" class="aj-tool"><summary>${view.say(`tools.${kind}`)}</summary><div class="aj-fold">${renderBox(view, kind)}</div></details>`,
  )}</section>`;
}

/**
 * What became of a file's lines.
 * @param {any} read what the door "config" answers
 * @param {View} view
 */
export function renderConfig(read, view) {
  const tool = view.name("value.framework", read.tool);
  const fields = flatten(read.request);
  /** @type {Map<string, string[]>} */
  const reasons = new Map();
  for (const { key, reason } of read.ignored) {
    const why = reason[view.language];
    reasons.set(why, [...(reasons.get(why) ?? []), key]);
  }
  const means = (/** @type {string[]} */ names) =>
    names.map((name) => (name in fields ? changeWords({ [name]: fields[name] }, view) : view.name("field", name))).join(" · ");
  return html`<p>${view.say(read.partial ? "config.partial" : "config.read", { tool })} <a href="#verdict">${view.say("tools.see")}</a></p>
    ${read.drivers.length === 0 && html`<p>${view.say("config.noDrivers")}</p>`}
    ${read.drivers.length > 0 && html`<h4>${view.say("config.drivers", { count: read.drivers.length })}</h4>
    <div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("config.drivers", { count: read.drivers.length })}"><table>
      <thead><tr><th scope="col">${view.say("config.line")}</th><th scope="col">${view.say("config.means")}</th></tr></thead>
      <tbody>${read.drivers.map(
        (/** @type {any} */ line) => html`<tr><td><code>${line.key}: ${written(line.value)}</code></td><td>${means(line.fields)}</td></tr>`,
      )}</tbody></table></div>`}
    ${reasons.size > 0 && html`<details><summary>${view.say("config.ignored", { count: read.ignored.length })}</summary>
      <ul class="aj-reasons">${[...reasons].map(([why, keys]) => html`<li>${why} ${keys.map((key, i) => html`${i > 0 && ", "}<code>${key}</code>`)}</li>`)}</ul></details>`}`;
}

/** @param {unknown} value */
function written(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** The parts of the card, in the order of the bar: fact and colour. */
/** @type {[string, string][]} */
const PARTS = [
  ["allocated", "weights"], ["unallocated", "adapter"], ["context", "overhead"], ["others", "logits"], ["unknown", "logits"], ["free", "free"],
];

/**
 * An out-of-memory error, read.
 * @param {any} read what the door "oom" answers
 * @param {View} view
 * @param {"reader" | "page" | "none"} asked whose request it was read against: with one, its fixes can be made here
 */
export function renderDiagnosis(read, view, asked) {
  const { format } = view;
  const { facts, moment, causes, pages, expected_gib: need } = read;
  const gib = (/** @type {string} */ name) => format.gib(facts[`${name}_gib`] ?? 0);
  const parts = partsOf(facts);
  const list = parts.map(({ id, gib: size }) => `${view.say(`oom.fact.${id}`)} ${format.gib(size)}`).join(", ");
  const explained = (/** @type {string} */ name, /** @type {string} */ sentence) =>
    html`${sentence} <a href="${view.base}${pages[name]}" aria-label="${view.say("advice.more")}: ${sentence}">${view.say("advice.more")}</a>`;
  return html`<p class="aj-moment"><b>${moment ? view.say("oom.moment", { moment: view.name("moment", moment) }) : view.say("oom.momentUnknown")}</b>
      ${read.moment_from === "size" && view.say("oom.bySize")} ${moment && explained(moment, view.say(`oom.do.${moment}`))}</p>
    ${causes.map((/** @type {string} */ cause) => html`<p>${explained(cause, view.say(`oom.cause.${cause}`, { others: gib("others"), unallocated: gib("unallocated"), tried: gib("tried") }))}</p>`)}
    ${parts.length > 0 && html`<div class="aj-card-then" role="img" aria-label="${view.say("oom.chart", { list })}">${cellStack(parts, facts.total_gib)}</div>
    <ul class="aj-legend">${parts.map((p) => html`<li><i class="aj-${p.tone}"></i>${view.say(`oom.fact.${p.id}`)} <b>${format.gib(p.gib)}</b></li>`)}
      ${["tried", "total", "allowed"].map((name) => facts[`${name}_gib`] !== undefined && html`<li>${view.say(`oom.fact.${name}`)} <b>${gib(name)}</b></li>`)}</ul>`}
    ${asked === "page" && html`<p class="aj-notice">${view.say("oom.notYours")} <a href="#config">${view.say("tools.config")}</a></p>`}
    ${need && facts.total_gib && html`<p>${view.say("oom.expected", { low: format.amount(need.low), high: format.amount(need.high), total: gib("total") })}</p>`}
    ${causes.includes("fragmentation") && facts.setting && html`<p>${view.say("oom.setting")} <code>export ${facts.setting}</code></p>`}
    ${read.fixes.length > 0 && html`<h4>${view.say("oom.fixes")}</h4><ul class="aj-fixes">${read.fixes.map((/** @type {any} */ fix) => {
      const change = flatten(fix.change);
      return html`<li><button type="button" data-change="${JSON.stringify(change)}"><b>${changeWords(change, view)}</b> <span>${leverEffect(fix, view)}</span></button></li>`;
    })}</ul>`}
    ${asked === "none" && html`<p><a href="${view.base}calculator/#oom">${view.say("oom.calculator")}</a></p>`}`;
}

/**
 * The card when it failed, part by part.
 * @param {Record<string, any>} facts
 */
function partsOf(facts) {
  const { allocated_gib: allocated, unallocated_gib: unallocated = 0, in_use_gib: used, others_gib: others = 0, free_gib: free = 0 } = facts;
  if (allocated === undefined || facts.total_gib === undefined) return [];
  /** @type {Record<string, number>} */
  const sizes = { allocated, unallocated, free };
  if (used === undefined) sizes.unknown = others;
  else Object.assign(sizes, { context: used - allocated - unallocated, others });
  return PARTS.filter(([id]) => sizes[id] > 0.005).map(([id, tone]) => ({ id, tone, gib: sizes[id], label: "" }));
}
