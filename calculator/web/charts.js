// Charts as SVG. Lengths are attributes in per cent and pixels: the page's security policy forbids style="", and text
// keeps its size at every width. Every chart has its numbers in a table beside it.

import { html } from "./html.js";

/** @typedef {import("./text.js").View} View */
/** @typedef {{id: string, gib: number, label: string, tone: string}} Segment */
/** @typedef {{low: number, mid: number, high: number}} Band */

/** Colour of each memory term, the same in every chart. Terms of one kind share a hue. */
/** @type {Record<string, string>} */
const TONES = {
  weights: "weights",
  quantisation_constants: "weights-2",
  dequantisation: "weights-2",
  autocast_copies: "weights-2",
  reference_model: "weights-2",
  gathered_weights: "weights-2",
  master_weights: "optimizer",
  communication_buffers: "overhead",
  adapters: "adapter",
  gradients: "gradients",
  optimizer_states: "optimizer",
  activations: "activations",
  layer_at_work: "activations-2",
  temporaries: "activations-2",
  logits: "logits",
  workspace: "overhead",
  overhead: "overhead",
};

/** @param {string} id */
export function tone(id) {
  return TONES[id] ?? "other";
}

/**
 * A round axis: its end and its ticks.
 * @param {number} largest
 */
export function axis(largest) {
  const rough = largest / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((s) => s * power >= rough) ?? 10);
  const ticks = [];
  for (let value = 0; value <= largest * 1.0001; value += step) ticks.push(value);
  return { end: largest * 1.04, ticks };
}

/** @param {number} share 0 to 1 */
const at = (share) => `${(Math.min(Math.max(share, 0), 1) * 100).toFixed(2)}%`;

/** Width that a label needs, in pixels: 13 px system text. @param {string} text */
const textWidth = (text) => text.length * 6.9 + 12;

/**
 * The stacked bar alone: one rectangle a segment, labelled inside where the label has room on a phone or on a desk.
 * @param {Segment[]} segments
 * @param {number} end
 * @param {{y: number, height: number, labels?: boolean}} place
 */
function stack(segments, end, { y, height, labels = false }) {
  let left = 0;
  return segments.map((segment) => {
    const from = left;
    left += segment.gib / end;
    const width = segment.gib / end;
    const need = textWidth(segment.label);
    const room = width * 330 >= need ? "phone" : width * 780 >= need ? "desk" : "";
    return html`<svg x="${at(from)}" y="${y}" width="${at(width)}" height="${height}" class="aj-segment aj-${segment.tone}">
      <rect width="100%" height="100%"/>
      ${labels && room && html`<text class="aj-in-${room}" x="8" y="${height / 2}" dominant-baseline="central">${segment.label}</text>`}
    </svg>`;
  });
}

/**
 * Memory at the peak: terms in place, the range as a whisker, the usable memory as a line.
 * @param {View} view
 * @param {object} bar
 * @param {Segment[]} bar.segments
 * @param {Band} bar.need
 * @param {{label: string, gib: number} | null} bar.usable
 * @param {string} bar.description
 */
export function memoryBar(view, { segments, need, usable, description }) {
  const { end, ticks } = axis(Math.max(need.high, usable?.gib ?? 0));
  const line = usable && usable.gib / end;
  return html`<svg class="aj-chart aj-bar" width="100%" height="86" role="img" aria-label="${description}">
    ${line && html`<text class="aj-usable" x="${at(line)}" y="12" text-anchor="${line > 0.5 ? "end" : "start"}">${usable.label}</text>`}
    ${stack(segments, end, { y: 20, height: 30, labels: true })}
    ${line && html`<line class="aj-usable" x1="${at(line)}" x2="${at(line)}" y1="17" y2="66"/>`}
    ${whisker(need, end, 58)}
    <line class="aj-axis" x1="0" x2="100%" y1="66.5" y2="66.5"/>
    ${ticks.map(
      (tick, i) => html`<text class="aj-tick" x="${at(tick / end)}" y="81" text-anchor="${i ? "middle" : "start"}">${
        i === ticks.length - 1 && tick / end < 0.93 ? `${view.format.plain(tick)} GiB` : view.format.plain(tick)
      }</text>`,
    )}
  </svg>`;
}

/**
 * @param {Band} band
 * @param {number} end
 * @param {number} y
 */
