// Sections of the page: each file adds its own, main.js draws them in order.
npukit.sections = [];

/// Adds a section. `wants(doc)` returns whether the page has it; `draw({body, doc, run, scope})` fills it, again for each run if
/// it is `perRun`. A section that throws shows the error in its place, and the others are still drawn.
npukit.addSection = ({ id, title, wants = (doc) => doc.runs.length > 0, perRun = true, draw }) => {
  npukit.sections.push({ id, title, wants, perRun, draw });
};

npukit.drawSection = (() => {
  const { h } = npukit.dom;

  function frame({ id, title }) {
    const body = h("div", { class: "body" });
    const heading = h("h2", { id: `${id}-title`, tabindex: -1 }, title);
    return { body, element: h("section", { id, "aria-labelledby": `${id}-title` }, heading, body) };
  }

  /// Adds a section to the page and keeps it up to date.
  return (section, doc, main) => {
    const { body, element } = frame(section);
    main.append(element);
    let scope = npukit.state.scope();
    function draw() {
      scope.close();
      scope = npukit.state.scope();
      body.replaceChildren();
      try {
        section.draw({ body, doc, run: doc.runs[npukit.state.run], scope });
      } catch (error) {
        body.append(npukit.dom.missing(`This section could not be drawn: ${error.message}.`));
        console.error(`${section.id}: ${error.stack}`);
      }
    }
    draw();
    if (section.perRun) npukit.state.scope().on("run", draw);
  };
})();
