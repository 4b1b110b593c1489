// The calculator's frame: where the form, the answer and the page's messages live. No DOM.

import { renderForm } from "./form.js";
import { html } from "./html.js";
import { renderTools } from "./reading.js";
import { summarize } from "./judge.js";
import { renderAnswer, renderStrip, renderSummary } from "./render.js";

/** @typedef {import("./text.js").View} View */

/**
 * @param {any} answer
 * @param {import("./form.js").FormState} form
 * @param {View} view
 */
export function renderPage(answer, form, view) {
  return html`<div class="aj-calc" data-search-exclude data-language="${view.language}" data-base="${view.base}">
    <div class="aj-ask">${renderForm(form, view)}</div>
    <div class="aj-reply">
      <noscript><p class="aj-status">${view.say("noscript")}</p></noscript>
      <div class="aj-status" id="aj-status" hidden></div>
      <div id="aj-compare"></div>
      <div class="aj-answer" id="aj-answer">${renderAnswer(answer, view, { state: "built", open: () => false, closed: asText })}</div>
      ${renderTools(view)}
    </div>
    <p class="aj-visually-hidden" id="aj-live" aria-live="polite"></p>
    <a class="aj-strip aj-${summarize(answer, view).verdict}" id="aj-strip" href="#verdict" hidden>${renderStrip(answer, view)}</a>
  </div>`;
}

/**
 * Folded tables are thousands of elements that a phone would style before it shows the answer: they come as text, which
 * is elements only where no script will print the fold when it opens.
 * @param {() => import("./html.js").Html} content
 */
const asText = (content) => html`<noscript>${content()}</noscript>`;

/**
 * The default answer as another page shows it, with a door to the calculator.
 * @param {any} answer
 * @param {View} view
 */
export function renderDoor(answer, view) {
  return html`<div class="aj-answer aj-door">
    ${renderSummary(answer, view)}
    <p><a class="md-button md-button--primary" href="${view.base}calculator/">${view.say("summary.open")}</a></p>
  </div>`;
}
