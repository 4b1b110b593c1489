// answer → HTML. No DOM: node runs it when the site is built, the page when the answer changes. In the order of reading:
// verdict, three numbers, memory bar, picks, what to change, where to rent, what was left out; the rest is folded.

import { memoryBar } from "./charts.js";
import { flatten } from "./fields.js";
import { advice, bill, formulas, gpuTable, moments, notes, notesOf, notesTitle, spot, time } from "./folds.js";
import { html } from "./html.js";
import { hoursOf, memoryOf, missing, read, summarize } from "./judge.js";
import { changeWords, levers } from "./levers.js";
import { excluded, offers, picks } from "./offers.js";
import { figure, fit, fold, ICONS, segmentsOf } from "./parts.js";
import { renderTakeaway } from "./takeaway.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./text.js").View} View */
/** @typedef {import("./fields.js").Flat} Flat */
/** @typedef {import("./judge.js").Answer} Answer */
/** @typedef {import("./judge.js").Reading} Reading */

/** Questions whose fields are printed. */
const ON_PAPER = new Set(["mode", "model", "method", "framework"]);

/**
 * The whole answer.
 * @param {Answer} answer
 * @param {View} view
 * @param {object} [options]
 * @param {"built" | "live"} [options.state]
 * @param {Flat[]} [options.undo] changes that a lever made
 * @param {import("./takeaway.js").Taken | null} [options.taken] files of the run that were asked for
 * @param {(id: string) => boolean} [options.open] whether a fold is open: a closed one is not worth printing on each key
 * @param {(content: () => Html) => Html | null} [options.closed] what stands in a fold that is not open
 * @returns {Html}
 */
export function renderAnswer(answer, view, { state = "live", undo = [], taken = null, open = () => true, closed = () => null } = {}) {
  /** @type {import("./parts.js").Inside} */
  const inside = (id, content) => (open(id) ? content() : closed(content));
  const reading = read(answer, view);
  /** @type {[string, string | Html, boolean, () => Html][]} */
  const folds = [
    ["moments", view.say("fold.moments"), true, () => moments(answer, reading, view)],
    ["gpus", view.say("fold.gpus"), answer.gpus.length > 0, () => gpuTable(answer, view)],
    ["bill", view.say("fold.bill"), reading.lead !== null, () => bill(reading.lead, view)],
    ["spot", view.say("fold.spot"), (answer.spot_curve ?? []).length > 2, () => spot(answer, view)],
    ["time", view.say("fold.time"), answer.time !== null && hoursOf(answer, reading) !== null, () => time(answer.time, view)],
    ["notes", notesTitle(answer, view), notesOf(answer, view).length > 0, () => notes(answer, view)],
    ["formulas", view.say("fold.formulas"), true, () => formulas(answer, view)],
  ];
  return html`${verdict(answer, view, reading)}
    ${numbers(answer, view, reading)}
    ${memory(answer, view, reading)}
    ${origins(reading, view)}
    ${picks(answer, view)}
    ${levers(answer, view, reading, undo)}
    ${grid(answer, view)}
    ${offers(answer, view, inside)}
    ${excluded(answer, view)}
    <div class="aj-folds">${folds.map(([id, title, exists, content]) => exists && fold(id, title, inside(`fold-${id}`, content)))}</div>
    ${closing(answer, view, state, taken, inside)}`;
}

/**
 * Verdict, three numbers and bar: what other pages show of an answer.
 * @param {Answer} answer
 * @param {View} view
 */
export function renderSummary(answer, view) {
  const reading = read(answer, view);
  return html`${verdict(answer, view, reading, dataWords(flatten(answer.plan), view))}
    ${numbers(answer, view, reading)} ${memory(answer, view, reading)}`;
}

/**
 * The data of a question in one line.
 * @param {Flat} plan
 * @param {View} view
 */
