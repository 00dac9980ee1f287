// Elements out of plain values. Text from elsewhere only ever becomes text.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: `h("a", {class: "x", href: "#", onclick: f}, "text", child)`. Null and false are left out. */
export function h(tag, words, ...inside) {
  return fill(document.createElement(tag), words, inside);
}

/** Make an element of a drawing. */
export function s(tag, words, ...inside) {
  return fill(document.createElementNS(SVG, tag), words, inside);
}

function fill(node, words, inside) {
  for (const [word, value] of Object.entries(words ?? {})) set(node, word, value);
  add(node, inside);
  return node;
}

function set(node, word, value) {
  if (word.startsWith("on")) {
    if (value) node.addEventListener(word.slice(2), value);
  } else if (word === "style") {
    for (const [name, to] of Object.entries(value)) node.style.setProperty(name, to);
  } else if (word === "data") {
    for (const [name, to] of Object.entries(value)) if (to != null) node.dataset[name] = to;
  } else if (value === true) {
    node.setAttribute(word, "");
  } else if (value !== false && value != null) {
    node.setAttribute(word, String(value));
  }
}

function add(node, inside) {
  for (const one of inside) {
    if (Array.isArray(one)) add(node, one);
    else if (one != null && one !== false) node.append(one);
  }
}

/** Put these inside an element, in place of what was there. */
export function put(node, ...inside) {
  node.replaceChildren();
  add(node, inside);
  return node;
}

/** Write text where it is another one: an unchanged node keeps its selection. */
export function say(node, text) {
  const said = text == null ? "" : String(text);
  if (node.textContent !== said) node.textContent = said;
}

/** Give an attribute where it is another one. */
export function mark(node, word, value) {
  if (value == null || value === false) {
    if (node.hasAttribute(word)) node.removeAttribute(word);
  } else if (node.getAttribute(word) !== String(value)) {
    node.setAttribute(word, String(value));
  }
}

/**
 * Have `parent` hold one child per item, in order. Children of the same key stay, with their focus; `make(item)` makes
 * one, `renew(node, item)` brings it up to date.
 */
export function keyed(parent, items, key, make, renew) {
  const had = parent.kept ?? new Map();
  const kept = new Map();
  let at = parent.firstChild;
  for (const item of items) {
    const name = key(item);
    let node = had.get(name);
    if (node === undefined || kept.has(name)) node = make(item);
    kept.set(name, node);
    renew?.(node, item);
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  while (at !== null) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
  parent.kept = kept;
}
