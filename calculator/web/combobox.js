// The model's combobox: types to filter, arrows to choose, Enter to take, Escape to close (the ARIA pattern).

import { html } from "./html.js";

const MOST = 60;

/** @typedef {{id: string, name: string, detail: string, search: string}} Option */

/**
 * Words without accents, dots and dashes, so that "llama 31" finds "Llama-3.1".
 * @param {string} text
 */
const plain = (text) => text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

/**
 * @param {string} query
 * @param {Option[]} options
 */
export function matches(query, options) {
  const words = plain(query).split(/[\s/_-]+/).filter(Boolean);
  return options.filter((option) => {
    const text = plain(option.search);
    return words.every((word) => text.includes(word));
  });
}

export class Combobox {
  /**
   * @param {HTMLElement} root holds the field now and after each rendering
   * @param {Option[]} options
   * @param {object} use
   * @param {string} use.none what an empty list says
   * @param {(text: string) => string | undefined} use.named the option that a text means without containing its words
   * @param {(id: string) => void} use.choose
   * @param {(text: string) => void} use.type
   */
  constructor(root, options, use) {
    this.root = root;
    this.options = options;
    this.use = use;
    this.active = -1;
    /** @type {Option[]} */
    this.shown = [];
    root.addEventListener("input", (event) => event.target === this.input && this.open(this.input.value));
    root.addEventListener("click", (event) => {
      if (event.target === this.input && this.list.hidden) this.open("");
      const option = event.target instanceof Element && event.target.closest("#aj-models [role=option]");
      if (option) this.take(Number(option.getAttribute("data-index")));
    });
    root.addEventListener("focusin", (event) => event.target === this.input && this.input.select());
    // A press on the list must not take the focus away before the click arrives.
    root.addEventListener("pointerdown", (event) => {
      if (event.target instanceof Element && event.target.closest("#aj-models")) event.preventDefault();
    });
    root.addEventListener("focusout", (event) => {
      if (event.target === this.input) this.close();
    });
    root.addEventListener("keydown", (event) => event.target === this.input && this.key(event));
  }

  get input() {
    return /** @type {HTMLInputElement} */ (this.root.querySelector("#aj-model"));
  }

  get list() {
    return /** @type {HTMLElement} */ (this.root.querySelector("#aj-models"));
  }

  /** @param {string} query */
  open(query) {
    const found = matches(query, this.options);
    const meant = found.length ? undefined : this.options.find(({ id }) => id === this.use.named(query));
    // A repository that shares a model's architecture keeps its own name, beside the model's.
    this.shown = meant ? [{ ...meant, id: "", name: query.trim(), detail: `${meant.name} · ${meant.detail}` }] : found.slice(0, MOST);
    this.active = -1;
    this.list.innerHTML = String(
      this.shown.length
        ? html`${this.shown.map(
            (option, i) => html`<li role="option" id="aj-model-${i}" data-index="${i}" aria-selected="false"><span>${option.name}</span> <small>${option.detail}</small></li>`,
          )}`
        : html`<li role="option" aria-disabled="true">${this.use.none}</li>`,
    );
    this.list.hidden = false;
    this.list.scrollTop = 0;
    this.input.setAttribute("aria-expanded", "true");
    this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (this.list.hidden) return this.open("");
      this.move(this.active + (key === "ArrowDown" ? 1 : -1));
    } else if (key === "Enter") {
      event.preventDefault();
      if (!this.list.hidden && this.active >= 0) this.take(this.active);
      else if (!this.list.hidden && this.shown.length === 1) this.take(0);
      else this.use.type(this.input.value);
      this.close();
    } else if (key === "Escape" && !this.list.hidden) {
      event.preventDefault();
      this.close();
    }
  }

  /** @param {number} index */
  move(index) {
    if (!this.shown.length) return;
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = (index + this.shown.length) % this.shown.length;
    const option = this.list.children[this.active];
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", option.id);
  }

  /** @param {number} index */
  take(index) {
    const option = this.shown[index];
    if (!option) return;
    this.input.value = option.name;
    this.close();
    if (option.id) this.use.choose(option.id);
    else this.use.type(option.name);
  }
}