export function dataWords(plan, view) {
  const number = (/** @type {string} */ name) => view.format.plain(Number(plan[name]));
  return view.say("data.summary", {
    examples: number("dataset.examples"),
    epochs: number("dataset.epochs"),
    longest: number("sequence_length"),
    mean: number("dataset.mean_tokens"),
  });
}

/**
 * The answer in one line, for the strip at a phone's lower edge.
 * @param {Answer} answer
 * @param {View} view
 */
export function renderStrip(answer, view) {
  const { verdict: kind, sentence, memory: gib, time: hours, bill: usd } = summarize(answer, view);
  return html`<b>${ICONS[kind]}${sentence}</b> <span>${gib}</span> <span>${hours}</span> <span>${usd}</span>`;
}

/** @param {Answer} answer @param {View} view @param {Reading} reading @param {string} [data] */
export function verdict(answer, view, reading, data) {
  const { plan } = answer;
  const words = [reading.where, view.model(plan.model), view.value("method", plan.method), view.value("framework", plan.framework), data];
  const job = words.filter(Boolean).join(" · ");
  const serious = answer.advice.filter((/** @type {any} */ a) => a.severity === "serious" && view.knows(`advice.${a.id}`));
  const room = reading.row && plan.gpu && reading.row.max_micro_batch > 0 && reading.row.max_sequence_length > 0;
  return html`<section class="aj-verdict aj-${reading.verdict}" id="verdict">
    ${ICONS[reading.verdict]}
    <div>
      <h2>${reading.sentence}</h2>
      <p>${job}${
        room &&
        html`. ${view.say("verdict.room", {
          batch: view.format.number(reading.row.max_micro_batch),
          length: view.format.number(reading.row.max_sequence_length),
        })}`
      }</p>
      <p class="aj-paper">${asked(answer, view)}</p>
      ${serious.map((/** @type {any} */ a) => html`<p class="aj-serious">${advice(view, a)}</p>`)}
    </div>
  </section>`;
}

/** What was asked besides, on paper, where the form's fold is not. @param {Answer} answer @param {View} view */
function asked({ plan: { defaults, ...plan } }, view) {
  const flat = flatten(plan);
  const own = Object.keys(flat).filter(
    (name) => !ON_PAPER.has(name) && !(name in defaults) && !(name.split(".")[0] in defaults) && view.knows(`field.${name}`) && flat[name] !== null,
  );
  return own.length > 0 && changeWords(Object.fromEntries(own.map((name) => [name, flat[name]])), view);
}

/** @param {Answer} answer @param {View} view @param {Reading} reading */
function numbers(answer, view, reading) {
  const { lead, need, beyond } = reading;
  const { format } = view;
  const hours = hoursOf(answer, reading);
  const offer = lead ?? beyond;
  const card = offer ? view.cards(offer.gpus, offer.gpu) : answer.plan.gpu && view.gpu(answer.plan.gpu);
  const none = missing(reading, view);
  const outside = beyond && view.say("number.beyond");
  return html`<dl class="aj-numbers">
    <div><dt>${view.say("number.memory")}</dt>
      <dd class="aj-figure">${figure(format.gib(need.mid))}</dd><dd>${format.gibRange(need)}</dd>
      <dd class="aj-note">${view.say("number.memoryNote", { batch: answer.plan.micro_batch ?? 1 })}</dd></div>
    <div><dt>${view.say("number.time")}</dt>
      <dd class="aj-figure">${hours ? figure(format.duration(hours.mid)) : beyond ? figure(format.duration(beyond.hours)) : none}</dd><dd>${hours && format.durationRange(hours)}</dd>
      <dd class="aj-note">${hours || beyond ? card && view.say("number.timeNote", { gpu: card }) : reading.verdict === "no" && view.say("number.noFit")}</dd></div>
    <div><dt>${view.say("number.bill")}</dt>
      <dd class="aj-figure">${lead ? figure(format.usd(lead.usd.mid)) : beyond ? figure(format.usd(beyond.usd)) : none}</dd><dd>${lead && format.usdRange(lead.usd)}</dd>
      <dd class="aj-note">${offer && view.say(answer.rents === false ? "number.ifRented" : "number.billNote", { provider: view.provider(offer.provider) })}${outside && html`; ${outside}`}</dd></div>
  </dl>`;
}

