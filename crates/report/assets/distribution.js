// Values of each layer compared with the range of the format: one large histogram, all small ones, and a table.
(() => {
  const { h, button, chooser, checkbox, details, missing } = npukit.dom;
  const { int } = npukit.numbers;
  const { Table } = npukit.table;
  const { list } = npukit.data;
  const { state, histogram } = npukit;

  /// Returns each distribution with the key of its layer.
  function entriesOf(run) {
    return list(run.distributions).map((one, index) => ({ index, one, key: run.keys.comparison[one.layer] ?? null }));
  }

  function titleOf({ one, key }) {
    return key === null || key === one.name ? one.name : `${one.name} (${key})`;
  }

  class View {
    constructor(run, scope) {
      Object.assign(this, { run, entries: entriesOf(run), log: false });
      this.at = Math.max(0, this.entries.findIndex(({ key }) => key === state.layer));
      this.title = h("h3", { "data-name": "histogram-title" });
      this.facts = h("ul", { class: "facts", "data-name": "histogram-facts" });
      this.surface = npukit.plot.drawing(scope, {
        name: "histogram", label: "", draw: (width) => histogram.large(this.entries[this.at].one, width, this.log),
      });
      this.strip = h("ul", { class: "strip", "aria-label": "All layers" });
      this.choose = h("span");
      this.bins = h("div");
      this.fillStrip();
      this.show(this.at);
      scope.on("select", (key) => this.follow(key));
    }

    follow(key) {
      const at = this.entries.findIndex((entry) => entry.key === key);
      this.absent.hidden = key === null || at >= 0;
      if (at >= 0) this.show(at);
    }

    /// Shows a distribution, and selects its layer.
    pick(at) {
      this.show(at);
      const { key } = this.entries[at];
      if (key !== null && state.layer !== key) state.select(key, "distribution");
      else if (key !== null) this.show(at);
    }

    show(at) {
      this.at = at;
      const entry = this.entries[at];
      const facts = histogram.words(entry.one);
      this.title.textContent = titleOf(entry);
      this.facts.replaceChildren(...facts.map((text) => h("li", {}, text)));
      this.surface.element.setAttribute("aria-label", `Values of ${titleOf(entry)} by magnitude. ${facts.join(" ")}`);
      this.surface.redraw();
      this.choose.replaceChildren(chooser("Layer", this.entries.map((one) => [one.index, titleOf(one)]), at, (value) => this.pick(Number(value))));
      [...this.strip.children].forEach((item, index) => item.firstChild.setAttribute("aria-pressed", String(index === at)));
      this.bins.replaceChildren(this.table(entry.one));
    }

    fillStrip() {
      // All share one scale, so that they can be compared.
      const extents = this.entries.map(({ one }) => histogram.extent(one));
      const whole = [Math.min(...extents.map(([low]) => low)), Math.max(...extents.map(([, high]) => high))];
      this.strip.replaceChildren(...this.entries.map((entry, at) => h("li", {},
        button([histogram.small(entry.one, whole, this.log), h("span", { class: "clip" }, entry.one.name)], () => this.pick(at),
          { title: titleOf(entry), "aria-pressed": "false" }))));
    }

    table(one) {
      const rows = one.chip.map((chip, at) => ({ low: one.low + at, chip, float: one.float[at] })).filter((row) => row.chip || row.float);
      const number = (key, label) => ({ key, label, number: true, value: (row) => row[key], show: (row) => int(row[key]) });
      const zero = { low: -Infinity, chip: one.chip_zeros, float: one.float_zeros };
      return new Table({
        name: "bins", caption: "Values by magnitude", rows: [zero, ...rows], columns: [
          { key: "low", label: "magnitude", value: (row) => row.low,
            show: (row) => (row === zero ? "zero" : `${histogram.power(row.low)} up to ${histogram.power(row.low + 1)}`) },
          number("float", "float"), number("chip", "chip")],
      }).element;
    }

    element() {
      this.absent = missing("The selected layer has no values of its own; another layer is shown.");
      this.absent.hidden = state.layer === null || this.entries.some(({ key }) => key === state.layer);
      const legend = h("span", { class: "legend-inline" }, h("span", { class: "swatch float" }), "float ", h("span", { class: "swatch chip" }), "chip");
      const logarithmic = checkbox("logarithmic counts", false, (on) => {
        this.log = on;
        this.fillStrip();
        this.show(this.at);
      });
      return [h("div", { class: "controls" }, this.choose, logarithmic, legend), this.absent, this.title, this.surface.host, this.facts,
        details("As a table", this.bins), h("h3", {}, "All layers"), this.strip];
    }
  }

  npukit.addSection({
    id: "values", title: "Values and the number format",
    draw({ body, run, scope }) {
      if (list(run.distributions).length === 0) {
        const why = npukit.data.uncompared(run) || "the target does not report values";
        return body.append(missing(`No values were measured: ${why}.`));
      }
      body.append(...new View(run, scope).element());
    },
  });
})();
