// Timeline of units: zoomed by wheel, keys and buttons, searched by operation, linked with the selected layer.
npukit.timeline = (() => {
  const { h, button, chooser, checkbox, details, freshId, missing } = npukit.dom;
  const { int, plural, duration } = npukit.numbers;
  const { state } = npukit;
  const { Slices } = npukit.slices;
  const drawing = npukit.timelineDraw;

  /// Rows in order: each track with its waits and counters, and finally counters without a track.
  function rowsOf(timeline) {
    const tracks = timeline.tracks.map((track, index) =>
      ({ ...track, index, kind: track.parent === null || track.parent === undefined ? "track" : "wait", slices: new Slices(track.slices) }));
    const counters = npukit.data.list(timeline.counters).map((counter) => {
      const values = counter.points.filter((_, at) => at % 2 === 1);
      return { ...counter, kind: "counter", cycles: counter.points.filter((_, at) => at % 2 === 0), values,
        most: values.reduce((most, value) => Math.max(most, value), 0) };
    });
    // Waits and counters of a unit have its name.
    [...tracks, ...counters].forEach((row) => {
      const unit = tracks[row.parent]?.name;
      if (unit !== undefined && !row.name.startsWith(unit)) row.name = `${unit}: ${row.name}`;
    });
    const below = (index) => [...tracks, ...counters].filter((row) => row.parent === index);
    const loose = counters.filter((row) => row.parent === null || row.parent === undefined);
    return [...tracks.filter((row) => row.kind === "track").flatMap((row) => [row, ...below(row.index)]), ...loose];
  }

  /// Returns the first and last cycle of a layer: on the track of layers if it exists, otherwise on any track.
  function extent(rows, layer) {
    const tracks = rows.filter((row) => row.kind === "track");
    const own = tracks.filter((row) => row.name === "layers");
    let [from, to] = [Infinity, -Infinity];
    (own.length ? own : tracks).forEach(({ slices }) => {
      for (let at = 0; at < slices.length; at += 1) {
        if (slices.layer[at] === layer) [from, to] = [Math.min(from, slices.start[at]), Math.max(to, slices.end[at])];
      }
    });
    return from < to ? [from, to] : null;
  }

  /// Brings a layer into view, with some margin.
  function showLayer(run, rows, key) {
    const index = run.byKey.get(key)?.timeline;
    const found = index === undefined ? null : extent(rows, index);
    if (!found) return;
    const margin = (found[1] - found[0]) * 0.05;
    state.setRange(found[0] - margin, found[1] + margin);
  }

  const rowCache = new WeakMap();
  function cachedRows(timeline) {
    if (!rowCache.has(timeline)) rowCache.set(timeline, rowsOf(timeline));
    return rowCache.get(timeline);
  }

  function zoomButtons() {
    return h("span", { class: "group", role: "group", "aria-label": "Zoom" },
      button("+", () => state.zoom(2), { "aria-label": "Zoom in", "data-name": "zoom-in" }),
      button("\u2212", () => state.zoom(0.5), { "aria-label": "Zoom out", "data-name": "zoom-out" }),
      button("\u25c0", () => state.pan(-0.25), { "aria-label": "Earlier" }),
      button("\u25b6", () => state.pan(0.25), { "aria-label": "Later" }),
      button("All", () => state.all(), { "aria-label": "Show all cycles", "data-name": "zoom-all" }));
  }

  class View {
    constructor(run, scope, body) {
      Object.assign(this, { run, scope, body, byName: false, searched: false, waits: true, counters: true, matches: [], match: -1 });
      this.timeline = run.timeline;
      this.all = cachedRows(run.timeline);
      this.all.forEach((row) => row.slices?.search(new Set()));
      this.surface = npukit.plot.canvas(scope, {
        name: "timeline", label: this.words(), heightOf: (width) => drawing.layout(this.rows(), width).height,
        draw: (context, width, colors) => drawing.draw(context, width, state.range, this.rows(), colors, this.look()),
      });
      this.range = h("output", { "data-name": "timeline-range", class: "quiet" });
      body.append(this.controls(), this.surface.host, this.hint());
      this.listen();
      this.tell();
    }

    words() {
      return `Timeline of ${plural(this.all.filter((row) => row.kind === "track").length, "unit")} over ${int(this.timeline.cycles)} cycles. `
        + "Plus and minus zoom, arrows move, 0 shows all. The tables below have the same data.";
    }

    rows() {
      return this.all.filter((row) => (row.kind !== "wait" || this.waits) && (row.kind !== "counter" || this.counters));
    }

    look() {
      const key = state.layer;
      const chosen = key === null ? null : this.run.byKey.get(key)?.timeline ?? null;
      const gray = npukit.colors.scheme().muted;
      return { byName: this.byName, searched: this.searched, chosenLayer: chosen, names: this.timeline.names,
        layerColor: (layer) => (layer < 0 ? gray : npukit.colors.kind(layer)) };
    }

    controls() {
      const redraw = () => this.surface.redraw();
      return h("div", { class: "controls" }, zoomButtons(),
        chooser("Color by", [["layer", "layer"], ["name", "operation"]], "layer", (by) => { this.byName = by === "name"; redraw(); }),
        this.searchBox(),
        checkbox("waits", true, (on) => { this.waits = on; redraw(); }),
        checkbox("counters", true, (on) => { this.counters = on; redraw(); }), this.range);
    }

    hint() {
      const merged = this.timeline.merged > 1 ? ` Slices closer than ${int(this.timeline.merged)} cycles were merged; gaps within them are drawn as held.` : "";
      return h("p", { class: "quiet" }, "The height of a block is the share of its cycles in which the unit worked; cycles that it only "
        + "held are pale, and its waits are in the thin row below it. After a click on the timeline, the wheel zooms "
        + `(elsewhere with Control); drag to move; keys + \u2212 arrows 0.${merged}`);
    }

    searchBox() {
      const [id, options] = [freshId("search"), freshId("names")];
      this.found = h("output", { class: "quiet", "data-name": "timeline-found" });
      const input = h("input", { id, type: "search", list: options, "data-name": "timeline-search", autocomplete: "off" });
      input.addEventListener("input", () => this.search(input.value));
      npukit.pointer.keys(input, { Enter: (event) => this.step(event.shiftKey ? -1 : 1) });
      return h("span", { class: "field" }, h("label", { for: id }, "Find operation"), input,
        h("datalist", { id: options }, [...new Set(this.timeline.names)].sort().map((value) => h("option", { value }))),
        button("\u2039", () => this.step(-1), { "aria-label": "Previous found" }),
        button("\u203a", () => this.step(1), { "aria-label": "Next found", "data-name": "timeline-next" }), this.found);
    }

    search(text) {
      const wanted = text.trim().toLowerCase();
      const names = new Set(this.timeline.names.flatMap((name, at) => (wanted && name.toLowerCase().includes(wanted) ? [at] : [])));
      const rows = this.all.filter((row) => row.kind === "track");
      this.all.forEach((row) => row.slices?.search(names));
      this.searched = wanted !== "";
      this.matches = rows.flatMap(({ slices }) =>
        Array.from(slices.start.keys()).filter((at) => names.has(slices.name[at])).map((at) => [slices.start[at], slices.end[at]]));
      this.matches.sort(([a], [b]) => a - b);
      this.match = -1;
      this.found.textContent = this.searched ? plural(this.matches.length, "slice") : "";
      this.surface.redraw();
    }

    /// Goes to the next match after the middle of the view, or before it.
    step(by) {
      if (this.matches.length === 0) return;
      const center = (state.range[0] + state.range[1]) / 2;
      if (this.match < 0) this.match = this.matches.findIndex(([from]) => from >= center) - (by > 0 ? 1 : 0);
      this.match = (this.match + by + this.matches.length) % this.matches.length;
      const [from, to] = this.matches[this.match];
      const width = Math.max(20 * (to - from), Math.min(state.range[1] - state.range[0], 4000));
      state.setRange((from + to - width) / 2, (from + to + width) / 2);
      this.found.textContent = `${int(this.match + 1)} of ${plural(this.matches.length, "slice")}`;
    }

    tell() {
      const [from, to] = state.range;
      const time = duration(to - from, this.run.figures.clock);
      this.range.textContent = `cycles ${int(from)} to ${int(to)}${time ? ` (${time})` : ""}`;
    }

    listen() {
      const { surface, scope } = this;
      scope.on("range", () => { surface.redraw(); this.tell(); });
      scope.on("select", (key, source) => {
        if (key !== null && source !== "timeline") showLayer(this.run, this.all, key);
        surface.redraw();
      });
      npukit.timelineInput(this);
    }
  }

  npukit.addSection({
    id: "timeline", title: "Timeline of units",
    draw({ body, run, scope }) {
      state.setWhole(run.cycles);
      if (!run.timeline) {
        return body.append(missing(`The timeline is missing: ${run.timeline_missing || "no program was timed"}.`), npukit.timelineTables.units(run) ?? "");
      }
      const view = new View(run, scope, body);
      if (state.layer !== null) showLayer(run, view.all, state.layer);
      const table = npukit.timelineTables.inView(view, scope);
      body.append(details("Units over the whole program, and their waits", npukit.timelineTables.units(run) ?? missing("Not computed.")),
        details("What is in view, as a table", table),
        details("Cycles by layer and cause", npukit.timelineTables.causes(run) ?? missing("Not computed.")),
        details("Instructions by kind", npukit.timelineTables.kinds(run) ?? missing("Not computed.")));
    },
  });

  return { rowsOf };
})();
