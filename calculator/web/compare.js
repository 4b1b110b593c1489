// Up to four questions side by side: the first stands, the others show what they change and by how much. No DOM.

import { flatten } from "./fields.js";
import { html } from "./html.js";
import { hoursOf, read, summarize } from "./judge.js";
import { changeWords } from "./levers.js";

/** @typedef {import("./text.js").View} View */
/** @typedef {import("./fields.js").Flat} Flat */
/** @typedef {{request: Flat, answer: any}} Column a question as it was asked (what differs from the defaults), and its answer */

export const MOST = 4;
const LETTERS = ["A", "B", "C", "D"];
const SHOWN_DEFAULTS = 6;

/**
 * What a question changes in another: field and new value; a field alone goes back to its default.
 * @param {Flat} from
 * @param {Flat} to
 * @returns {[string, unknown?][]}
 */
export function difference(from, to) {
  const same = (/** @type {string} */ name) => JSON.stringify(from[name]) === JSON.stringify(to[name]);
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((name) => !same(name));
  return names.map((name) => (name in to ? [name, to[name]] : [name]));
}

/**
 * @param {Flat} from
 * @param {[string, unknown?][]} changes
 * @returns {Flat}
 */
export function applied(from, changes) {
  const to = { ...from };
  for (const [name, ...value] of changes) {
    if (value.length) to[name] = value[0];
    else delete to[name];
  }
  return to;
}

/**
 * @param {Column[]} columns
 * @param {number} beside the column that a phone shows beside the first
 * @param {View} view
 */
export function renderCompare(columns, beside, view) {
  if (!columns.length) return html``;
  const [first, ...others] = columns;
  const mark = (/** @type {number} */ i) => (i && i !== beside ? "aj-off" : "");
  const row = (/** @type {string} */ title, /** @type {(column: Column, i: number) => import("./html.js").Printable} */ cell) =>
    html`<tr><th scope="row">${title}</th>${columns.map((column, i) => html`<td class="${mark(i)}">${cell(column, i)}</td>`)}</tr>`;
  const base = middles(first, view);
  const writers = [view.format.gib, view.format.duration, view.format.usd].map((write) => write.bind(view.format));
  const defaults = others.map((column) => quiet(first, column));
  return html`<section class="aj-compare"><h2>${view.say("compare.title")}</h2>
    ${columns.length === 1 && html`<p>${view.say("compare.how")}</p>`}
    ${columns.length > 2 && html`<p class="aj-share aj-which">${others.map(
      (_, i) => html`<button type="button" data-compare="${i + 1}" aria-pressed="${i + 1 === beside ? "true" : "false"}">A · ${LETTERS[i + 1]}</button> `,
    )}</p>`}
    <div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("compare.title")}"><table>
      <thead><tr><td></td>${columns.map(
        (_, i) => html`<th scope="col" class="${mark(i)}">${LETTERS[i]} <button type="button" data-unpin="${i}" aria-label="${view.say("compare.removeLabel", { which: LETTERS[i] })}">${view.say("settings.remove")}</button></th>`,
      )}</tr></thead>
      <tbody>
      ${row(view.say("compare.question"), (column, i) => (i ? changes(first, column, view) : job(column, view)))}
      ${defaults.some((names) => names.length) && row(view.say("compare.defaults"), (column, i) => i > 0 && quietWords(defaults[i - 1], column, view))}
      ${row(view.say("compare.verdict"), (column) => {
        const { verdict, sentence } = read(column.answer, view);
        return html`<span class="aj-${verdict} aj-said">${sentence}</span>`;
      })}
      ${/** @type {const} */ (["memory", "time", "bill"]).map((name, at) =>
        row(view.say(`number.${name}`), (column, i) => {
          const value = middles(column, view)[at];
          if (value === null) return view.say("number.none");
          return html`<b>${writers[at](value)}</b> ${i > 0 && base[at] !== null && html`<small>${signed(value - base[at], base[at], writers[at], view)}</small>`}
            <br><small>${ranges(column, view)[at]}</small>`;
        }),
      )}
      ${row(view.say("compare.where"), ({ answer }) => {
        const { lead } = read(answer, view);
        return lead ? `${view.cards(lead.gpus, lead.gpu)}, ${view.provider(lead.provider)}` : view.say("number.none");
      })}
      </tbody></table></div></section>`;
}

/** @param {Column} column @param {View} view @returns {(number | null)[]} */
const middles = (column, view) => summarize(column.answer, view).middles;

/** From where to where each may lie. @param {Column} column @param {View} view */
function ranges({ answer }, view) {
  const reading = read(answer, view);
  const hours = hoursOf(answer, reading);
  const { format } = view;
  return [format.gibRange(reading.need), hours && format.durationRange(hours), reading.lead && format.usdRange(reading.lead.usd)];
}

/**
 * A change with its sign; one below half a per cent is none.
 * @param {number} change
 * @param {number} whole
 * @param {(value: number) => string} write
 * @param {View} view
 */
function signed(change, whole, write, view) {
  if (Math.abs(change) < Math.abs(whole) / 200) return view.say("compare.same");
  return `${change < 0 ? "−" : "+"}${write(Math.abs(change))}`;
}

/** @param {Column} column @param {View} view */
function job({ answer: { plan } }, view) {
  return [view.model(plan.model), view.value("method", plan.method), view.value("framework", plan.framework)].join(" · ");
}

/** What was asked otherwise, in words. @param {Column} first @param {Column} column @param {View} view */
function changes(first, column, view) {
  const plan = flatten(column.answer.plan);
  const asked = difference(first.request, column.request).map(([name]) => name);
  return asked.length ? changeWords(Object.fromEntries(asked.map((name) => [name, plan[name] ?? column.request[name]])), view) : view.say("compare.same");
}

/**
 * Fields that nobody asked for and that differ all the same: another stack's defaults, another method's.
 * @param {Column} first
 * @param {Column} column
 */
function quiet(first, column) {
  const [before, after] = [first, column].map(({ answer }) => flatten(answer.plan));
  const asked = new Set([...Object.keys(first.request), ...Object.keys(column.request), "model", "method"]);
  return Object.keys(after).filter((name) => !/^(defaults|calibration)/.test(name) && !asked.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}

/** @param {string[]} names @param {Column} column @param {View} view */
function quietWords(names, column, view) {
  const plan = flatten(column.answer.plan);
  const shown = names.filter((name) => view.knows(`field.${name}`)).slice(0, SHOWN_DEFAULTS);
  return changeWords(Object.fromEntries(shown.map((name) => [name, plan[name]])), view);
}