function whisker(band, end, y) {
  return html`<g class="aj-whisker">
    <line x1="${at(band.low / end)}" x2="${at(band.high / end)}" y1="${y}" y2="${y}"/>
    <line x1="${at(band.low / end)}" x2="${at(band.low / end)}" y1="${y - 4}" y2="${y + 4}"/>
    <line x1="${at(band.high / end)}" x2="${at(band.high / end)}" y1="${y - 4}" y2="${y + 4}"/>
    <circle cx="${at(band.mid / end)}" cy="${y}" r="3.5"/>
  </g>`;
}

/**
 * A small stacked bar for a table's cell.
 * @param {Segment[]} segments
 * @param {number} end
 */
export function cellStack(segments, end) {
  return html`<svg class="aj-cell" width="100%" height="14" aria-hidden="true">${stack(segments, end, { y: 0, height: 14 })}</svg>`;
}

/**
 * A small need range over usable memory, for a table's cell.
 * @param {Band} need
 * @param {number} usable
 * @param {string} verdict
 */
export function cellRange(need, usable, verdict) {
  const end = Math.max(need.high, usable) * 1.02;
  return html`<svg class="aj-cell" width="100%" height="14" aria-hidden="true">
    <rect class="aj-room" y="3" width="${at(usable / end)}" height="8" rx="2"/>
    <rect class="aj-need aj-${verdict}" x="${at(need.low / end)}" y="3" width="${at(Math.max(need.high - need.low, end * 0.008) / end)}" height="8" rx="2"/>
  </svg>`;
}

/**
 * @typedef {object} Point
 * @property {number} hours
 * @property {number} usd
 * @property {boolean} spot a diamond
 * @property {boolean} old an old price: hollow
 * @property {string} title
 * @property {string | null} label
 */

/**
 * 1, 2, 5, 10, 20 … that lie within two values.
 * @param {number} low
 * @param {number} high
 */
function decades(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const step of [1, 2, 5]) ticks.push(step * 10 ** power);
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

/**
 * Offers by hours and dollars, both logarithmic; the line joins those that nothing beats in both.
 * @param {View} view
 * @param {Point[]} points
 * @param {Point[]} best from the cheapest to the quickest
 * @param {{description: string, hours: string, usd: string}} words
 */
