// Builds elements. Text is only inserted as text nodes, as names of layers may contain markup.
"use strict";
const npukit = {};

npukit.dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function set(node, name, value) {
    if (value === null || value === undefined || value === false) return;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name === "vars") Object.entries(value).forEach(([key, to]) => node.style.setProperty(key, to));
    else node.setAttribute(name, value === true ? "" : value);
  }

  function fill(node, attributes, children) {
    Object.entries(attributes || {}).forEach(([name, value]) => set(node, name, value));
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  /// Creates an HTML element; attributes that begin with `on` are listeners, `vars` are style properties.
  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

  /// Creates an SVG element in the same way.
  const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  let lastId = 0;
  const freshId = (stem) => `${stem}-${(lastId += 1)}`;

  function button(label, onclick, attributes) {
    return h("button", { type: "button", onclick, ...attributes }, label);
  }

  /// Creates a labeled select box of `[value, text]` pairs; calls `change` with the value.
  function chooser(label, pairs, chosen, change) {
    const id = freshId("choose");
    const select = h("select", { id, onchange: () => change(select.value) },
      pairs.map(([value, text]) => h("option", { value, selected: String(value) === String(chosen) }, text)));
    return h("span", { class: "field" }, h("label", { for: id }, label), select);
  }

  function checkbox(label, checked, change) {
    const box = h("input", { type: "checkbox", checked, onchange: () => change(box.checked) });
    return h("label", { class: "check" }, box, label);
  }

  function details(summary, ...content) {
    return h("details", {}, h("summary", {}, summary), content);
  }

  const missing = (sentence) => h("p", { class: "missing" }, sentence);

  return { h, s, freshId, button, chooser, checkbox, details, missing };
})();
