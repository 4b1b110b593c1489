// answer → HTML. No DOM: node runs it when the site is built, the page when the answer changes. In the order of reading:
// verdict, three numbers, memory bar, picks, what to change, where to rent, what was left out; the rest is folded.

import { cellRange, cellStack, memoryBar, offerChart, tone } from "./charts.js";
import { flatten } from "./fields.js";
import { html } from "./html.js";
import { renderTakeaway } from "./takeaway.js";

/** @typedef {import("./html.js").Html} Html */
/** @typedef {import("./text.js").View} View */
/** @typedef {any} Answer the estimator's answer, as contract.md gives it */
/** @typedef {any} Offer */
/** @typedef {any} GpuRow */
/** @typedef {{low: number, mid: number, high: number}} Band */
/** @typedef {import("./fields.js").Flat} Flat */

/** What an answer says in short. Verdict, numbers and chart all speak of this. */
/**
 * @typedef {object} Reading
 * @property {"fits" | "several" | "tight" | "no"} verdict several: not on one GPU, but on more
 * @property {string} sentence
 * @property {Band} need GiB, of the whole run, per GPU
 * @property {string} peak moment of the whole run
 * @property {{label: string, gib: number} | null} usable
 * @property {GpuRow | null} row the GPU that the verdict speaks of, when it is one
 * @property {Offer | null} lead the offer that time and bill speak of
 */

/** @typedef {Pick<Reading, "verdict" | "sentence" | "usable" | "row">} Judgement */

const SHOWN_OFFERS = 10;
const SHOWN_LEVERS = 6;
/** The change that leaves no offer out of the list, nor out of the file that is downloaded. */
const ALL_OFFERS = JSON.stringify({ "filters.limit": 10_000 });

/**
 * @param {Answer} answer
 * @param {View} view
 * @returns {Reading}
 */
export function read(answer, view) {
  const { memory, plan, offers, picks } = answer;
  const lead = offers[picks.cheapest] ?? offers[0] ?? null;
  const judgement = plan.gpu ? judgeCard(answer, view) : judgeMarket(answer, view, lead);
  const { required_gib: need, peak_moment: peak } = memory.whole_run;
  // Where the card asked for is too small, an offer of several of them is among the picks but answers another question.
  return { need, peak, lead: judgement.verdict === "no" ? null : lead, ...judgement };
}

/**
 * The verdict on the card that was asked for.
 * @param {Answer} answer
 * @param {View} view
 * @returns {Judgement}
 */
function judgeCard(answer, view) {
  const { gpus, memory, plan } = answer;
  const rows = gpus.filter((/** @type {GpuRow} */ row) => row.id === plan.gpu);
  const asked = plan.parallel.gpus_per_node * plan.parallel.nodes;
  /** @type {GpuRow} */
  const row = rows.find((/** @type {GpuRow} */ r) => r.count === asked) ?? rows[0];
  const card = view.cards(row?.count ?? 1, plan.gpu);
  if (!row || row.usable_gib === null) {
    return { verdict: "tight", sentence: view.say("verdict.unknown", { card }), usable: null, row: row ?? null };
  }
  const usable = usableLine(view, card, row.usable_gib);
  if (row.verdict !== "no") {
    const sentence =
      row.verdict === "fits"
        ? view.say("verdict.fitsIn", { card, room: view.format.gib(row.usable_gib - memory.whole_run.required_gib.mid) })
        : view.say("verdict.tight", { card });
    return { verdict: row.verdict, sentence, usable, row };
  }
  const trains = memory.required_gib.high <= row.usable_gib;
  const sentence = trains
    ? view.say(memory.whole_run.peak_moment === "save" ? "verdict.wholeRunSave" : "verdict.wholeRun")
    : view.say("verdict.no", { card, short: view.format.gib(-row.headroom_gib) });
  return { verdict: "no", sentence, usable, row };
}

/**
 * The verdict where any card would do: the smallest memory that is enough on every card sold with it.
 * @param {Answer} answer
 * @param {View} view
 * @param {Offer | null} lead
 * @returns {Judgement}
 */
