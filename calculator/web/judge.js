// What an answer says in short: verdict, sentence, need, and the offer that time and bill speak of. No DOM.

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
 * @property {string} [where] where it fits, when the sentence speaks of money
 * @property {{usd: number, hours: number, gpus: number, gpu: string, provider: string} | null} [beyond] the cheapest offer, where none is inside the budget
 * @property {Band} need GiB, of the whole run, per GPU
 * @property {string} peak moment of the whole run
 * @property {{label: string, gib: number} | null} usable
 * @property {GpuRow | null} row the GPU that the verdict speaks of, when it is one
 * @property {Offer | null} lead the offer that time and bill speak of
 */

/** @typedef {Pick<Reading, "verdict" | "sentence" | "where" | "beyond" | "usable" | "row">} Judgement */

/**
 * The memory that the page speaks of: as it is on the GPUs that the verdict names, else as asked.
 * @param {Answer} answer
 */
export const memoryOf = (answer) => answer.headline?.memory ?? answer.memory;

/**
 * @param {Answer} answer
 * @param {View} view
 * @returns {Reading}
 */
export function read(answer, view) {
  const { plan, offers, picks } = answer;
  const lead = offers[picks.cheapest] ?? offers[0] ?? null;
  const fit = plan.gpu ? judgeCard(answer, view) : judgeMarket(answer, view, lead);
  const judgement = answer.budget ? judgeBudget(answer, view, fit) : fit;
  const { required_gib: need, peak_moment: peak } = memoryOf(answer).whole_run;
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
  const { gpus, plan } = answer;
  const memory = memoryOf(answer);
  const rows = gpus.filter((/** @type {GpuRow} */ row) => row.id === plan.gpu);
  const asked = plan.parallel.gpus_per_node * plan.parallel.nodes;
  /** @type {GpuRow} */
  const row = rows.find((/** @type {GpuRow} */ r) => r.count === asked) ?? rows[0];
  const card = view.cards(row?.count ?? 1, plan.gpu);
  if (row?.reason) return { verdict: "no", sentence: view.say("verdict.unsupported", { card }), usable: null, row };
  if (!row || row.usable_gib === null) {
    return { verdict: "tight", sentence: view.say("verdict.unknown", { card }), usable: null, row: row ?? null };
  }
  const usable = usableLine(view, card, row.usable_gib);
  if (row.verdict !== "no") {
    const sentence =
      row.verdict === "fits"
        ? view.say("verdict.fitsIn", { card, room: view.format.gib(row.usable_gib - memory.whole_run.required_gib.mid) })
        : tightSentence(row, card, view);
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
    const room = view.format.gib(row.usable_gib - memoryOf(answer).whole_run.required_gib.mid);
    const sentence = verdict === "fits" ? view.say("verdict.fitsIn", { card, room }) : tightSentence(row, card, view);
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
  const short = roomiest ? view.format.gib(memoryOf(answer).whole_run.required_gib.mid - roomiest.usable_gib) : "";
  const card = roomiest ? view.cards(roomiest.count, roomiest.id) : "";
  return { verdict: "no", sentence: view.say("verdict.nothing", { card, short }), usable, row: roomiest };
}

/**
 * Who names a sum asks first whether the job is inside it; where it fits comes second.
 * @param {Answer} answer
 * @param {View} view
 * @param {Judgement} fit
 * @returns {Judgement}
 */
function judgeBudget({ budget, excluded }, view, fit) {
  const { format } = view;
  const [sum, hours] = [format.usd(budget.budget_usd), format.duration(budget.deadline_h)];
  if (budget.inside) {
    const sentence = view.say("verdict.inside", { usd: format.usd(budget.usd.mid), budget: sum });
    return { ...fit, sentence, where: fit.sentence };
  }
  if (fit.verdict === "no") return fit;
  /** @type {(reason: string) => any} */
  const cheapest = (reason) => excluded.find((/** @type {any} */ group) => group.reason === reason)?.cheapest;
  const [dear, late] = [cheapest("over-budget"), cheapest("misses-deadline")];
  const sentence = dear?.usd
    ? view.say("verdict.over", { usd: format.usd(dear.usd), budget: sum })
    : view.say(late ? "verdict.late" : "verdict.outside", { budget: sum, hours });
  return { ...fit, verdict: "no", sentence, where: fit.sentence, beyond: dear?.usd ? dear : null };
}

/**
 * It may fail; where even the middle estimate is more than there is, it probably does.
 * @param {GpuRow} row
 * @param {string} card
 * @param {View} view
 */
const tightSentence = (row, card, view) =>
  view.say(row.usable_gib !== null && row.required_gib.mid > row.usable_gib ? "verdict.unlikely" : "verdict.tight", { card });

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
export function hoursOf(answer, reading) {
  if (reading.lead) return reading.lead.hours;
  return reading.verdict === "no" ? null : (answer.time?.hours ?? null);
}

/** What stands where a time or a bill is missing. @param {Reading} reading @param {View} view */
export const missing = (reading, view) => (reading.verdict === "no" ? "—" : view.say("number.none"));

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
