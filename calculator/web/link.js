// The request in the page's fragment: #model=llama-3.1-8b&method=lora&lora.rank=32&~v=0.1.0&~d=2026-11-30&~m=8.95412,0.612,0.171
// Names of the contract, only what differs from the defaults. After "~": estimator version, data date, the three middles.
// A fragment reaches no server, and the theme's language switch keeps it.

/** @typedef {import("./fields.js").Flat} Flat */
/** @typedef {{version: string, data: string, middles: (number | null)[]}} Then */

/** @param {unknown} value */
function write(value) {
  return typeof value === "string" && read(value) === value ? value : JSON.stringify(value);
}

/**
 * Numbers, true, false, null, lists and objects are JSON; whatever is no JSON is a text.
 * @param {string} text
 */
function read(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "number" && !Number.isFinite(value) ? text : value; // 1e400: Python says what is wrong with it
  } catch {
    return text;
  }
}

/** @param {string} text Only what would break a link is escaped: it stays readable. Half a character cannot be. */
const keep = (text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\uFFFD")).replace(/%(2C|2F|3A|5B|5D|40)/g, decodeURIComponent);

/**
 * @param {Flat} request
 * @param {Then} [then]
 * @param {unknown[]} [pins] what is compared, each as its changes to the request
 */
export function toFragment(request, then, pins = []) {
  const given = Object.entries(request).filter(([, value]) => value !== undefined);
  const parts = given.map(([name, value]) => `${keep(name)}=${keep(write(value))}`);
  if (pins.length) parts.push(`~c=${keep(JSON.stringify(pins))}`);
  if (then) {
    parts.push(`~v=${keep(then.version)}`, `~d=${keep(then.data)}`);
    parts.push(`~m=${then.middles.map((m) => (m === null ? "" : Number(m.toPrecision(6)))).join(",")}`);
  }
  return `#${parts.join("&")}`;
}

/**
 * @param {string} fragment
 * @returns {{request: Flat, then: Then | null, pins: any[]} | null} null when the fragment holds no request (a heading's anchor, say)
 */
export function fromFragment(fragment) {
  const parts = fragment.replace(/^#/, "").split("&").filter((part) => part.includes("="));
  /** @type {Flat} */
  const request = Object.create(null);
  /** @type {Record<string, string>} */
  const marks = Object.create(null);
  for (const part of parts) {
    const [name, text] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)].map(decode);
    if (name.startsWith("~")) marks[name.slice(1)] = text;
    else request[name] = read(text);
  }
  if (!Object.keys(request).length) return null;
  const middles = (marks.m ?? "").split(",").map((text) => (text === "" ? null : Number(text)));
  const pins = read(marks.c ?? "[]");
  return { request, pins: Array.isArray(pins) ? pins : [], then: marks.v && middles.length === 3 ? { version: marks.v, data: marks.d ?? "", middles } : null };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
