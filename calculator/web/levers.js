// Changes that would make it fit, or spend less memory, as buttons. No DOM.

import { flatten } from "./fields.js";
import { html } from "./html.js";
import { ICONS } from "./parts.js";

/** @typedef {import("./text.js").View} View */
/** @typedef {import("./fields.js").Flat} Flat */
/** @typedef {import("./judge.js").Answer} Answer */
/** @typedef {import("./judge.js").Reading} Reading */

const SHOWN_LEVERS = 6;

/** @param {Answer} answer @param {View} view @param {Reading} reading @param {Flat[]} undo */
export function levers(answer, view, reading, undo) {
  if (!answer.levers.length && !undo.length) return null;
  return html`<section class="aj-levers" id="levers">
    <h3>${view.say(reading.verdict === "fits" || reading.beyond ? "levers.save" : "levers.fit")}</h3>
    <ul>${answer.levers.slice(0, SHOWN_LEVERS).map((/** @type {any} */ lever) => {
      const change = flatten(lever.change);
      return html`<li class="${lever.fits && "aj-does"}"><button type="button" data-change="${JSON.stringify(change)}">
        ${lever.fits && reading.verdict !== "fits" && html`<em>${ICONS.fits}${view.say("lever.fits")}</em>`}<b>${changeWords(change, view)}</b> <span>${leverEffect(lever, view)}</span></button></li>`;
    })}${undo.map(
      (change, i) => html`<li><button type="button" class="aj-undo" data-undo="${i}">${view.say("lever.undo", { change: changeWords(change, view) })}</button></li>`,
    )}</ul>
  </section>`;
}

/** @param {Flat} change @param {View} view */
export function changeWords(change, view) {
  return Object.entries(change)
    .map(([field, value]) => view.say("change", { field: view.name("field", field), value: view.value(field, value) }))
    .join(" · ");
}

/** @param {any} lever @param {View} view */
export function leverEffect(lever, view) {
  const effects = [];
  if (lever.saves_gib > 0.05) effects.push(view.say("lever.saves", { gib: view.format.gib(lever.saves_gib) }));
  if (lever.slowdown) effects.push(pace(lever.slowdown, view));
  if (lever.usd) effects.push(view.format.usd(lever.usd));
  return effects.join(" · ");
}

/**
 * A change of pace as people say it: a percentage, and from twice on how many times.
 * @param {number} slowdown time after over time before
 * @param {View} view
 */
function pace(slowdown, view) {
  const slower = slowdown > 1;
  const times = slower ? slowdown : 1 / slowdown;
  if (times < 1.005) return view.say("lever.same");
  if (times < 2) return view.say(slower ? "lever.slower" : "lever.faster", { percent: view.format.percent(times - 1) });
  return view.say(slower ? "lever.timesSlower" : "lever.timesFaster", { times: view.format.figures(times, 2) });
}
