// Assembles the page: title, sections, choice of the run, scheme, printing, and the address.
(() => {
  const { h, button, chooser, missing } = npukit.dom;
  const { state } = npukit;
  const SCHEMES = ["auto", "light", "dark"];

  function readHash(doc) {
    const hash = state.parse();
    const run = Number(hash.get("run"));
    state.run = Number.isInteger(run) && run > 0 && run < doc.runs.length ? run : 0;
    const layer = hash.get("layer");
    state.layer = layer !== null && doc.runs.some((one) => one.byKey.has(layer)) ? layer : null;
  }

  /// Called when the address was edited, or on navigation.
  function followHash(doc) {
    const before = state.run;
    const shown = state.layer;
    readHash(doc);
    if (state.run !== before) state.emit("run", state.run);
    if (state.layer !== shown) state.emit("select", state.layer, "address");
  }

  function goTo(id) {
    const heading = document.getElementById(`${id}-title`) ?? document.getElementById(id);
    heading.scrollIntoView();
    heading.focus({ preventScroll: true });
  }

  /// Links that move the focus without changing the address, which holds the selection.
  function navigation(sections) {
    return h("ul", {}, sections.map(({ id, title }) => h("li", {}, h("a", { href: `#${id}`, onclick: (event) => {
      event.preventDefault();
      goTo(id);
    } }, title))));
  }

  function schemeButton() {
    let at = 0;
    const name = () => `Scheme: ${SCHEMES[at]}`;
    const turn = button(name(), () => {
      at = (at + 1) % SCHEMES.length;
      if (at === 0) delete document.documentElement.dataset.scheme;
      else document.documentElement.dataset.scheme = SCHEMES[at];
      turn.textContent = name();
      state.emit("scheme");
    }, { "data-name": "scheme" });
    return turn;
  }

  function controls(doc) {
    const place = document.getElementById("page-controls");
    if (doc.runs.length > 1) {
      const place2 = h("span", { "data-name": "run-chooser" });
      const fill = () => place2.replaceChildren(chooser("Run shown", doc.runs.map((run) => [run.index, run.label]), state.run, (run) => state.setRun(Number(run))));
      state.scope().on("run", fill);
      fill();
      place.append(place2);
    }
    place.append(schemeButton(), button("Print", () => window.print(), { "data-name": "print" }));
  }

  /// For printing, everything folded is opened, and canvases are drawn in print colors.
  function printing() {
    const paper = window.matchMedia("print");
    const opened = [];
    paper.addEventListener("change", () => {
      if (paper.matches) document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; opened.push(part); });
      else opened.splice(0).forEach((part) => { part.open = false; });
      state.emit("print");
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.emit("scheme"));
  }

  function header(doc) {
    document.title = doc.title;
    document.getElementById("title").textContent = doc.title;
    const models = [...new Set(doc.runs.map((run) => run.model))].join(", ");
    document.getElementById("meta").textContent = [models, `npukit ${doc.version}`].filter(Boolean).join(" \u00b7 ");
  }

  function start() {
    const doc = npukit.data.read();
    const main = document.getElementById("main");
    header(doc);
    readHash(doc);
    controls(doc);
    const sections = npukit.sections.filter((section) => section.wants(doc));
    document.getElementById("sections").append(navigation(sections));
    if (sections.length === 0) main.append(missing("This report has neither a run nor an exploration."));
    sections.forEach((section) => npukit.drawSection(section, doc, main));
    const place = document.getElementById("chosen");
    ["select", "run"].forEach((event) => state.scope().on(event, () => npukit.chosen.draw(doc, place)));
    npukit.chosen.draw(doc, place);
    window.addEventListener("hashchange", () => followHash(doc));
    document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
    printing();
  }

  try {
    start();
  } catch (error) {
    document.getElementById("main").append(missing(`The report could not be read: ${error.message}.`));
    throw error;
  }
})();