function judgeMarket(answer, view, lead) {
  const { gpus, plan } = answer;
  const asked = plan.parallel.gpus_per_node * plan.parallel.nodes;
  /** @type {Map<number, GpuRow[]>} */
  const sizes = new Map();
  for (const row of gpus) {
    const gb = view.names.gpus[row.id]?.gb;
    if (row.count === asked && row.usable_gib !== null && gb) sizes.set(gb, [...(sizes.get(gb) ?? []), row]);
  }
  const tiers = [...sizes].sort(([a], [b]) => a - b);
  const enough = tiers.find(([, rows]) => rows.every((row) => row.verdict === "fits"));
  const some = tiers.find(([, rows]) => rows.some((row) => row.verdict === "fits"));
  const maybe = tiers.find(([, rows]) => rows.some((row) => row.verdict === "tight"));
  const size = (/** @type {number} */ gb) => (asked === 1 ? view.format.gb(gb) : view.say("cards", { count: asked, gpu: view.format.gb(gb) }));
  const least = (/** @type {GpuRow[]} */ rows) => Math.min(...rows.map((row) => row.usable_gib));
  if (enough) {
    const [gb, rows] = enough;
    const sentence = view.say("verdict.fits", { card: size(gb) });
    return { verdict: "fits", sentence, usable: usableLine(view, view.format.gb(gb), least(rows)), row: null };
  }
  for (const [tier, verdict] of /** @type {const} */ ([[some, "fits"], [maybe, "tight"]])) {
    if (!tier) continue;
    const row = tier[1].find((r) => r.verdict === verdict);
    const card = view.cards(row.count, row.id);
    const room = view.format.gib(row.usable_gib - answer.memory.whole_run.required_gib.mid);
    const sentence = verdict === "fits" ? view.say("verdict.fitsIn", { card, room }) : view.say("verdict.tight", { card });
    return { verdict, sentence, usable: usableLine(view, card, row.usable_gib), row };
  }
  const [, largest] = tiers.at(-1) ?? [0, []];
  const roomiest = largest.reduce((best, row) => (!best || row.usable_gib > best.usable_gib ? row : best), /** @type {GpuRow} */ (null));
  const usable = roomiest && usableLine(view, view.gpu(roomiest.id), roomiest.usable_gib);
  const several = lead && lead.gpus > 1 ? lead : gpus.filter((/** @type {GpuRow} */ row) => row.verdict !== "no").sort((/** @type {GpuRow} */ a, /** @type {GpuRow} */ b) => a.count - b.count)[0];
  if (several) {
    const cards = view.cards(several.gpus ?? several.count, several.gpu ?? several.id);
    const fits = several.verdict === "fits";
    const sentence = view.say(fits ? "verdict.several" : "verdict.severalTight", { cards });
    return { verdict: fits ? "several" : "tight", sentence, usable, row: null };
  }
  const short = roomiest ? view.format.gib(-roomiest.headroom_gib) : "";
  const card = roomiest ? view.cards(roomiest.count, roomiest.id) : "";
  return { verdict: "no", sentence: view.say("verdict.nothing", { card, short }), usable, row: roomiest };
}

/**
 * @param {View} view
 * @param {string} card
 * @param {number} gib
 */
function usableLine(view, card, gib) {
  return { gib, label: view.say("memory.usable", { card, usable: view.format.gib(gib) }) };
}

/**
 * The hours of the leading offer, else of the card; none where the job does not fit.
 * @param {Answer} answer
 * @param {Reading} reading
 * @returns {Band | null}
 */
function hoursOf(answer, reading) {
  if (reading.lead) return reading.lead.hours;
  return reading.verdict === "no" ? null : (answer.time?.hours ?? null);
}

/** What stands where a time or a bill is missing. @param {Reading} reading @param {View} view */
const missing = (reading, view) => (reading.verdict === "no" ? "—" : view.say("number.none"));

/**
 * The three middle values in words, for the bottom bar, the spoken sentence and the shared link.
 * @param {Answer} answer
 * @param {View} view
 */
export function summarize(answer, view) {
  const reading = read(answer, view);
  const hours = hoursOf(answer, reading);
  return {
    verdict: reading.verdict,
    sentence: reading.sentence,
    memory: view.format.gib(reading.need.mid),
    time: hours ? view.format.duration(hours.mid) : missing(reading, view),
    bill: reading.lead ? view.format.usd(reading.lead.usd.mid) : missing(reading, view),
    middles: [reading.need.mid, hours?.mid ?? null, reading.lead?.usd.mid ?? null],
  };
}

/**
 * The whole answer.
 * @param {Answer} answer
 * @param {View} view
 * @param {object} [options]
 * @param {"built" | "live"} [options.state]
 * @param {Flat[]} [options.undo] changes that a lever made
 * @param {import("./takeaway.js").Taken | null} [options.taken] files of the run that were asked for
 * @param {(id: string) => boolean} [options.open] whether a fold is open: a closed one is not worth printing on each key
 * @returns {Html}
 */
