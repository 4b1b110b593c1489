// Where to rent: the picks, the list with its filters and chart, what was left out and why. No DOM.

import { offerChart } from "./charts.js";
import { html } from "./html.js";
import { figure, fit } from "./parts.js";

/** @typedef {import("./text.js").View} View */
/** @typedef {import("./judge.js").Answer} Answer */
/** @typedef {import("./judge.js").Offer} Offer */
/** @typedef {import("./judge.js").GpuRow} GpuRow */

const SHOWN_OFFERS = 10;
/** The change that leaves no offer out of the list, nor out of the file that is downloaded. */
const ALL_OFFERS = JSON.stringify({ "filters.limit": 10_000 });

/** @param {Answer} answer @param {View} view */
export function picks(answer, view) {
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
    ${maybe && html`<p class="aj-maybe">${view.say(maybe.price_doubt === "floor" ? "pick.maybeFloor" : "pick.maybe", {
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

/** @param {Answer} answer @param {View} view @param {import("./parts.js").Inside} inside */
export function offers(answer, view, inside) {
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
    ${more.length > 0 && html`<details id="more-offers"><summary>${view.say("offers.more", { count: more.length })}</summary>${inside("more-offers", () => offerTable(more, answer, view))}</details>`}
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
      "filters.kinds",
      one(chosen.kinds),
      ["", "hyperscaler", "neocloud", "marketplace", "serverless", "notebook", "broker"].map((v) => [v, v ? view.value("filters.kinds", v) : view.say("filter.kind.any")]),
    ],
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
      label: picked.includes(i) ? (offer.purchase === "spot" ? `${card} · ${view.say("offers.spot")}` : card) : null,
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
    }${machine(offer, view)}</small></td>
    <td role="cell" class="aj-prov"><small>${provenance(offer, answer, view)}</small></td>
  </tr>`;
}

/** What the machines' RAM says where it is not simply enough. @param {Offer} offer @param {View} view */
function machine({ ram_verdict: ram }, view) {
  return ram !== "fits" && html` · <span class="${ram && "aj-old"}">${view.say(ram ? "ram.tight" : "ram.unknown")}</span>`;
}

/** @param {Offer} offer @param {Answer} answer @param {View} view */
function provenance(offer, answer, view) {
  const names = { offer: offer.offer, provider: view.provider(offer.provider) };
  const { price_doubt: doubt } = offer;
  const assumed = offer.assumed.filter((/** @type {string} */ word) => word !== "from_price" || doubt !== "floor"); // said already
  const doubts = [
    doubt && view.say(`price.${doubt}`),
    ...assumed.map((/** @type {string} */ word) => view.say(`assumed.${word}`)),
  ].filter(Boolean);
  const form = new URLSearchParams({
    template: "price.yml",
    title: `price: ${offer.provider}, ${offer.offer}`,
    provider: offer.provider,
    offer: offer.offer,
    gpu: offer.gpu,
    gpus: String(offer.gpus / offer.machines),
    region: offer.region ?? "",
    purchase: offer.purchase,
    price: `${offer.usd_per_hour / offer.machines} USD`, // as it is sold: one machine
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
export function excluded(answer, view) {
  const groups = answer.excluded.filter((/** @type {any} */ group) => view.knows(`excluded.${group.reason}`));
  if (!groups.length) return null;
  return html`<section class="aj-excluded" id="excluded">
    <h3>${view.say("excluded.title")}</h3>
    <ul>${groups.map((/** @type {any} */ group) => {
      const { cheapest, count, reason } = group;
      const price = cheapest.usd === undefined ? view.say("pick.rate", { price: view.format.price(cheapest.usd_per_hour) }) : view.format.usd(cheapest.usd);
      return html`<li>${view.say(`excluded.${reason}`, { count })}
        ${fitsSomewhere(cheapest.gpu, answer) && html`<span>(${view.say("excluded.cheapest", { gpu: view.cards(cheapest.gpus, cheapest.gpu), price, provider: view.provider(cheapest.provider) })})</span>`}
        ${wayBack(reason, answer, view)}</li>`;
    })}</ul>
  </section>`;
}

/** A price on a card where the job does not fit leads nobody anywhere. @param {string} gpu @param {Answer} answer */
const fitsSomewhere = (gpu, answer) => answer.gpus.every((/** @type {GpuRow} */ row) => row.id !== gpu || row.verdict === "no") === false;

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
