// Elements, and changing a page in place.
//
// A view is a function that builds elements with h() and s(); morph() makes the page equal to them by changing only
// what differs. So a refresh every second moves no scroll position, loses no focus and no selection. Data only ever
// becomes text nodes and attributes: nothing is parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
const HANDLERS = ["onclick", "oninput", "onchange", "onkeydown", "onsubmit", "onpointermove", "onpointerleave", "ontoggle"];

function build(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element[name.toLowerCase()] = value;
    else if (name === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (name === "class") element.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false && child !== "")
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/** An element of HTML: h("p", {class: "quiet"}, "text", other). */
export const h = (tag, props, ...children) => build(document.createElement(tag), props, children);

/** An element of SVG. */
export const s = (tag, props, ...children) => build(document.createElementNS(SVG, tag), props, children);

/** Makes the children of `parent` equal to `children`, keeping elements that have the same tag and `data-key`. */
export function render(parent, ...children) {
  morphChildren(parent, flat(children));
}

const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

function morphChildren(parent, wanted) {
  const keyed = new Map();
  for (const child of parent.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
  let at = parent.firstChild;
  for (const next of wanted) {
    const known = keyOf(next) ? keyed.get(keyOf(next)) : null;
    if (known && known !== at && alike(known, next)) parent.insertBefore(known, at);
    const current = known && alike(known, next) ? known : at;
    if (current && alike(current, next)) {
      morph(current, next);
      at = current.nextSibling;
    } else {
      parent.insertBefore(next, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function morph(old, next) {
  if (old.nodeType === 3) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  morphAttributes(old, next);
  for (const handler of HANDLERS) if (old[handler] !== next[handler]) old[handler] = next[handler];
  if (old.hasAttribute("data-keep")) return; // its owner changes what is inside
  morphChildren(old, [...next.childNodes]);
}

function morphAttributes(old, next) {
  for (const { name, value } of next.attributes) {
    if (name === "style") {
      if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
    } else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    // What people have opened, typed or chosen stays as they left it.
    if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
}
