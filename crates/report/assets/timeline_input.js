// Reactions of the timeline to the pointer and the keys.
npukit.timelineInput = (() => {
  const { int, percent, short, duration, plural } = npukit.numbers;
  const { state } = npukit;
  const drawing = npukit.timelineDraw;

  /// Returns the row and cycle below the pointer.
  function spot(view, event) {
    const box = view.surface.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { placed } = drawing.layout(view.rows(), box.width);
    const left = drawing.gutter(box.width);
    const row = placed.find(({ top, height }) => y >= top && y < top + height + 1);
    const [from, to] = state.range;
    const pixel = (to - from) / (box.width - left - 4);
    return { row, x, left, width: box.width, pixel, cycle: from + (x - left) * pixel };
  }

  function counterTip(view, event, { row, cycle }) {
    const at = npukit.slices.first(row.cycles, cycle) - 1;
    if (at < 0) return npukit.plot.tip(null);
    npukit.plot.tip(event, row.name, [["value", `${short(row.values[at], 4)} ${row.unit || ""}`], ["from cycle", int(row.cycles[at])]]);
  }

  const time = (view, cycles) => duration(cycles, view.run.figures.clock);

  function sliceTip(view, event, row, at) {
    const { slices } = row;
    const cycles = slices.end[at] - slices.start[at];
    npukit.plot.tip(event, view.timeline.names[slices.name[at]], [
      [row.kind === "wait" ? "of" : "unit", row.name],
      ["layer", view.timeline.layers[slices.layer[at]] ?? null],
      ["cycles", `${int(slices.start[at])} to ${int(slices.end[at])}`],
      ["lasts", `${plural(cycles, "cycle")}${time(view, cycles) ? `, ${time(view, cycles)}` : ""}`],
      [row.kind === "wait" ? "waited" : "worked", `${plural(slices.busy[at], "cycle")}, ${percent(slices.busy[at] / cycles)}`],
      ["joined", slices.count[at] > 1 ? plural(slices.count[at], "slice") : null],
    ]);
  }

  /// Returns the content of a column of pixels with narrower slices.
  function columnTip(view, event, row, from, to) {
    const { slices } = row;
    const { held, worked, low, high } = slices.shares(from, to);
    if (low >= high) return npukit.plot.tip(null);
    if (high - low === 1) return sliceTip(view, event, row, low);
    npukit.plot.tip(event, `${plural(high - low, "slice")} in ${plural(Math.round(to - from), "cycle")}`, [
      ["unit", row.name],
      ["mostly", view.timeline.names[slices.mostly(slices.name, low, high)]],
      ["layer", view.timeline.layers[slices.mostly(slices.layer, low, high)] ?? null],
      ["cycles", `${int(from)} to ${int(to)}`],
      ["held", percent(held)],
      [row.kind === "wait" ? "waited" : "worked", percent(worked)],
    ]);
  }

  function hover(view, event) {
    const here = spot(view, event);
    if (!here.row || here.x < here.left) return npukit.plot.tip(null);
    if (here.row.kind === "counter") return counterTip(view, event, here);
    const from = here.cycle - (here.pixel * 0.5);
    return columnTip(view, event, here.row, Math.max(0, from), from + Math.max(here.pixel, 1e-6));
  }

  function pick(view, event) {
    const { row, cycle, pixel } = spot(view, event);
    if (!row?.slices) return;
    const [low, high] = row.slices.within(cycle - pixel / 2, cycle + pixel / 2);
    const layer = low < high ? row.slices.mostly(row.slices.layer, low, high) : -1;
    const key = view.run.keys.timeline[layer];
    if (key !== undefined) state.toggle(key, "timeline");
  }

  return (view) => {
    const { element } = view.surface;
    npukit.pointer.drags(element, {
      drag: (dx) => state.pan(-dx / (element.clientWidth - drawing.gutter(element.clientWidth))),
      click: (event) => pick(view, event),
    });
    npukit.pointer.wheel(element,
      (factor, event) => {
        const { x, left, width } = spot(view, event);
        state.zoom(factor, Math.min(1, Math.max(0, (x - left) / (width - left))));
      },
      (sideways) => state.pan(sideways / element.clientWidth));
    npukit.pointer.keys(element, {
      "+": () => state.zoom(1.5), "=": () => state.zoom(1.5), "-": () => state.zoom(1 / 1.5), 0: () => state.all(),
      ArrowLeft: () => state.pan(-0.1), ArrowRight: () => state.pan(0.1), Home: () => state.pan(-1e9), End: () => state.pan(1e9),
    });
    element.addEventListener("pointermove", (event) => hover(view, event));
    element.addEventListener("pointerleave", () => npukit.plot.tip(null));
  };
})();
