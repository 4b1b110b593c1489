// What is folded below an answer: moments, GPUs, bill, time, notes, formulas. No DOM.

import { cellRange, cellStack, spotChart } from "./charts.js";
import { html } from "./html.js";
import { memoryOf } from "./judge.js";
import { fit, segmentsOf } from "./parts.js";

/** @typedef {import("./text.js").View} View */
/** @typedef {import("./judge.js").Answer} Answer */
/** @typedef {import("./judge.js").Reading} Reading */
/** @typedef {import("./judge.js").Offer} Offer */
/** @typedef {import("./judge.js").GpuRow} GpuRow */

/** @param {Answer} answer @param {Reading} reading @param {View} view */
export function moments(answer, reading, view) {
  const rows = memoryOf(answer).moments;
  const { need, peak } = reading;
  const end = Math.max(need.mid, ...rows.map((/** @type {any} */ m) => m.gib));
  const highest = rows.find((/** @type {any} */ m) => m.id === peak);
  const { format } = view;
  const parts = aboveTensors(memoryOf(answer), highest.gib, view);
  const shown = format.gibParts([highest.gib, ...parts.map(([, gib]) => gib)]);
  return html`<p>${view.say("moments.note", { moment: view.name("moment", peak) })}</p><table class="aj-bars">
    <thead><tr><th scope="col">${view.say("moments.moment")}</th><td></td><th scope="col" class="aj-n">GiB</th></tr></thead>
    <tbody>${rows.map((/** @type {any} */ m) => html`<tr class="${m.id === peak ? "aj-peak" : "aj-muted"}">
      <th scope="row">${view.name("moment", m.id)}</th><td>${cellStack(segmentsOf(view, m.terms, end), end)}</td>
      <td class="aj-n">${format.amount(m.gib)}</td></tr>`)}
      ${parts.map(([name], i) => html`<tr><th scope="row">${name}</th><td></td><td class="aj-n">${shown[i + 1]}</td></tr>`)}
      <tr class="aj-total"><th scope="row">${view.say("moments.required")}</th><td></td><td class="aj-n">${shown.at(-1)}</td></tr></tbody></table>`;
}

/**
 * What a card needs beyond its tensors, part by part where the whole run peaks as the step does.
 * @param {any} memory
 * @param {number} tensors GiB at the whole run's peak
 * @param {View} view
 * @returns {[string, number][]}
 */
function aboveTensors(memory, tensors, view) {
  const { allocated, ...parts } = memory.required_parts_gib;
  const whole = memory.whole_run.required_gib.mid;
  const same = memory.whole_run.peak_moment === memory.peak_moment && Math.abs(allocated - tensors) < 0.01 * tensors;
  if (!same) return [[view.say("moments.overhead"), whole - tensors]];
  return Object.entries(parts).map(([id, gib]) => [view.name("part", id), Number(gib)]);
}

