// Makes the page's elements equal to new HTML while keeping what a person is doing: focus, typed text, open folds, scroll.

/**
 * @param {Element} target
 * @param {string} content HTML of what goes inside
 */
export function morph(target, content) {
  const template = document.createElement("template");
  template.innerHTML = content;
  children(target, template.content);
}

/** @param {Node} old @param {Node} fresh */
function children(old, fresh) {
  let current = old.firstChild;
  let next = fresh.firstChild;
  while (next) {
    const following = next.nextSibling;
    const match = current && find(current, next);
    if (match) {
      while (current !== match) current = remove(/** @type {ChildNode} */ (current));
      update(match, next);
      current = match.nextSibling;
    } else {
      old.insertBefore(next, current);
    }
    next = following;
  }
  while (current) current = remove(current);
}

/** @param {ChildNode} node */
function remove(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

/**
 * The node, from here on, that the fresh one continues: same kind and same key.
 * @param {ChildNode} from
 * @param {ChildNode} fresh
 */
function find(from, fresh) {
  const key = keyOf(fresh);
  if (!key) return from.nodeName === fresh.nodeName && !keyOf(from) ? from : null;
  for (let node = /** @type {ChildNode | null} */ (from); node; node = node.nextSibling) {
    if (node.nodeName === fresh.nodeName && keyOf(node) === key) return node;
  }
  return null;
}

/** @param {Node} node */
function keyOf(node) {
  if (!(node instanceof Element)) return "";
  return node.id || node.getAttribute("data-field") || "";
}

/** @param {ChildNode} old @param {ChildNode} fresh */
function update(old, fresh) {
  if (!(old instanceof Element) || !(fresh instanceof Element)) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.hasAttribute("data-keep")) return;
  // By name: a list of attributes would make an object of each.
  for (const name of old.getAttributeNames()) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old instanceof HTMLDetailsElement)) old.removeAttribute(name);
  }
  for (const name of fresh.getAttributeNames()) {
    const value = fresh.getAttribute(name) ?? "";
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  children(old, fresh);
  const focused = old === document.activeElement;
  if (old instanceof HTMLInputElement && fresh instanceof HTMLInputElement) {
    old.checked = fresh.checked;
    if (!focused && old.value !== fresh.value && old.type === "text") old.value = fresh.value;
  } else if (old instanceof HTMLSelectElement && fresh instanceof HTMLSelectElement) {
    old.value = fresh.value;
  }
}
