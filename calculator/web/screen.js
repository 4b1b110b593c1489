// What is seen: form, answer, strip and messages, each made equal to what the renderers print.

import { renderForm } from "./form.js";
import { summarize } from "./judge.js";
import { morph } from "./morph.js";
import { renderCompare } from "./compare.js";
import { renderAnswer, renderStrip } from "./render.js";

/** @typedef {import("./html.js").Html} Html */

export class Screen {
  /**
   * @param {HTMLElement} root
   * @param {import("./text.js").View} view
   */
  constructor(root, view) {
    this.root = root;
    this.view = view;
    /** @type {any} The answer that is printed: it is not printed again on each key. */
    this.printed = null;
  }

  /** @param {string} selector */
  find(selector) {
    return /** @type {HTMLElement} */ (this.root.querySelector(selector));
  }

  /** @param {import("./form.js").FormState} state */
  form(state) {
    morph(this.find(".aj-ask"), String(renderForm(state, this.view)));
  }

  /** @param {import("./pins.js").Pins} pins */
  compare({ columns, beside }) {
    morph(this.find("#aj-compare"), String(renderCompare(columns, beside, this.view)));
  }

  /**
   * @param {any} answer
   * @param {{state: "built" | "live", undo: import("./fields.js").Flat[], taken: import("./takeaway.js").Taken | null}} options
   */
  answer(answer, options) {
    if (answer === this.printed) return;
    this.printed = answer;
    const { view } = this;
    const open = (/** @type {string} */ id) => /** @type {HTMLDetailsElement | null} */ (this.find(`#${id}`))?.open ?? false;
    morph(this.find("#aj-answer"), String(renderAnswer(answer, view, { ...options, open })));
    const strip = this.find("#aj-strip");
    morph(strip, String(renderStrip(answer, view)));
    strip.className = `aj-strip aj-${summarize(answer, view).verdict}`;
  }

  /**
   * The answer in view is another question's, or is not.
   * @param {boolean} stale
   * @param {{busy: boolean, quoted: boolean}} why whether one is on its way; whether a link's figures stand in for it
   */
  dim(stale, { busy, quoted }) {
    const answer = this.find("#aj-answer");
    const strip = this.find("#aj-strip");
    for (const part of [answer, strip]) part.classList.toggle("aj-stale", stale);
    strip.dataset.before = stale ? this.view.say("state.before") : "";
    answer.setAttribute("aria-busy", String(stale && busy));
    answer.hidden = stale && quoted;
  }

  /** @param {(Html | null)[]} content */
  status(...content) {
    const box = this.find("#aj-status");
    const said = content.filter(Boolean);
    box.hidden = !said.length;
    morph(box, said.join(""));
  }

  /** @param {any} answer */
  speak(answer) {
    const { sentence, memory, time, bill } = summarize(answer, this.view);
    this.find("#aj-live").textContent = this.view.say("live.sentence", { verdict: sentence, memory, time, bill });
  }
}
