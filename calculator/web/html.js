// HTML by template: whatever is put in is escaped, unless it is HTML made here. No DOM, so that it runs in node too.

/** A piece of HTML that is safe to print. */
export class Html {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** @typedef {Html | string | number | false | null | undefined | Printable[]} Printable */

/** @type {Record<string, string>} */
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/**
 * Text made safe for elements and for quoted attributes.
 * @param {unknown} value
 */
export function escape(value) {
  return String(value).replace(/[&<>"']/g, (sign) => ENTITIES[sign]);
}

/**
 * @param {Printable} value
 * @returns {string}
 */
function print(value) {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(print).join("");
  if (value === false || value === null || value === undefined) return "";
  return escape(value);
}

/**
 * html`<b>${text}</b>`: text is escaped, nested html is kept, lists are joined, false and null print nothing.
 * @param {TemplateStringsArray} parts
 * @param {...Printable} values
 */
export function html(parts, ...values) {
  let text = parts[0];
  for (let i = 0; i < values.length; i++) text += print(values[i]) + parts[i + 1];
  return new Html(text);
}

/**
 * Drops the line breaks and the indentation of the templates: a Markdown page takes the result as one block.
 * @param {Html} page
 */
export function compact(page) {
  return page.text.replace(/\s*\n\s*/g, " ").trim();
}