export function offerChart(view, points, best, words) {
  const { format } = view;
  const span = (/** @type {number[]} */ values) => [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
  const [left, right] = span(points.map((p) => p.hours));
  const [bottom, top] = span(points.map((p) => p.usd));
  const x = (/** @type {number} */ hours) => at(Math.log(hours / left) / Math.log(right / left));
  const y = (/** @type {number} */ usd) => at(1 - Math.log(usd / bottom) / Math.log(top / bottom));
  return html`<svg class="aj-chart aj-plot" width="100%" height="300" role="img" aria-label="${words.description}">
    <text class="aj-tick" x="0" y="12">${words.usd}</text>
    <text class="aj-tick" x="100%" y="296" text-anchor="end">${words.hours}</text>
    <svg x="8%" y="20" width="90%" height="240" overflow="visible">
      ${decades(bottom, top).map((tick) => html`<line class="aj-grid-line" x1="0" x2="100%" y1="${y(tick)}" y2="${y(tick)}"/>
        <text class="aj-tick" x="-8" y="${y(tick)}" text-anchor="end" dominant-baseline="central">${format.figures(tick, 1)}</text>`)}
      ${decades(left, right).map((tick) => html`<line class="aj-grid-line" x1="${x(tick)}" x2="${x(tick)}" y1="0" y2="100%"/>
        <text class="aj-tick" x="${x(tick)}" y="256" text-anchor="middle">${format.figures(tick, 1)}</text>`)}
      ${best.slice(1).map((p, i) => html`<line class="aj-front" x1="${x(best[i].hours)}" y1="${y(best[i].usd)}" x2="${x(p.hours)}" y2="${y(p.usd)}"/>`)}
      ${points.map((p) => {
        const kind = p.old ? "aj-point aj-hollow" : "aj-point";
        return p.spot
          ? html`<svg x="${x(p.hours)}" y="${y(p.usd)}" overflow="visible"><path class="${kind}" d="M0-6 6 0 0 6-6 0z"><title>${p.title}</title></path></svg>`
          : html`<circle class="${kind}" cx="${x(p.hours)}" cy="${y(p.usd)}" r="4.5"><title>${p.title}</title></circle>`;
      })}
      ${labelsOf(points, (p) => Math.log(p.hours / left) / Math.log(right / left), (p) => Math.log(p.usd / bottom) / Math.log(top / bottom)).map(
        ({ p, end, below }) => html`<text class="aj-label" x="${x(p.hours)}" y="${y(p.usd)}" dx="${end ? -9 : 9}" dy="${below ? 17 : -8}" text-anchor="${end ? "end" : "start"}">${p.label}</text>`,
      )}
    </svg>
  </svg>`;
}

const PLOT = { width: 320, height: 240 }; // of the offers' chart on a phone: labels that keep apart there do so everywhere

/**
 * Where labels go: above the point and to the side with room; below, or to the other side, where it would cover another
 * label or another label's point.
 * @param {Point[]} points
 * @param {(p: Point) => number} x
 * @param {(p: Point) => number} y
 */
function labelsOf(points, x, y) {
  const labelled = points.filter((one) => one.label);
  /** @type {{p: Point, end: boolean, below: boolean, left: number, right: number, middle: number}[]} */
  const placed = [];
  for (const p of labelled) {
    const width = textWidth(p.label ?? "") / PLOT.width;
    const roomy = x(p) > 0.6;
    const places = [false, true].flatMap((below) => [roomy, !roomy].map((end) => ({ end, below })));
    const boxes = places.map(({ end, below }) => {
      const left = x(p) - (end ? width : 0);
      return { p, end, below, left, right: left + width, middle: y(p) + (below ? -12 : 13) / PLOT.height };
    });
    const free = boxes.find(({ left, right, middle }) => {
      const near = (/** @type {number} */ other, /** @type {number} */ pixels) => Math.abs(middle - other) < pixels / PLOT.height;
      const covers = labelled.some((other) => other !== p && x(other) > left && x(other) < right && near(y(other), 12));
      return left > -0.1 && right < 1.1 && !covers && !placed.some((other) => left < other.right && other.left < right && near(other.middle, 16));
    });
    placed.push(free ?? boxes[2]);
  }
  return placed;
}

/**
 * Expected bill on spot by the minutes between saves (logarithmic), against on-demand as a level line.
 * @param {View} view
 * @param {{minutes: number, usd: number}[]} points from few saves to many
 * @param {number | null} flat bill on demand
 * @param {{description: string, minutes: string, usd: string, flat: string}} words
 */
export function spotChart(view, points, flat, words) {
  const { format } = view;
  const [left, right] = [Math.min(...points.map((p) => p.minutes)) / 1.2, Math.max(...points.map((p) => p.minutes)) * 1.2];
  const { end, ticks } = axis(Math.max(flat ?? 0, ...points.map((p) => p.usd)));
  const x = (/** @type {number} */ minutes) => at(Math.log(minutes / left) / Math.log(right / left));
  const y = (/** @type {number} */ usd) => at(1 - usd / end);
  return html`<svg class="aj-chart aj-plot" width="100%" height="220" role="img" aria-label="${words.description}">
    <text class="aj-tick" x="0" y="12">${words.usd}</text>
    <text class="aj-tick" x="100%" y="216" text-anchor="end">${words.minutes}</text>
    <svg x="10%" y="20" width="88%" height="160" overflow="visible">
      ${ticks.map((tick) => html`<line class="aj-grid-line" x1="0" x2="100%" y1="${y(tick)}" y2="${y(tick)}"/>
        <text class="aj-tick" x="-8" y="${y(tick)}" text-anchor="end" dominant-baseline="central">${format.figures(tick, 2)}</text>`)}
      ${decades(left, right).map((tick) => html`<text class="aj-tick" x="${x(tick)}" y="176" text-anchor="middle">${format.figures(tick, 1)}</text>`)}
      ${flat !== null && html`<line class="aj-level" x1="0" x2="100%" y1="${y(flat)}" y2="${y(flat)}"/>
        <text class="aj-label" x="100%" y="${y(flat)}" dy="-6" text-anchor="end">${words.flat} ${format.usd(flat)}</text>`}
      ${points.slice(1).map((p, i) => html`<line class="aj-front" x1="${x(points[i].minutes)}" y1="${y(points[i].usd)}" x2="${x(p.minutes)}" y2="${y(p.usd)}"/>`)}
      ${points.map((p) => html`<circle class="aj-point" cx="${x(p.minutes)}" cy="${y(p.usd)}" r="4"/>`)}
    </svg>
  </svg>`;
}