/**
 * Which offer time and bill are for, and how often such ranges were right.
 * @param {Reading} reading
 * @param {View} view
 */
function origins({ lead }, view) {
  const { memory: gib, time } = view.names.coverage;
  const ten = (/** @type {number} */ share) => view.format.number(Math.floor(share * 10));
  const offer = lead && `${view.cards(lead.gpus, lead.gpu)}, ${view.provider(lead.provider)}`;
  return html`<p class="aj-note aj-origins">${offer && view.say("number.lead", { offer, gib: view.format.gib(lead.required_gib.mid), batch: lead.micro_batch })}
    <a href="${view.base}methodology/accuracy/">${view.say("number.coverage", { memory: ten(gib.share), memoryRuns: gib.runs, time: ten(time.share), timeRuns: time.runs, unstated: view.format.percent(gib.unstated_share), unstatedRuns: gib.unstated_runs })}</a></p>`;
}

/** @param {Answer} answer @param {View} view @param {Reading} reading */
export function memory(answer, view, reading) {
  const { need, peak, usable } = reading;
  const { format } = view;
  const moment = memoryOf(answer).moments.find((/** @type {any} */ m) => m.id === peak);
  const segments = segmentsOf(view, moment.terms, need.mid);
  const allocated = segments.reduce((sum, segment) => sum + segment.gib, 0);
  const above = need.mid - allocated; // below 0 only where a measured run took less than its tensors as computed
  const label = above < 0 ? view.name("part", "measured_difference") : view.say("memory.overhead");
  if (above) segments.push({ id: "overhead", gib: above, label, tone: "overhead" });
  const list = segments.map((s) => view.say("memory.term", { term: s.label, gib: format.gib(s.gib) })).join(", ");
  const description = view.say("memory.chart", {
    need: format.gib(need.mid), low: format.gib(need.low), high: format.gib(need.high), terms: list,
  });
  const { host_ram_gib: ram, disk_gb: disk, paged_gib: paged } = memoryOf(answer);
  return html`<section class="aj-memory" id="memory">
    <h3>${view.say("memory.title", { moment: view.name("moment", peak) })}</h3>
    ${memoryBar(view, { segments, need, usable, description })}
    <ul class="aj-legend" aria-hidden="true">${segments.map(
      (s) => html`<li><i class="aj-${s.tone}"></i>${s.label} <b>${format.amount(s.gib)}</b></li>`,
    )}</ul>
    <p class="aj-host">${ram && view.say("memory.host", { ram: format.gib(ram.mid), disk: format.gb(disk.mid) })}
      ${paged > 0 && view.say("memory.paged", { paged: format.gib(paged) })}</p>
  </section>`;
}

/** The models × methods grid of the modes that start from a card or from money. @param {Answer} answer @param {View} view */
function grid(answer, view) {
  if (!answer.grid?.length) return null;
  /** @type {Map<string, Map<string, any>>} */
  const models = new Map();
  for (const cell of answer.grid) models.set(cell.model, (models.get(cell.model) ?? new Map()).set(cell.method, cell));
  const methods = [...new Set(answer.grid.map((/** @type {any} */ cell) => cell.method))];
  const budget = answer.plan.mode === "have-budget";
  const beyond = view.say(budget ? "grid.over" : "offer.no"); // with money given, "no" is: no offer for it in time
  return html`<section class="aj-grid" id="grid">
    <h3>${view.say(budget ? "grid.budget" : "grid.title")}</h3>
    ${largest(answer.grid, methods.map(String), view)}
    <div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("grid.title")}"><table>
      <thead><tr><th scope="col">${view.say("field.model")}</th>${methods.map((m) => html`<th scope="col">${view.value("method", m)}</th>`)}</tr></thead>
      <tbody>${[...models].map(
        ([model, cells]) => html`<tr><th scope="row">${view.model(model)}</th>${methods.map((m) => {
          const cell = cells.get(String(m));
          return html`<td>${cell && html`${fit(cell, view, beyond)} ${cell.verdict !== "no" && html`<small>${
            cell.usd ? view.format.usd(cell.usd.mid) : cell.max_sequence_length && view.say("grid.room", { batch: cell.max_micro_batch, length: view.format.number(cell.max_sequence_length) })
          }</small>`}`}</td>`;
        })}</tr>`,
      )}</tbody></table></div>
  </section>`;
}

