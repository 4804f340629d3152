// Exploration: all points by any two figures, the Pareto front, and a table of the selected points.
(() => {
  const { h, button, chooser, details, missing } = npukit.dom;
  const { int, short, plural, known, percent } = npukit.numbers;
  const { Table } = npukit.table;
  const { list } = npukit.data;

  const SHARES = new Set(["relative_error", "argmax_agree", "utilization"]);
  const write = (figure, value) => (SHARES.has(figure.key) ? percent(value, 2) : Number.isInteger(value) ? int(value) : short(value, 4));

  class Exploration {
    constructor(exploration, scope) {
      this.exploration = exploration;
      this.space = npukit.points.read(exploration);
      this.selection = new Set();
      const of = (key) => this.space.figures.find((figure) => figure.key === key);
      const [first, second] = this.space.objectives.map(({ key }) => of(key)).filter(Boolean);
      this.x = first ?? this.space.figures[0];
      this.y = second ?? this.space.figures.find((figure) => figure !== this.x) ?? this.x;
      this.color = this.named(exploration.color_by);
      this.label = this.named(exploration.label_by);
      this.legend = h("div", {});
      this.filters = npukit.paretoFilters(this.space, () => this.update());
      this.passes = this.filters.passes;
      this.shown = h("output", { "data-name": "pareto-count" });
      this.said = h("p", { class: "quiet", role: "status" });
      this.plot = new npukit.paretoPlot.Plot(this, scope);
      this.table = this.makeTable();
      this.colorBy(this.color?.key ?? "");
    }

    /// Returns the figure or parameter with this name or with this last part of a name; null without one.
    named(name) {
      const all = npukit.points.choices(this.space);
      return all.find(({ key }) => key === name) ?? all.find(({ key }) => name && key.endsWith(`.${name}`)) ?? null;
    }

    colorBy(key) {
      this.color = this.named(key);
      const colors = this.color && npukit.paretoColors(this.space.points, this.color);
      this.colorOf = (point) => colors?.of(point) ?? null;
      this.legend.replaceChildren(...(colors ? [colors.legend] : []));
      this.update();
    }

    labelOf(point) {
      return this.label ? String(this.label.value(point) ?? "") : String(point.index);
    }

    facts(point) {
      return [...this.space.parameters.map((name) => [name, String(point.flat.get(name) ?? "none")]),
        ...this.space.figures.filter((figure) => !figure.isParameter).map((figure) => [figure.label, write(figure, figure.value(point))]),
        ["feasible", point.feasible ? "yes" : "no"], ["on the front", point.pareto ? "yes" : null], ["error", point.error ?? null]];
    }

    makeTable() {
      const yes = (value) => (value ? "yes" : "no");
      const { first, figures, parameters } = npukit.points.columns(this.space);
      const hasUnfit = this.space.points.some((point) => !point.feasible);
      const numbers = (all) => all.map((figure) => ({ key: figure.key, label: figure.label, number: true, value: figure.value,
        show: (point) => write(figure, figure.value(point)) }));
      const hasErrors = this.space.points.some((point) => point.error);
      return new Table({
        name: "points", caption: "Points", rows: [], keyOf: (point) => point.key, empty: "No point passes the filters.", columns: [
          { key: "index", label: "#", number: true, value: (point) => point.index },
          ...numbers(first),
          ...parameters.map((name) => ({ key: `parameter-${name}`, label: name,
            number: this.space.points.every((point) => known(point.flat.get(name) ?? 0)), value: (point) => point.flat.get(name) ?? null })),
          ...numbers(figures),
          { key: "pareto", label: "on the front", value: (point) => yes(point.pareto) },
          ...(hasUnfit ? [{ key: "feasible", label: "feasible", value: (point) => yes(point.feasible) }] : []),
          ...(hasErrors ? [{ key: "error", label: "error", value: (point) => point.error ?? null }] : []),
        ],
      });
    }

    /// Returns the points of the table: the selected ones, or all that pass if none is selected.
    current() {
      const { points } = this.space;
      return this.selection.size ? points.filter((point) => this.selection.has(point.key)) : points.filter(this.passes);
    }

    select(keys) {
      this.selection = keys;
      this.update();
    }

    toggle(key) {
      const keys = new Set(this.selection);
      if (!keys.delete(key)) keys.add(key);
      this.select(keys);
    }

    say(text) {
      this.said.textContent = text;
    }

    update() {
      const rows = this.current();
      const passing = this.space.points.filter(this.passes).length;
      this.shown.textContent = `${this.selection.size ? `${plural(this.selection.size, "point")} selected` : "none selected: all matching points are listed"}; `
        + `${int(passing)} of ${plural(this.space.points.length, "point")} pass the filters`;
      this.table.setRows(rows);
      this.plot.surface.redraw();
    }

    axisChooser(name, label) {
      return chooser(label, this.space.figures.map((figure) => [figure.key, figure.label]), this[name].key, (key) => {
        this[name] = this.space.figures.find((figure) => figure.key === key);
        this.plot.cursor = -1;
        this.update();
      });
    }

    colorChooser() {
      const choices = npukit.points.choices(this.space).map(({ key, label }) => [key, label]);
      return chooser("Color by", [["", "nothing"], ...choices], this.color?.key ?? "", (key) => this.colorBy(key));
    }

    /// Returns a sentence on what the table leaves out.
    constants() {
      const { constant } = npukit.points.columns(this.space);
      return constant.length ? `Same for all points: ${constant.map(([name, value]) => `${name} ${value}`).join(", ")}.` : "";
    }

    /// Offers the listed points as a file, made in the page.
    download() {
      const text = npukit.points.csv(this.space, this.table.shown());
      const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      const link = h("a", { href: address, download: "points.csv", hidden: true });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    }

    controls() {
      return h("div", { class: "controls" }, this.axisChooser("x", "Across"), this.axisChooser("y", "Up"), this.colorChooser(),
        button("Select the front", () => this.select(new Set(this.space.points.filter((p) => p.pareto && this.passes(p)).map((p) => p.key)))),
        button("Clear selection", () => this.select(new Set())),
        button("Download as CSV", () => this.download(), { "data-name": "download" }));
    }

    words() {
      const { exploration, space } = this;
      const infeasible = space.points.filter((point) => !point.feasible).length;
      const front = space.points.filter((point) => point.pareto).length;
      const merged = exploration.merged ? `; ${int(exploration.merged)} that are nearly equal are merged into them` : "";
      return `${plural(space.points.length, "point")} for ${list(exploration.models).join(", ")}; objectives: ${list(exploration.objectives).join(", ") || "none"}. `
        + `${int(front)} are on the front (ringed)${merged}, ${int(infeasible)} infeasible (hollow), ${int(exploration.pruned ?? 0)} left out because a lower bound `
        + "shows that others dominate them.";
    }

    pruned() {
      const { pruned } = this.space;
      if (pruned.length === 0) return null;
      const number = (key, label, w) => ({ key, label, number: true, value: (point) => point[key] ?? null, show: (point) => w(point[key]) });
      const table = new Table({ name: "pruned", caption: "Points left out", rows: pruned, columns: [
        number("index", "#", int), { key: "target", label: "target", value: (point) => point.target },
        number("bound_milliseconds", "at least, ms", (value) => short(value, 4)), number("beaten_by", "dominated by #", int)] });
      return details(`Points left out (${pruned.length})`, table.element);
    }
  }

  npukit.addSection({
    id: "exploration", title: "Exploration", wants: (doc) => Boolean(doc.exploration), perRun: false,
    draw({ body, doc, scope }) {
      if (list(doc.exploration.points).length === 0) return body.append(missing("The exploration has no points."));
      const view = new Exploration(doc.exploration, scope);
      const warnings = list(doc.exploration.warnings);
      if (view.space.figures.length === 0) body.append(missing("No point has figures to draw."));
      body.append(h("p", {}, view.words()));
      if (warnings.length) body.append(h("div", { class: "warnings" }, h("h3", {}, "Warnings"), h("ul", {}, warnings.map((text) => h("li", {}, text)))));
      body.append(view.controls(), h("p", { class: "quiet" }, "Drag a rectangle to select points, with Shift to add; click a point to add or remove it."),
        view.legend, view.plot.surface.host, view.said, h("h3", {}, "Filters"), view.filters.element, h("p", { class: "quiet" }, view.shown),
        h("p", { class: "quiet", "data-name": "constants" }, view.constants()), view.table.element);
      const pruned = view.pruned();
      if (pruned) body.append(pruned);
    },
  });
})();
