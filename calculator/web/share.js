// What a reader takes away of an answer: files, a table of the offers, four lines for a chat.

import { flatten } from "./fields.js";

/** @typedef {import("./fields.js").Flat} Flat */

/**
 * Hands a text over as a file.
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
export function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * The offers as a table: raw numbers, names of the contract.
 * @param {any} answer
 */
export function offersCsv(answer) {
  const rows = answer.offers.map((/** @type {any} */ offer) => flatten(offer));
  const columns = Object.keys(rows[0] ?? {});
  const cell = (/** @type {unknown} */ value) => {
    const text = value === null || value === undefined ? "" : Array.isArray(value) ? value.join(" ") : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.join(","), ...rows.map((/** @type {Flat} */ row) => columns.map((name) => cell(row[name])).join(","))].join("\r\n");
}

/**
 * Four lines and the link, for a chat.
 * @param {Element} root the calculator, whose answer is in view
 * @param {string} link
 */
export function summary(root, link) {
  const lines = ["#verdict h2", "#verdict p", ".aj-numbers", "#picks li"].map((part) => {
    const found = /** @type {Element | undefined} */ (root.querySelector(`#aj-answer ${part}`)?.cloneNode(true));
    for (const element of found?.querySelectorAll(".aj-links, a, svg") ?? []) element.remove(); // words of links without their links
    return [...(found?.querySelectorAll("dt, dd:not(.aj-note)") ?? [])].map((e) => e.textContent?.trim()).filter(Boolean).join(" ") || found?.textContent?.trim();
  });
  return [...lines, link].filter(Boolean).map((line) => String(line).replace(/\s+/g, " ")).join("\n");
}

/**
 * Copies a text and says so on the button for a moment. Fails where the browser does not let it.
 * @param {Element} button
 * @param {string} text
 * @param {string} copied
 */
export async function copy(button, text, copied) {
  const label = button.textContent;
  await navigator.clipboard.writeText(text);
  button.textContent = copied;
  setTimeout(() => (button.textContent = label), 2000);
}