export function renderAnswer(answer, view, { state = "live", undo = [], taken = null, open = () => true } = {}) {
  const reading = read(answer, view);
  /** @type {[string, string | Html, boolean, () => Html][]} */
  const folds = [
    ["moments", view.say("fold.moments"), true, () => moments(answer, view)],
    ["gpus", view.say("fold.gpus"), answer.gpus.length > 0, () => gpuTable(answer, view)],
    ["bill", view.say("fold.bill"), reading.lead !== null, () => bill(reading.lead, view)],
    ["time", view.say("fold.time"), answer.time !== null && hoursOf(answer, reading) !== null, () => time(answer.time, view)],
    ["notes", notesTitle(answer, view), notesOf(answer, view).length > 0, () => notes(answer, view)],
    ["formulas", view.say("fold.formulas"), true, () => formulas(answer, view)],
  ];
  return html`${verdict(answer, view, reading)}
    ${numbers(answer, view, reading)}
    ${memory(answer, view, reading)}
    ${picks(answer, view)}
    ${levers(answer, view, reading, undo)}
    ${grid(answer, view)}
    ${offers(answer, view, open)}
    ${excluded(answer, view)}
    <div class="aj-folds">${folds.map(([id, title, exists, content]) => exists && fold(id, title, open(`fold-${id}`) && content()))}</div>
    ${closing(answer, view, state, taken)}`;
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

const ICONS = {
  fits: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10"/><path d="m7.5 12.5 3 3 6-6.5"/></svg>`,
  several: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M8 8h13v13H8z"/><path d="M4 16H3V3h13v1"/></svg>`,
  tight: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2.5 22.5 21h-21z"/><path d="M12 9.5v5.5m0 2.5v.1"/></svg>`,
  no: html`<svg class="aj-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M8 2h8l6 6v8l-6 6H8l-6-6V8z"/><path d="m8.5 8.5 7 7m0-7-7 7"/></svg>`,
};

/** @param {Answer} answer @param {View} view @param {Reading} reading @param {string} [data] */
function verdict(answer, view, reading, data) {
  const { plan } = answer;
  const words = [view.model(plan.model), view.value("method", plan.method), view.value("framework", plan.framework), data];
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
      ${serious.map((/** @type {any} */ a) => html`<p class="aj-serious">${advice(view, a)}</p>`)}
    </div>
  </section>`;
}

/**
 * "9,0 GiB" with its unit in small print.
 * @param {string} text
 */
function figure(text) {
  return text.split("\u00a0").map((part, i) => html`${i > 0 && "\u00a0"}${/\d/.test(part) ? part : html`<small>${part}</small>`}`);
}

/** @param {Answer} answer @param {View} view @param {Reading} reading */
function numbers(answer, view, reading) {
  const { lead, need } = reading;
  const { format } = view;
  const hours = hoursOf(answer, reading);
  const card = lead ? view.cards(lead.gpus, lead.gpu) : answer.plan.gpu && view.gpu(answer.plan.gpu);
  const none = missing(reading, view);
  return html`<dl class="aj-numbers">
    <div><dt>${view.say("number.memory")}</dt>
      <dd class="aj-figure">${figure(format.gib(need.mid))}</dd><dd>${format.gibRange(need)}</dd>
      <dd class="aj-note">${view.say("number.memoryNote", { batch: answer.plan.micro_batch ?? 1 })}</dd></div>
    <div><dt>${view.say("number.time")}</dt>
      <dd class="aj-figure">${hours ? figure(format.duration(hours.mid)) : none}</dd><dd>${hours && format.durationRange(hours)}</dd>
      <dd class="aj-note">${hours ? card && view.say("number.timeNote", { gpu: card }) : reading.verdict === "no" && view.say("number.noFit")}</dd></div>
    <div><dt>${view.say("number.bill")}</dt>
      <dd class="aj-figure">${lead ? figure(format.usd(lead.usd.mid)) : none}</dd><dd>${lead && format.usdRange(lead.usd)}</dd>
      <dd class="aj-note">${lead && view.say("number.billNote", { provider: view.provider(lead.provider) })}</dd></div>
  </dl>`;
}

/**
 * The terms of a moment, largest first; what is too small to see goes together.
 * @param {View} view
 * @param {Record<string, number>} terms
 * @param {number} whole
 */
function segmentsOf(view, terms, whole) {
  const sorted = Object.entries(terms)
    .filter(([, gib]) => gib > 0)
    .sort(([, a], [, b]) => b - a);
  const seen = sorted.filter(([, gib]) => gib >= whole * 0.015);
  const rest = sorted.slice(seen.length).reduce((sum, [, gib]) => sum + gib, 0);
  const segments = seen.map(([id, gib]) => ({ id, gib, label: view.name("term", id), tone: tone(id) }));
  return rest > 0 ? [...segments, { id: "others", gib: rest, label: view.say("memory.others"), tone: "other" }] : segments;
}

/** @param {Answer} answer @param {View} view @param {Reading} reading */
export function memory(answer, view, reading) {
  const { need, peak, usable } = reading;
  const { format } = view;
  const moment = answer.memory.moments.find((/** @type {any} */ m) => m.id === peak);
  const segments = segmentsOf(view, moment.terms, need.mid);
  const allocated = segments.reduce((sum, segment) => sum + segment.gib, 0);
  if (need.mid > allocated) {
    segments.push({ id: "overhead", gib: need.mid - allocated, label: view.say("memory.overhead"), tone: "overhead" });
  }
  const list = segments.map((s) => view.say("memory.term", { term: s.label, gib: format.gib(s.gib) })).join(", ");
  const description = view.say("memory.chart", {
    need: format.gib(need.mid), low: format.gib(need.low), high: format.gib(need.high), terms: list,
  });
  const { host_ram_gib: ram, disk_gb: disk, paged_gib: paged } = answer.memory;
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

/** @param {Offer} offer @param {Answer} answer @param {View} view */
function provenance(offer, answer, view) {
  const names = { offer: offer.offer, provider: view.provider(offer.provider) };
  const doubts = [
    offer.price_basis === "scaled" && view.say("price.scaled"),
    ...offer.assumed.map((/** @type {string} */ word) => view.say(`assumed.${word}`)),
  ].filter(Boolean);
  const form = new URLSearchParams({
    template: "price.yml",
    title: `price: ${offer.provider}, ${offer.offer}`,
    provider: offer.provider,
    offer: offer.offer,
    purchase: offer.purchase,
    price: `${offer.usd_per_hour} USD`,
    source_url: offer.source_url,
  });
  const still = `${view.repository}/issues/new?${form}`;
  return html`<span class="aj-age ${isOld(offer) && "aj-old"}">${view.age(offer.checked, answer.plan.as_of ?? answer.versions.data)}</span>${doubts.map((d) => html` · ${d}`)}
    <span class="aj-links">· <a href="${offer.source_url}" rel="noopener" aria-label="${view.say("pick.sourceLabel", names)}">${view.say("pick.source")}</a>
    · <a href="${still}" rel="noopener" aria-label="${view.say("pick.stillLabel", names)}">${view.say("pick.still")}</a></span>`;
}

/** From this age on a price is shown as old. */
const OLD_DAYS = 60;
/** The youngest class that has an offer leads (FRESH_DAYS and AGEING_DAYS of the estimator). */
const AGE_CLASSES = [OLD_DAYS, 120];

/** @param {Offer} offer */
const isOld = (offer) => offer.age_days === null || offer.age_days > OLD_DAYS;

/** @param {Answer} answer @param {View} view */
function picks(answer, view) {
  const { offers: all, picks: chosen } = answer;
  /** @type {[string, number | null][]} */
  const shown =
    chosen.cheapest === chosen.fastest
      ? [["pick.both", chosen.cheapest], ["pick.spot", chosen.spot]]
      : [["pick.cheapest", chosen.cheapest], ["pick.fastest", chosen.fastest], ["pick.spot", chosen.spot]];
  const cards = shown.filter(([, index]) => index !== null && all[/** @type {number} */ (index)]);
  if (!cards.length) return null;
  const maybe = chosen.maybe_cheaper === null ? null : all[chosen.maybe_cheaper];
  return html`<section class="aj-picks" id="picks">
    <h3>${view.say("picks.title")}</h3>
    <ul>${cards.map(([key, index]) => {
      const offer = all[/** @type {number} */ (index)];
      return pick(offer, answer, view, view.say(key), index === chosen.cheapest ? rule(offer, view) : null);
    })}</ul>
    ${maybe && html`<p class="aj-maybe">${view.say("pick.maybe", {
      gpu: view.cards(maybe.gpus, maybe.gpu), provider: view.provider(maybe.provider),
      usd: view.format.usd(maybe.usd.mid), age: view.age(maybe.checked, answer.plan.as_of ?? answer.versions.data),
    })}</p>`}
  </section>`;
}

/**
 * Among which offers the cheapest was chosen: the list below may have older prices or spot that cost less.
 * @param {Offer} offer
 * @param {View} view
 */
function rule(offer, view) {
  const days = AGE_CLASSES.find((limit) => offer.age_days !== null && offer.age_days <= limit);
  return days ? view.say("pick.rule", { days }) : view.say("pick.ruleOld");
}

/** @param {Offer} offer @param {Answer} answer @param {View} view @param {string} title @param {string | null} chosenAmong */
function pick(offer, answer, view, title, chosenAmong) {
  const { format } = view;
  return html`<li>
    <h4>${title}${chosenAmong && html` <small>${chosenAmong}</small>`}</h4>
    <p class="aj-gpu">${view.cards(offer.gpus, offer.gpu)} <span>${view.provider(offer.provider)}${offer.purchase === "spot" && ` · ${view.say("offers.spot")}`}</span></p>
    <p class="aj-usd"><b>${figure(format.usd(offer.usd.mid))}</b> <span>${format.usdRange(offer.usd)}</span></p>
    <p>${format.duration(offer.hours.mid)} · ${view.say("pick.rate", { price: format.price(offer.usd_per_hour) })} · ${fit(offer, view)}</p>
    <p class="aj-note">${provenance(offer, answer, view)}</p>
  </li>`;
}

/** @param {{verdict: "fits" | "tight" | "no"}} row @param {View} view */
function fit(row, view) {
  return html`<span class="aj-fit aj-${row.verdict}">${ICONS[row.verdict]}${view.say(`offer.${row.verdict}`)}</span>`;
}

/** @param {Answer} answer @param {View} view @param {Reading} reading @param {Flat[]} undo */
function levers(answer, view, reading, undo) {
  if (!answer.levers.length && !undo.length) return null;
  return html`<section class="aj-levers" id="levers">
    <h3>${view.say(reading.verdict === "fits" ? "levers.save" : "levers.fit")}</h3>
    <ul>${answer.levers.slice(0, SHOWN_LEVERS).map((/** @type {any} */ lever) => {
      const change = flatten(lever.change);
      return html`<li><button type="button" data-change="${JSON.stringify(change)}">
        <b>${changeWords(change, view)}</b> <span>${leverEffect(lever, view)}</span></button></li>`;
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

/** The models × methods grid of the modes that start from a card or from money. @param {Answer} answer @param {View} view */
function grid(answer, view) {
  if (!answer.grid?.length) return null;
  /** @type {Map<string, Map<string, any>>} */
  const models = new Map();
  for (const cell of answer.grid) models.set(cell.model, (models.get(cell.model) ?? new Map()).set(cell.method, cell));
  const methods = [...new Set(answer.grid.map((/** @type {any} */ cell) => cell.method))];
  return html`<section class="aj-grid" id="grid">
    <h3>${view.say(answer.plan.mode === "have-budget" ? "grid.budget" : "grid.title")}</h3>
    ${largest(answer.grid, methods.map(String), view)}
    <div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("grid.title")}"><table>
      <thead><tr><th scope="col">${view.say("field.model")}</th>${methods.map((m) => html`<th scope="col">${view.value("method", m)}</th>`)}</tr></thead>
      <tbody>${[...models].map(
        ([model, cells]) => html`<tr><th scope="row">${view.model(model)}</th>${methods.map((m) => {
          const cell = cells.get(String(m));
          return html`<td>${cell && html`${fit(cell, view)} ${cell.verdict !== "no" && html`<small>${
            cell.usd ? view.format.usd(cell.usd.mid) : cell.max_sequence_length && view.say("grid.room", { batch: cell.max_micro_batch, length: view.format.number(cell.max_sequence_length) })
          }</small>`}`}</td>`;
        })}</tr>`,
      )}</tbody></table></div>
  </section>`;
}

/** The largest model that fits, for each method. @param {any[]} cells @param {string[]} methods @param {View} view */
function largest(cells, methods, view) {
  const size = (/** @type {any} */ cell) => view.names.models[cell.model]?.parameters ?? 0;
  const list = methods.flatMap((method) => {
    const fitting = cells.filter((cell) => cell.method === method && cell.verdict === "fits");
    if (!fitting.length) return [];
    const best = fitting.reduce((a, b) => (size(b) > size(a) ? b : a));
    return [view.say("grid.largestOf", { method: view.value("method", method), model: view.model(best.model) })];
  });
  return list.length > 0 && html`<p>${view.say("grid.largest", { list: list.join(" · ") })}</p>`;
}

/** @param {Answer} answer @param {View} view @param {(id: string) => boolean} open */
function offers(answer, view, open) {
  const { offers: all, offers_total: total } = answer;
  const more = all.slice(SHOWN_OFFERS);
  return html`<section class="aj-offers" id="offers">
    <h3>${view.say("offers.title")}</h3>
    ${filters(answer.plan.filters, view)}
    <p>${all.length ? view.say("offers.count", { count: total }) : view.say("offers.none")}
      ${all.length > 0 && all.length < total && html`${view.say("offers.shown", { shown: all.length, total })}
        <button type="button" data-change="${ALL_OFFERS}">${view.say("offers.all")}</button>`}</p>
    ${all.length > 2 && plot(answer, view)}
    ${all.length > 0 && offerTable(all.slice(0, SHOWN_OFFERS), answer, view)}
    ${more.length > 0 && html`<details id="more-offers"><summary>${view.say("offers.more", { count: more.length })}</summary>${open("more-offers") && offerTable(more, answer, view)}</details>`}
  </section>`;
}

/**
 * What to leave out. The same controls as in the form: the page treats them alike.
 * @param {any} chosen
 * @param {View} view
 */
function filters(chosen, view) {
  const one = (/** @type {string[]} */ list) => (list.length === 1 ? list[0] : "");
  /** @type {[string, unknown, [unknown, string][]][]} */
  const questions = [
    ["filters.purchase", one(chosen.purchase), ["", "on-demand", "spot"].map((v) => [v, view.say(`filter.purchase.${v || "any"}`)])],
    ["filters.max_gpus", chosen.max_gpus, [1, 2, 4, 8, 16].map((n) => [n, view.say("filter.gpus", { count: n })])],
    ["filters.max_age_days", chosen.max_age_days ?? "", ["", 60, 120].map((n) => [n, n ? view.say("filter.age", { count: Number(n) }) : view.say("filter.age.any")])],
    ["filters.regions", one(chosen.regions), ["", "eu", "us", "latam"].map((v) => [v, view.say(`filter.region.${v || "any"}`)])],
    [
      "filters.providers",
      one(chosen.providers),
      [["", view.say("filter.providers.any")], .../** @type {[string, string][]} */ (Object.entries(view.names.providers).map(([id, p]) => [id, p.name]))],
    ],
  ];
  return html`<div class="aj-filters">${questions.map(([name, value, choices]) => {
    if (!choices.some(([choice]) => choice === value)) choices.unshift([value, view.value(name, value)]);
    return html`<div class="aj-input"><select name="${name}" id="aj-${name.replace(".", "-")}" aria-label="${view.say(`field.${name}`)}">${choices.map(
      ([choice, label]) => html`<option value="${String(choice)}" ${choice === value && html`selected`}>${label}</option>`,
    )}</select></div>`;
  })}</div>`;
}

/** @param {Answer} answer @param {View} view */
function plot(answer, view) {
  const { offers: all, picks: chosen } = answer;
  const { format } = view;
  const picked = [chosen.cheapest, chosen.fastest, chosen.spot];
  const points = all.map((/** @type {Offer} */ offer, /** @type {number} */ i) => {
    const card = view.cards(offer.gpus, offer.gpu);
    return {
      hours: offer.hours.mid,
      usd: offer.usd.mid,
      spot: offer.purchase === "spot",
      old: isOld(offer),
      title: `${card}, ${view.provider(offer.provider)}: ${format.duration(offer.hours.mid)}, ${format.usd(offer.usd.mid)}`,
      label: picked.includes(i) ? card : null,
    };
  });
  const words = { description: view.say("plot.chart", { count: all.length }), hours: view.say("plot.hours"), usd: view.say("plot.usd") };
  const best = answer.pareto.map((/** @type {number} */ index) => points[index]);
  return html`<figure class="aj-offer-plot">${offerChart(view, points, best, words)}<figcaption class="aj-note">${view.say("plot.key")}</figcaption></figure>`;
}

/** @param {Offer[]} rows @param {Answer} answer @param {View} view */
function offerTable(rows, answer, view) {
  const columns = ["gpu", "provider", "price", "time", "bill", "memory", "seen"].map((c) => view.say(`offers.${c}`));
  return html`<table class="aj-cards" role="table">
    <thead role="rowgroup"><tr role="row">${columns.map((c) => html`<th role="columnheader" scope="col">${c}</th>`)}</tr></thead>
    <tbody role="rowgroup">${rows.map((offer) => offerRow(offer, answer, view))}</tbody>
  </table>`;
}

/** @param {Offer} offer @param {Answer} answer @param {View} view */
function offerRow(offer, answer, view) {
  const { format } = view;
  const region = ["all", "global"].includes(offer.region) ? view.say(`offers.region.${offer.region}`) : offer.region;
  const place = [region, offer.purchase === "spot" && view.say("offers.spot")].filter(Boolean).join(" · ");
  return html`<tr role="row">
    <th role="rowheader" scope="row">${view.cards(offer.gpus, offer.gpu)}</th>
    <td role="cell" class="aj-who">${view.provider(offer.provider)} <small>${place}</small></td>
    <td role="cell" class="aj-n aj-rate">${format.price(offer.usd_per_hour)}</td>
    <td role="cell" class="aj-n" data-label="${view.say("offers.time")}">${format.duration(offer.hours.mid)}</td>
    <td role="cell" class="aj-n aj-usd" data-label="${view.say("offers.bill")}"><b>${format.usd(offer.usd.mid)}</b> <small>${format.usdRange(offer.usd)}</small></td>
    <td role="cell" class="aj-where">${fit(offer, view)} <small>${format.gib(offer.required_gib.mid)} · ${view.say("offers.batch", { batch: offer.micro_batch })}${
      offer.strategy !== "none" && ` · ${view.value("parallel.strategy", offer.strategy)}`
    }</small></td>
    <td role="cell" class="aj-prov"><small>${provenance(offer, answer, view)}</small></td>
  </tr>`;
}

/** @param {Answer} answer @param {View} view */
function excluded(answer, view) {
  const groups = answer.excluded.filter((/** @type {any} */ group) => view.knows(`excluded.${group.reason}`));
  if (!groups.length) return null;
  return html`<section class="aj-excluded" id="excluded">
    <h3>${view.say("excluded.title")}</h3>
    <ul>${groups.map((/** @type {any} */ group) => {
      const { cheapest, count, reason } = group;
      const price = cheapest.usd === undefined ? view.say("pick.rate", { price: view.format.price(cheapest.usd_per_hour) }) : view.format.usd(cheapest.usd);
      return html`<li>${view.say(`excluded.${reason}`, { count })}
        <span>(${view.say("excluded.cheapest", { gpu: view.cards(cheapest.gpus, cheapest.gpu), price, provider: view.provider(cheapest.provider) })})</span>
        ${wayBack(reason, answer, view)}</li>`;
    })}</ul>
  </section>`;
}

/** The field that leaves offers out for a reason. */
/** @type {Record<string, string>} */
const BACK = {
  "price-too-old": "filters.max_age_days",
  "misses-deadline": "job.deadline_h",
  "over-budget": "job.budget_usd",
  gpu: "gpu",
  "max-gpus": "filters.max_gpus",
  region: "filters.regions",
  provider: "filters.providers",
  kind: "filters.kinds",
  purchase: "filters.purchase",
};

/**
 * A button that takes back what left offers out, where the reader asked for it.
 * @param {string} reason
 * @param {Answer} answer
 * @param {View} view
 */
function wayBack(reason, answer, view) {
  if (reason === "scaled") {
    const change = JSON.stringify({ "filters.include_scaled": true });
    return html`<button type="button" data-change="${change}">${view.say("excluded.include")}</button>`;
  }
  const field = BACK[reason];
  if (!field || field in answer.plan.defaults || answer.plan.mode !== "find-gpu") return null;
  return html`<button type="button" data-reset="${field}">${view.say("settings.remove")}</button>`;
}

/**
 * @param {string} id
 * @param {string | Html} title
 * @param {import("./html.js").Printable} content
 */
function fold(id, title, content) {
  return html`<details id="fold-${id}"><summary>${title}</summary><div class="aj-fold">${content}</div></details>`;
}

/** @param {Answer} answer @param {View} view */
function moments(answer, view) {
  const rows = answer.memory.moments;
  const end = Math.max(...rows.map((/** @type {any} */ m) => m.gib));
  const peak = answer.memory.whole_run.peak_moment;
  return html`<table class="aj-bars">
    <thead><tr><th scope="col">${view.say("moments.moment")}</th><td></td><th scope="col" class="aj-n">GiB</th></tr></thead>
    <tbody>${rows.map((/** @type {any} */ m) => html`<tr class="${m.id === peak ? "aj-peak" : "aj-muted"}">
      <th scope="row">${view.name("moment", m.id)}</th><td>${cellStack(segmentsOf(view, m.terms, end), end)}</td>
      <td class="aj-n">${view.format.amount(m.gib)}</td></tr>`)}</tbody></table>`;
}

/** @param {Answer} answer @param {View} view */
function gpuTable(answer, view) {
  const gb = (/** @type {GpuRow} */ row) => view.names.gpus[row.id]?.gb ?? 0;
  const rows = [...answer.gpus].sort((a, b) => a.count - b.count || gb(a) - gb(b) || (a.id < b.id ? -1 : 1));
  const { format } = view;
  return html`<div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("fold.gpus")}"><table class="aj-bars">
    <thead><tr><th scope="col">${view.say("field.gpu")}</th><th scope="col">${view.say("gpus.verdict")}</th><td></td>
      <th scope="col" class="aj-n">${view.say("gpus.need")}</th><th scope="col" class="aj-n">${view.say("gpus.usable")}</th>
      <th scope="col" class="aj-n">${view.say("gpus.batch")}</th><th scope="col" class="aj-n">${view.say("gpus.length")}</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr><th scope="row">${view.cards(row.count, row.id)}</th><td>${fit(row, view)}</td>
      <td>${row.usable_gib !== null && cellRange(row.required_gib, row.usable_gib, row.verdict)}</td>
      <td class="aj-n">${format.amount(row.required_gib.mid)}</td>
      <td class="aj-n">${row.usable_gib === null ? view.say("gpus.unknown") : format.amount(row.usable_gib)}</td>
      <td class="aj-n">${row.max_micro_batch > 0 ? format.number(row.max_micro_batch) : "—"}</td>
      <td class="aj-n">${row.max_sequence_length > 0 ? format.number(row.max_sequence_length) : "—"}</td></tr>`)}</tbody></table></div>`;
}

/** @param {Offer} lead @param {View} view */
function bill(lead, view) {
  const { format } = view;
  const lines = Object.entries(lead.breakdown_usd);
  const known = lines.filter(([, usd]) => usd !== null && usd !== 0);
  const unknown = lines.filter(([, usd]) => usd === null);
  const facts = lead.unknown.map((/** @type {string} */ fact) => view.name("charge", fact));
  return html`<p>${view.say("bill.for", {
      gpu: view.cards(lead.gpus, lead.gpu), provider: view.provider(lead.provider),
      hours: format.duration(lead.billed_hours.mid), price: format.price(lead.usd_per_hour),
    })}</p>
    <table class="aj-bars"><thead><tr><th scope="col">${view.say("bill.line")}</th><td></td><th scope="col" class="aj-n">${view.say("bill.usd")}</th></tr></thead>
    <tbody>${known.map(([id, usd]) => html`<tr><th scope="row">${view.name("charge", id)}</th>
      <td>${cellStack([{ id, gib: Math.max(Number(usd), 0), label: "", tone: "weights" }], lead.usd.mid)}</td><td class="aj-n">${format.usd(Number(usd))}</td></tr>`)}
      ${unknown.map(([id]) => html`<tr><th scope="row">${view.name("charge", id)}</th><td></td><td class="aj-n">${view.say("bill.unknown")}</td></tr>`)}
      <tr class="aj-total"><th scope="row">${view.say("memory.total")}</th><td></td><td class="aj-n">${format.usd(lead.usd.mid)}</td></tr></tbody></table>
    ${facts.length > 0 && html`<p class="aj-note">${view.say("offers.unknown", { facts: facts.join(", ") })}</p>`}`;
}

/** @param {any} spent @param {View} view */
function time(spent, view) {
  const steps = Object.entries(spent.breakdown_h).filter(([, hours]) => Number(hours) > 0);
  const whole = steps.reduce((sum, [, hours]) => sum + Number(hours), 0);
  return html`<p>${view.say("time.rate", { rate: view.format.rate(spent.tokens_per_second.mid) })}
      (${view.format.rate(spent.tokens_per_second.low)}–${view.format.rate(spent.tokens_per_second.high)})</p>
    <table class="aj-bars"><thead><tr><th scope="col">${view.say("time.step")}</th><td></td><th scope="col" class="aj-n">${view.say("time.hours")}</th></tr></thead>
    <tbody>${steps.map(([id, hours]) => html`<tr><th scope="row">${view.name("step", id)}</th>
      <td>${cellStack([{ id, gib: Number(hours), label: "", tone: "weights" }], whole)}</td><td class="aj-n">${view.format.duration(Number(hours))}</td></tr>`)}</tbody></table>`;
}

/**
 * A piece of advice in words, and the page of the guide that explains it.
 * @param {View} view
 * @param {any} item
 */
function advice(view, item) {
  const values = Object.fromEntries(Object.entries(item.values).map(([name, value]) => [name, adviceValue(view, name, value)]));
  const sentence = view.say(`advice.${item.id}`, values);
  return html`${sentence} <a href="${view.base}${item.page}" aria-label="${view.say("advice.more")}: ${sentence}">${view.say("advice.more")}</a>`;
}

/**
 * The unit is in the value's name.
 * @param {View} view
 * @param {string} name
 * @param {any} value
 */
function adviceValue(view, name, value) {
  const { format } = view;
  if (name === "gpu") return view.gpu(value);
  if (name === "provider") return view.provider(value);
  if (typeof value !== "number") return String(value);
  if (/gib$/.test(name)) return format.gib(value);
  if (/gb$/.test(name)) return format.gb(value);
  if (/gb_per_s$/.test(name)) return `${format.gb(value)}/s`;
  if (/^usd/.test(name)) return format.usd(value);
  if (/hours$/.test(name)) return format.duration(value);
  if (/share$/.test(name)) return format.percent(value);
  return Number.isInteger(value) ? format.number(value) : format.figures(value, 2);
}

/** Advice that is not under the verdict already. @param {Answer} answer @param {View} view @returns {any[]} */
const notesOf = (answer, view) => answer.advice.filter((/** @type {any} */ a) => a.severity !== "serious" && view.knows(`advice.${a.id}`));

/** @param {Answer} answer @param {View} view */
const notesTitle = (answer, view) => html`${view.say("fold.notes")} <small>${view.format.number(notesOf(answer, view).length)}</small>`;

/** @param {Answer} answer @param {View} view */
const notes = (answer, view) => html`<ul>${notesOf(answer, view).map((a) => html`<li class="aj-${a.severity}">${advice(view, a)}</li>`)}</ul>`;

/** @param {Answer} answer @param {View} view */
function formulas(answer, view) {
  return html`<div class="aj-scroll" tabindex="0" role="group" aria-label="${view.say("fold.formulas")}"><table>
    <thead><tr><th scope="col">${view.say("memory.thing")}</th><th scope="col" class="aj-n">GiB</th><th scope="col">${view.say("memory.formula")}</th>
      <th scope="col">${view.say("formulas.assumption")}</th></tr></thead>
    <tbody>${answer.memory.terms.map((/** @type {any} */ term) => html`<tr><th scope="row">${view.name("term", term.id)}</th>
      <td class="aj-n">${view.format.figures(term.gib, 3)}</td><td><code>${term.formula}</code></td>
      <td>${term.assumptions.map((/** @type {string} */ id, /** @type {number} */ i) => html`${i > 0 && ", "}<a href="${view.base}methodology/#${id}">${id}</a>`)}</td></tr>`)}</tbody></table></div>
    <p><a href="${view.base}methodology/">${view.say("formulas.more")}</a></p>`;
}

/** @param {Answer} answer @param {View} view @param {"built" | "live"} state @param {import("./takeaway.js").Taken | null} taken */
function closing(answer, view, state, taken) {
  const date = view.format.date(answer.versions.data);
  return html`<footer class="aj-closing">
    <p class="aj-share">${["pin", "link", "summary", "json", "csv", "print"].map(
      (what) => html`<button type="button" data-share="${what}">${view.say(`share.${what}`)}</button> `,
    )}</p>
    <p class="aj-note">${view.say(`state.${state}`, { date })} · ${view.say("state.version", { version: answer.versions.estimator })}
      ${state === "live" && view.say("state.private")}</p>
    ${fold("takeaway", view.say("takeaway.title"), renderTakeaway(taken, view))}
    ${measure(answer, view)}
  </footer>`;
}

/** One run of the reader's own narrows the ranges. @param {Answer} answer @param {View} view */
function measure(answer, view) {
  const { calibration, gpu } = answer.plan;
  const value = (/** @type {number | null} */ number) => (number === null ? "" : view.format.plain(number));
  const chosen = calibration.request?.gpu ?? gpu ?? answer.time?.gpu;
  return fold("measure", view.say("measure.title"), html`<p>${view.say("measure.how")}</p>
    <div class="aj-measure">
      <div class="aj-field"><label for="aj-measured-gib">${view.say("measure.gib")}</label>
        <div class="aj-input"><input type="text" inputmode="decimal" id="aj-measured-gib" value="${value(calibration.measured_gib)}"><span class="aj-unit" aria-hidden="true">GiB</span></div></div>
      <div class="aj-field"><label for="aj-measured-rate">${view.say("measure.rate")}</label>
        <div class="aj-input"><input type="text" inputmode="decimal" id="aj-measured-rate" value="${value(calibration.measured_tokens_per_second)}"></div></div>
      <div class="aj-field"><label for="aj-measured-gpu">${view.say("measure.gpu")}</label>
        <div class="aj-input"><select id="aj-measured-gpu">${view.gpus().map(([id, name]) => html`<option value="${id}" ${id === chosen && html`selected`}>${name}</option>`)}</select></div></div>
    </div>
    <p class="aj-share"><button type="button" data-measure="narrow">${view.say("measure.narrow")}</button>
      <button type="button" data-measure="send">${view.say("measure.send")}</button></p>`);
}
