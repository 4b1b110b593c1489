// What people do to the page, event by event, handed to the calculator.

import { Combobox } from "./combobox.js";
import { FIELDS, OTHER_METHODS } from "./fields.js";
import { readNumber } from "./format.js";
import { CHARACTERS_PER_TOKEN } from "./measuring.js";
import { modelNamed } from "./models.js";

/** @typedef {import("./calculator.js").Calculator} Calculator */

/** @param {Calculator} page */
export function listen(page) {
  const { root } = page;
  models(page);
  const ask = page.find(".aj-ask");
  for (const event of ["focusin", "pointerdown"]) ask.addEventListener(event, () => page.wake(), { passive: true });
  root.addEventListener("input", (event) => typed(page, /** @type {HTMLInputElement} */ (event.target)));
  root.addEventListener("change", (event) => chosen(page, /** @type {HTMLInputElement} */ (event.target)));
  root.addEventListener("submit", (event) => event.preventDefault());
  root.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("button");
    if (button) pressed(page, button);
  });
  root.addEventListener("focusout", (event) => left(page, /** @type {HTMLInputElement} */ (event.target)));
  root.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (event.target !== page.find("#aj-model") || !text.trim().startsWith("{")) return;
    event.preventDefault();
    page.typeModel(text);
  });
  ask.addEventListener("dragover", (event) => event.preventDefault());
  ask.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) page.take(file);
  });
  // A fold's content is printed when it opens; "toggle" does not bubble.
  const unfold = (/** @type {Event} */ event) => event.target instanceof Element && event.target.closest("#aj-answer") && page.reprint();
  root.addEventListener("toggle", unfold, true);
  addEventListener("popstate", () => page.adopt(location.hash));
  addEventListener("hashchange", () => page.arrive());
}

/** The model's box. @param {Calculator} page */
function models(page) {
  const { root, view } = page;
  const options = Object.entries(view.names.models).map(([id, m]) => ({
    id,
    name: m.name,
    detail: m.parameters ? view.format.parameters(m.parameters) : "",
    search: `${m.name} ${m.family} ${m.hf_id ?? ""} ${id}`,
  }));
  new Combobox(root, options, {
    none: view.say("model.none"),
    named: (text) => modelNamed(text, view.names.models),
    choose: (id) => page.setModel(id),
    type: (text) => page.typeModel(text),
  });
}

/** @param {Calculator} page @param {HTMLInputElement} control */
function typed(page, control) {
  if (control.type === "text" && control.name in FIELDS) page.type(control.name, control.value);
}

/** A field was left: what was emptied and had to stay is seen again. @param {Calculator} page @param {HTMLInputElement} control */
function left(page, { name }) {
  if (page.question.drafts[name] !== "") return;
  delete page.question.drafts[name];
  setTimeout(() => page.render()); // once it has lost the focus: nobody's typing is overwritten
}

/** @param {Calculator} page @param {HTMLInputElement} control */
function chosen(page, control) {
  const { name, value, type } = control;
  if (control.id === "aj-paste-file" || name === "file") return control.files?.[0] && page.take(control.files[0]);
  if (name === "ratio") return page.measure(readNumber(value, "number", page.view.language).value ?? CHARACTERS_PER_TOKEN);
  if (name === "model") return page.typeModel(value);
  if (name === "mode") return page.setMode(value);
  if (name === "method") return page.set({ method: value === "more" ? OTHER_METHODS[0] : value }, true);
  const field = FIELDS[name];
  if (!field) return;
  const given = value === "" ? undefined : value;
  if (type === "checkbox") page.set({ [name]: control.checked }, true);
  else if (field.kind === "list") page.set({ [name]: given && [given] }, true);
  else if (control instanceof HTMLSelectElement && field.kind === "integer") page.set({ [name]: given && Number(given) }, true);
  else if (field.kind === "choice") page.set({ [name]: given }, true);
  else page.commit();
  page.render();
}

/** A button's data attribute names what it does. */
/** @type {Record<string, (page: Calculator, value: string, button: Element) => unknown>} */
const BUTTONS = {
  change: (page, value, button) => page.change(JSON.parse(value), button.closest(".aj-levers, .aj-fixes") !== null),
  reset: (page, name) => page.change({ [name]: undefined }),
  undo: (page, step) => page.takeBack(Number(step)),
  hub: (page, name) => page.askHub(name),
  unpin: (page, column) => page.unpin(Number(column)),
  compare: (page, column) => page.compareWith(Number(column)),
  paste: (page, kind) => page.paste().then((box) => box.read(kind)),
  take: (page, what) => page.takeaway(what),
  copy: (page, file, button) => page.copyFile(Number(file), button),
  measure: (page, what) => page.measured(what),
  share: (page, what, button) => page.share(what, button),
  toggle: (page) => page.toggleData(),
  start: (page) => page.restart(),
};

/** @param {Calculator} page @param {HTMLElement} button */
function pressed(page, button) {
  for (const [name, value] of Object.entries(button.dataset)) BUTTONS[name]?.(page, value ?? "", button);
}