/** The largest model that fits, for each method. @param {any[]} cells @param {string[]} methods @param {View} view */
export function largest(cells, methods, view) {
  const size = (/** @type {any} */ cell) => view.names.models[cell.model]?.parameters ?? 0;
  const list = methods.flatMap((method) => {
    const fitting = cells.filter((cell) => cell.method === method && cell.verdict === "fits");
    if (!fitting.length) return [];
    const best = fitting.reduce((a, b) => (size(b) > size(a) ? b : a));
    return [view.say("grid.largestOf", { method: view.value("method", method), model: view.model(best.model) })];
  });
  return list.length > 0 && html`<p>${view.say("grid.largest", { list: list.join(" · ") })}</p>`;
}

/**
 * @param {Answer} answer
 * @param {View} view
 * @param {"built" | "live"} state
 * @param {import("./takeaway.js").Taken | null} taken
 * @param {import("./parts.js").Inside} inside
 */
function closing(answer, view, state, taken, inside) {
  const date = view.format.date(answer.versions.data);
  return html`<footer class="aj-closing">
    <p class="aj-share">${["pin", "link", "summary", "json", "csv", "print"].map(
      (what) => html`<button type="button" data-share="${what}">${view.say(`share.${what}`)}</button> `,
    )}</p>
    <p class="aj-note">${view.say(`state.${state}`, { date })} · ${view.say("state.version", { version: answer.versions.estimator })}
      ${state === "live" && view.say("state.private")}</p>
    ${fold("takeaway", view.say("takeaway.title"), inside("fold-takeaway", () => renderTakeaway(taken, view)))}
    ${fold("measure", view.say("measure.title"), inside("fold-measure", () => measure(answer, view)))}
  </footer>`;
}

/** One run of the reader's own narrows the ranges. @param {Answer} answer @param {View} view */
function measure(answer, view) {
  const { calibration, gpu } = answer.plan;
  const value = (/** @type {number | null} */ number) => (number === null ? "" : view.format.plain(number));
  const chosen = calibration.request?.gpu ?? gpu ?? answer.time?.gpu;
  return html`<p>${view.say("measure.how")}</p>
    <div class="aj-measure">
      <div class="aj-field"><label for="aj-measured-gib">${view.say("measure.gib")}</label>
        <div class="aj-input"><input type="text" inputmode="decimal" id="aj-measured-gib" value="${value(calibration.measured_gib)}"><span class="aj-unit" aria-hidden="true">GiB</span></div></div>
      <div class="aj-field"><label for="aj-measured-rate">${view.say("measure.rate")}</label>
        <div class="aj-input"><input type="text" inputmode="decimal" id="aj-measured-rate" value="${value(calibration.measured_tokens_per_second)}"></div></div>
      <div class="aj-field"><label for="aj-measured-gpu">${view.say("measure.gpu")}</label>
        <div class="aj-input"><select id="aj-measured-gpu">${view.gpus().map(([id, name]) => html`<option value="${id}" ${id === chosen && html`selected`}>${name}</option>`)}</select></div></div>
    </div>
    <p class="aj-share"><button type="button" data-measure="narrow">${view.say("measure.narrow")}</button>
      <button type="button" data-measure="send">${view.say("measure.send")}</button></p>`;
}
