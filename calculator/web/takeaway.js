// The files that start the run, below the answer. No DOM: the page asks the estimator for them and hands them over.

import { html } from "./html.js";

/** @typedef {import("./text.js").View} View */
/**
 * @typedef {object} Taken what was asked for last
 * @property {string} request the question that the files are for
 * @property {string} target
 * @property {{name: string, text: string}[]} [files]
 * @property {{field: string, reason: Record<string, string>}[]} [refused] what the tool cannot be told
 * @property {string} [trouble] why there are none
 */

/** What can start a run: tools that train, engines that rent a machine, and the test that comes first. */
const TARGETS = ["trl", "axolotl", "llama-factory", "torchtune", "accelerate", "skypilot", "dstack", "docker", "smoke"];

/**
 * @param {Taken | null} taken
 * @param {View} view
 */
export function renderTakeaway(taken, view) {
  return html`<p>${view.say("takeaway.how")}</p>
    <div class="aj-measure"><div class="aj-field"><label for="aj-take-target">${view.say("takeaway.target")}</label>
      <div class="aj-input"><select id="aj-take-target">${TARGETS.map(
        (target) => html`<option value="${target}" ${target === taken?.target && html`selected`}>${view.name("target", target)}</option>`,
      )}</select></div></div></div>
    <p class="aj-share"><button type="button" data-take="write">${view.say("takeaway.write")}</button></p>
    ${taken && html`<div role="status">${taken.trouble && html`<p class="aj-fault">${taken.trouble}</p>`}
      ${taken.files?.map(({ name, text }, i) => html`<h4>${name}</h4>
        <pre tabindex="0" aria-label="${name}"><code>${text}</code></pre>
        <p class="aj-share"><button type="button" data-take="${i}">${view.say("takeaway.download", { name })}</button>
          <button type="button" data-copy="${i}" aria-label="${view.say("takeaway.copyLabel", { name })}">${view.say("takeaway.copy")}</button></p>`)}
      ${taken.refused && taken.refused.length > 0 && html`<ul>${taken.refused.map(
        ({ field, reason }) => html`<li>${view.name("field", field)}: ${reason[view.language]}</li>`,
      )}</ul>`}</div>`}`;
}
