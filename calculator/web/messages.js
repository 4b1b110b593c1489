// What the calculator says above the answer: how far Python is, whose the figures in view are, what to do without it. No DOM.

import { html } from "./html.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./text.js").View} View */
/** @typedef {import("./link.js").Then} Then */

/** @param {number} bytes @param {View} view */
const megabytes = (bytes, view) => `${view.format.number(bytes / 1e6, 1)}\u00a0MB`;

/** The three middles of a link, each as it is written. @param {(number | null)[]} middles @param {View} view */
function written(middles, { format }) {
  const writers = [format.gib, format.duration, format.usd].map((write) => write.bind(format));
  return middles.map((middle, i) => (middle === null ? "—" : writers[i](middle)));
}

/**
 * The figures that a link brings, until they are computed anew.
 * @param {Then} then
 * @param {View} view
 */
export function quoted(then, view) {
  const figures = written(then.middles, view);
  return html`<p>${view.say("state.quoted", { date: view.format.date(then.data) })}</p>
    <dl class="aj-numbers aj-quoted">${/** @type {const} */ (["memory", "time", "bill"]).map(
      (name, i) => html`<div><dt>${view.say(`number.${name}`)}</dt><dd class="aj-figure">${figures[i]}</dd></div>`,
    )}</dl>`;
}

/**
 * @param {{sent: number, total: number} | null} progress null: all has arrived, Python starts
 * @param {View} view
 * @param {boolean} previous whether the answer in view is another question's
 */
export function loading(progress, view, previous) {
  const words = progress
    ? view.say("state.download", { done: megabytes(progress.sent, view), total: megabytes(progress.total, view) })
    : view.say("state.start");
  return html`<p>${previous && html`<b>${view.say("state.previous")}.</b> `}${words}</p>
    <progress max="1" value="${progress ? progress.sent / progress.total : 1}" aria-label="${words}"></progress>`;
}

/** Data is dear: nothing is downloaded unasked. @param {number} bytes @param {View} view */
export function saver(bytes, view) {
  return html`<p>${view.say("state.saver", { total: megabytes(bytes, view) })}</p>
    <p><button type="button" data-start="1">${view.say("state.saverButton")}</button></p>`;
}

/** @param {string} request @param {View} view */
export function broken(request, view) {
  return html`<p>${view.say("state.broken")}</p><pre tabindex="0"><code>python -m ajuste '${request}'</code></pre>
    <p><button type="button" data-start="1">${view.say("state.retry")}</button></p>`;
}

/** A field is wrong: the answer in view is the one before. @param {View} view */
export function faulty(view) {
  return html`<p><b>${view.say("state.previous")}.</b> ${view.say("state.fix")}</p>`;
}

/**
 * What moved since a link was made.
 * @param {Then} then
 * @param {(number | null)[]} now
 * @param {View} view
 */
export function moved(then, now, view) {
  const [before, after] = [then.middles, now].map((middles) => written(middles, view).join(" · "));
  return html`<p>${
    before === after
      ? view.say("state.thenUnchanged", { date: view.format.date(then.data) })
      : view.say("state.then", { then: before, now: after })
  }</p>`;
}
