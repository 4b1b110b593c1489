// A small calculator inside a page of the guide: a few questions, the answer in short, a door to the whole one. No DOM.

import { FIELDS, flatten, METHODS, OTHER_METHODS } from "./fields.js";
import { html, Html } from "./html.js";
import { toFragment } from "./link.js";
import { renderBox } from "./reading.js";
import { read } from "./judge.js";
import { memory, renderSummary } from "./render.js";

/** @typedef {import("./text.js").View} View */
/** @typedef {import("./fields.js").Flat} Flat */
/** @typedef {{name: string, request: Record<string, any>, ask: string[], show?: string}} Embed */

/**
 * @param {Embed} embed
 * @param {any} answer
 * @param {View} view
 */
export function renderEmbed(embed, answer, view) {
  const request = flatten(embed.request);
  return html`<div class="aj-embed" data-embed="${JSON.stringify(embed)}" data-language="${view.language}" data-base="${view.base}">
    <form class="aj-embed-ask" autocomplete="off" novalidate aria-label="${view.say("form.title")}">${renderQuestions(embed, flatten(answer.plan), view)}</form>
    <div class="aj-answer" aria-live="polite">${renderShort(embed, request, answer, view)}</div>
    <noscript><p class="aj-note">${view.say("embed.static")}</p></noscript>
  </div>`;
}

/** An error can be pasted here, without a question to read it against. @param {View} view */
export function renderDoctor(view) {
  return html`<div class="aj-embed aj-doctor" data-embed="oom" data-language="${view.language}" data-base="${view.base}"><form>${renderBox(view, "oom")}</form></div>`;
}

/**
 * @param {Embed} embed
 * @param {Flat} plan
 * @param {View} view
 */
export function renderQuestions(embed, plan, view) {
  return html`${embed.ask.map((name) => html`<label>${view.say(`field.${name}`)} ${control(name, plan[name], view)}</label>`)}`;
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {View} view
 */
function control(name, value, view) {
  const field = FIELDS[name];
  const choices = choicesOf(name, view);
  if (!choices) {
    const text = value === null || value === undefined ? "" : view.format.plain(Number(value));
    return html`<input type="text" name="${name}" inputmode="${field.kind === "integer" ? "numeric" : "decimal"}" value="${text}" ${field.automatic && html`placeholder="${view.say("value.auto")}"`}>`;
  }
  return html`<select name="${name}">${choices.map(([id, label]) => html`<option value="${id}" ${id === value && html`selected`}>${label}</option>`)}</select>`;
}

/**
 * @param {string} name
 * @param {View} view
 * @returns {[string, string][] | null} null: a number is typed
 */
function choicesOf(name, view) {
  if (name === "model") return Object.entries(view.names.models).map(([id, model]) => [id, model.name]);
  if (name === "gpu") return view.gpus();
  const choices = name === "method" ? [...METHODS, ...OTHER_METHODS] : FIELDS[name].choices;
  return choices?.map((choice) => [choice, view.value(name, choice)]) ?? null;
}

/**
 * The answer in short, and the door to the whole calculator with the same question. Without the ids that the calculator's
 * own page has once.
 * @param {Embed} embed
 * @param {Flat} request
 * @param {any} answer
 * @param {View} view
 */
export function renderShort(embed, request, answer, view) {
  const content = embed.show === "memory" ? memory(answer, view, read(answer, view)) : renderSummary(answer, view);
  return html`${new Html(content.text.replace(/ id="[^"]*"/g, ""))}
    <p><a href="${view.base}calculator/${toFragment(request)}">${view.say("embed.open")}</a></p>`;
}
