// Small pieces that several parts of an answer print. No DOM.

import { tone } from "./charts.js";
import { html } from "./html.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./text.js").View} View */

export const ICONS = {
  fits: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10"/><path d="m7.5 12.5 3 3 6-6.5"/></svg>`,
  several: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M8 8h13v13H8z"/><path d="M4 16H3V3h13v1"/></svg>`,
  tight: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2.5 22.5 21h-21z"/><path d="M12 9.5v5.5m0 2.5v.1"/></svg>`,
  no: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M8 2h8l6 6v8l-6 6H8l-6-6V8z"/><path d="m8.5 8.5 7 7m0-7-7 7"/></svg>`,
};

/**
 * "9,0 GiB" with its unit in small print.
 * @param {string} text
 */
export function figure(text) {
  return text.split("\u00a0").map((part, i) => html`${i > 0 && "\u00a0"}${/\d/.test(part) ? part : html`<small>${part}</small>`}`);
}

/** @param {{verdict: "fits" | "tight" | "no"}} row @param {View} view @param {string} [no] what "no" means here */
export function fit({ verdict }, view, no = view.say("offer.no")) {
  return html`<span class="aj-fit aj-${verdict}">${ICONS[verdict]}${verdict === "no" ? no : view.say(`offer.${verdict}`)}</span>`;
}

/** @typedef {(id: string, content: () => Html) => Html | null} Inside what stands in a fold: its content where it is open */

/**
 * @param {string} id
 * @param {string | Html} title
 * @param {import("./html.js").Printable} content
 */
export function fold(id, title, content) {
  return html`<details id="fold-${id}"><summary>${title}</summary><div class="aj-fold">${content}</div></details>`;
}

/**
 * The terms of a moment, largest first; what is too small to see goes together.
 * @param {View} view
 * @param {Record<string, number>} terms
 * @param {number} whole
 */
export function segmentsOf(view, terms, whole) {
  const sorted = Object.entries(terms)
    .filter(([, gib]) => gib > 0)
    .sort(([, a], [, b]) => b - a);
  const seen = sorted.filter(([, gib]) => gib >= whole * 0.015);
  const rest = sorted.slice(seen.length).reduce((sum, [, gib]) => sum + gib, 0);
  const segments = seen.map(([id, gib]) => ({ id, gib, label: view.name("term", id), tone: tone(id) }));
  return rest > 0 ? [...segments, { id: "others", gib: rest, label: view.say("memory.others"), tone: "other" }] : segments;
}