/** @param {Answer} answer @param {View} view */
export function gpuTable(answer, view) {
  const gb = (/** @type {GpuRow} */ row) => view.names.gpus[row.id]?.gb ?? 0;
  const rows = [...answer.gpus].sort((a, b) => a.count - b.count || gb(a) - gb(b) || (a.id < b.id ? -1 : 1));
  const { format } = view;
  return html`<div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("fold.gpus")}"><table class="aj-bars">
    <thead><tr><th scope="col">${view.say("field.gpu")}</th><th scope="col">${view.say("gpus.verdict")}</th><td></td>
      <th scope="col" class="aj-n">${view.say("gpus.need")}</th><th scope="col" class="aj-n">${view.say("gpus.usable")}</th>
      <th scope="col" class="aj-n">${view.say("gpus.batch")}</th><th scope="col" class="aj-n">${view.say("gpus.length")}</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr><th scope="row">${view.cards(row.count, row.id)}</th><td>${fit(row, view)}${row.reason && html` ${view.say("gpus.unsupported")}`}</td>
      <td>${row.usable_gib !== null && cellRange(row.required_gib, row.usable_gib, row.verdict)}</td>
      <td class="aj-n">${format.amount(row.required_gib.mid)}</td>
      <td class="aj-n">${row.usable_gib === null ? view.say("gpus.unknown") : format.amount(row.usable_gib)}</td>
      <td class="aj-n">${row.max_micro_batch > 0 ? format.number(row.max_micro_batch) : "—"}</td>
      <td class="aj-n">${row.max_sequence_length > 0 ? format.number(row.max_sequence_length) : "—"}</td></tr>`)}</tbody></table></div>`;
}

/** @param {Offer} lead @param {View} view */
export function bill(lead, view) {
  const { format } = view;
  const lines = Object.entries(lead.breakdown_usd);
  const known = lines.filter(([, usd]) => usd !== null && usd !== 0);
  const unknown = lines.filter(([, usd]) => usd === null);
  const shown = format.usdParts(known.map(([, usd]) => Number(usd)), lead.usd.mid);
  const facts = lead.unknown.map((/** @type {string} */ fact) => view.name("charge", fact));
  return html`<p>${view.say("bill.for", {
      gpu: view.cards(lead.gpus, lead.gpu), provider: view.provider(lead.provider),
      hours: format.duration(lead.billed_hours.mid), price: format.price(lead.usd_per_hour),
    })}</p>
    <table class="aj-bars"><thead><tr><th scope="col">${view.say("bill.line")}</th><td></td><th scope="col" class="aj-n">${view.say("bill.usd")}</th></tr></thead>
    <tbody>${known.map(([id, usd], i) => html`<tr><th scope="row">${view.name("charge", id)}</th>
      <td>${cellStack([{ id, gib: Math.max(Number(usd), 0), label: "", tone: "weights" }], lead.usd.mid)}</td><td class="aj-n">${shown[i]}</td></tr>`)}
      ${unknown.map(([id]) => html`<tr><th scope="row">${view.name("charge", id)}</th><td></td><td class="aj-n">${view.say("bill.unknown")}</td></tr>`)}
      <tr class="aj-total"><th scope="row">${view.say("memory.total")}</th><td></td><td class="aj-n">${shown.at(-1)}</td></tr></tbody></table>
    ${facts.length > 0 && html`<p class="aj-note">${view.say("offers.unknown", { facts: facts.join(", ") })}</p>`}`;
}

/** @param {any} spent @param {View} view */
export function time(spent, view) {
  const steps = Object.entries(spent.breakdown_h).filter(([, hours]) => Number(hours) > 0);
  const whole = steps.reduce((sum, [, hours]) => sum + Number(hours), 0);
  const shown = view.format.durationParts(steps.map(([, hours]) => Number(hours)));
  return html`<p>${view.say("time.rate", { rate: view.format.rate(spent.tokens_per_second.mid) })}
      (${view.format.rate(spent.tokens_per_second.low)}–${view.format.rate(spent.tokens_per_second.high)})</p>
    <table class="aj-bars"><thead><tr><th scope="col">${view.say("time.step")}</th><td></td><th scope="col" class="aj-n">${view.say("time.hours")}</th></tr></thead>
    <tbody>${steps.map(([id, hours], i) => html`<tr><th scope="row">${view.name("step", id)}</th>
      <td>${cellStack([{ id, gib: Number(hours), label: "", tone: "weights" }], whole)}</td><td class="aj-n">${shown[i]}</td></tr>`)}
      <tr class="aj-total"><th scope="row">${view.say("memory.total")}</th><td></td><td class="aj-n">${shown.at(-1)}</td></tr></tbody></table>`;
}

/** How often the spot pick should save: its expected bill by the interval, against on-demand. @param {Answer} answer @param {View} view */
export function spot(answer, view) {
  const { format } = view;
  const { offers, picks, spot_curve: curve } = answer;
  const pick = offers[picks.spot];
  const flat = offers[picks.cheapest]?.usd.mid ?? null;
  const points = curve.map((/** @type {any} */ p) => ({ minutes: p.interval_minutes, usd: p.usd, count: p.checkpoints }));
  const best = points.reduce((/** @type {any} */ a, /** @type {any} */ b) => (b.usd < a.usd ? b : a));
  const costs = points.map((/** @type {any} */ p) => p.usd);
  const minutes = (/** @type {number} */ value) => format.duration(value / 60);
  const description = view.say("spot.chart", { low: format.usd(Math.min(...costs)), high: format.usd(Math.max(...costs)), flat: flat === null ? "—" : format.usd(flat) });
  return html`<p>${view.say(best.count === 1 ? "spot.once" : "spot.of", {
      gpu: view.cards(pick.gpus, pick.gpu), provider: view.provider(pick.provider), minutes: minutes(best.minutes), interruptions: format.figures(pick.spot.interruptions, 2),
    })} ${view.say("spot.even", { price: format.price(pick.spot.break_even_usd_per_hour) })}</p>
    ${spotChart(view, points, flat, { description, minutes: view.say("spot.minutes"), usd: view.say("plot.usd"), flat: view.say("spot.flat") })}
    <table class="aj-bars"><thead><tr><th scope="col">${view.say("spot.interval")}</th><th scope="col" class="aj-n">${view.say("spot.cost")}</th></tr></thead>
    <tbody>${points.map((/** @type {any} */ p) => html`<tr class="${p === best && "aj-peak"}"><th scope="row">${p.count === 1 ? view.say("spot.never") : minutes(p.minutes)}${p === best && ` · ${view.say("spot.best")}`}</th>
      <td class="aj-n">${format.usd(p.usd)}</td></tr>`)}</tbody></table>`;
}

/**
 * A piece of advice in words, and the page of the guide that explains it.
 * @param {View} view
 * @param {any} item
 */
export function advice(view, item) {
  const values = Object.fromEntries(Object.entries(item.values).map(([name, value]) => [name, adviceValue(view, name, value)]));
  const sentence = view.say(`advice.${item.id}`, values);
  return html`${sentence} <a href="${view.base}${item.page}" aria-label="${view.say("advice.more")}: ${sentence}">${view.say("advice.more")}</a>`;
}

/**
 * The unit is in the value's name.
 * @param {View} view
 * @param {string} name
 * @param {any} value
 */
function adviceValue(view, name, value) {
  const { format } = view;
  if (name === "gpu") return view.gpu(value);
  if (name === "provider") return view.provider(value);
  if (typeof value !== "number") return String(value);
  if (/gib$/.test(name)) return format.gib(value);
  if (/gb$/.test(name)) return format.gb(value);
  if (/gb_per_s$/.test(name)) return `${format.gb(value)}/s`;
  if (/^usd/.test(name)) return format.usd(value);
  if (/hours$/.test(name)) return format.duration(value);
  if (/share$/.test(name)) return format.percent(value);
  return Number.isInteger(value) ? format.number(value) : format.figures(value, 2);
}

/** Advice that is not under the verdict already. @param {Answer} answer @param {View} view @returns {any[]} */
export const notesOf = (answer, view) => answer.advice.filter((/** @type {any} */ a) => a.severity !== "serious" && view.knows(`advice.${a.id}`));

/** @param {Answer} answer @param {View} view */
export const notesTitle = (answer, view) => html`${view.say("fold.notes")} <small>${view.format.number(notesOf(answer, view).length)}</small>`;

/** @param {Answer} answer @param {View} view */
export const notes = (answer, view) => html`<ul>${notesOf(answer, view).map((a) => html`<li class="aj-${a.severity}">${advice(view, a)}</li>`)}</ul>`;

/** @param {Answer} answer @param {View} view */
export function formulas(answer, view) {
  return html`<div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("fold.formulas")}"><table>
    <thead><tr><th scope="col">${view.say("memory.thing")}</th><th scope="col" class="aj-n">GiB</th><th scope="col">${view.say("memory.formula")}</th>
      <th scope="col">${view.say("formulas.assumption")}</th></tr></thead>
    <tbody>${memoryOf(answer).terms.map((/** @type {any} */ term) => html`<tr><th scope="row">${view.name("term", term.id)}</th>
      <td class="aj-n">${view.format.figures(term.gib, 3)}</td><td><code>${term.formula}</code></td>
      <td>${term.assumptions.map((/** @type {string} */ id, /** @type {number} */ i) => html`${i > 0 && ", "}<a href="${view.base}methodology/#${id}">${id}</a>`)}</td></tr>`)}</tbody></table></div>
    <p><a href="${view.base}methodology/">${view.say("formulas.more")}</a></p>`;
}
