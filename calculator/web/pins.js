// Questions that were pinned to stand side by side. No DOM.

import { applied, difference, MOST } from "./compare.js";
import { unflatten } from "./fields.js";

/** @typedef {import("./fields.js").Flat} Flat */

export class Pins {
  /** @param {import("./question.js").Question} question */
  constructor(question) {
    this.question = question;
    /** @type {import("./compare.js").Column[]} */
    this.columns = [];
    /** The column that a phone shows beside the first. */
    this.beside = 0;
  }

  get isFull() {
    return this.columns.length === MOST;
  }

  /** Each as its changes to the question that is asked, for the link. */
  changes() {
    const { asked, start } = this.question;
    return this.columns.map((pin) => difference(asked, { ...start, ...pin.request }));
  }

  /** @param {any} answer the question's */
  add(answer) {
    this.columns.push({ request: { ...this.question.request }, answer });
    this.beside = this.columns.length - 1;
  }

  /** @param {number} column */
  remove(column) {
    this.columns.splice(column, 1);
    this.beside = this.columns.length - 1;
  }

  /**
   * Pins of a link: each is answered anew.
   * @param {any[]} changes
   * @param {import("./engine.js").Engine} engine
   */
  async restore(changes, engine) {
    const { question } = this;
    const requests = changes.slice(0, MOST).map((pin) => applied(question.asked, pin));
    const answers = await Promise.all(requests.map((request) => engine.call("estimate", unflatten(request))));
    const columns = requests.map((request, i) => ({ request: question.differing(request), answer: answers[i] }));
    this.columns = columns.filter(({ answer }) => answer.ok);
    this.beside = this.columns.length - 1;
  }
}
