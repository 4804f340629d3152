// The timeline as tables: units over the whole program, the current view, and instructions by kind.
npukit.timelineTables = (() => {
  const { h } = npukit.dom;
  const { int, percent } = npukit.numbers;
  const { Table, bar } = npukit.table;
  const { list } = npukit.data;
  const { state } = npukit;
  const PAUSE_MS = 120;

  const number = (key, label, write) => ({ key, label, number: true, value: (row) => row[key], show: (row) => write(row[key]) });

  function units(run) {
    const rows = list(run.time?.units);
    if (rows.length === 0) return null;
    const waits = (row) => list(row.waits).map((wait) => `${wait.on}: ${int(wait.cycles)}`).join("; ");
    return new Table({
      name: "units", caption: "Units", rows, columns: [
        { key: "unit", label: "unit", value: (row) => row.unit },
        { key: "share", label: "busy", value: (row) => row.share, number: true, show: (row) => bar(row.share, percent(row.share)) },
        number("busy", "cycles busy", int),
        { key: "waits", label: "waits for (cycles)", kind: "prose", value: waits, show: (row) => waits(row) || "nothing" },
      ],
    }).element;
  }

  function kinds(run) {
    const rows = list(run.time?.kinds);
    if (rows.length === 0) return null;
    return new Table({
      name: "kinds", caption: "Instructions by kind", rows, columns: [
        { key: "kind", label: "kind", value: (row) => row.kind },
        { key: "share", label: "share of cycles", value: (row) => row.share, number: true, show: (row) => bar(row.share, percent(row.share)) },
        number("cycles", "cycles", int), number("instructions", "instructions", int), number("vectors", "vectors", int),
      ],
    }).element;
  }

  /// Cycles of each layer, each counted once, by what takes them.
  function causes(run) {
    const layers = list(run.time?.layers);
    const rows = list(run.timeline?.causes).map((row, at) => {
      const ideal = Math.min(row.compute, layers[at]?.roofline?.compute ?? 0);
      return { ...row, name: row.name || "(no layer)", ideal, unfilled: row.compute - ideal };
    });
    if (rows.length === 0) return null;
    return new Table({
      name: "causes", caption: "Cycles by cause; each counts once, for the first cause that is present", rows, columns: [
        { key: "name", label: "layer", kind: "name", value: (row) => row.name },
        number("ideal", "ideal compute", int), number("unfilled", "array not filled", int), number("weights", "loading weights", int),
        number("dram", "DRAM", int), number("alus", "ALUs", int), number("moves", "moves on the chip", int), number("waits", "waits", int),
      ],
    }).element;
  }

  function viewRow(view, row) {
    const { slices } = row;
    const { held, worked, low, high } = slices.shares(...state.range);
    const most = low < high ? view.timeline.names[slices.mostly(slices.name, low, high)] : null;
    return { name: row.name, slices: high - low, held, worked, most };
  }

  /// A table of the cycles in view, updated with a delay after they change, and only while it is open.
  function inView(view, scope) {
    const rows = () => view.all.filter((row) => row.slices).map((row) => viewRow(view, row));
    const table = new Table({
      name: "in-view", caption: "Cycles in view", rows: rows(), columns: [
        { key: "name", label: "unit", value: (row) => row.name },
        number("slices", "slices", int), number("held", "held", percent), number("worked", "worked or waited", percent),
        { key: "most", label: "mostly", value: (row) => row.most },
      ],
    });
    let timer = 0;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => table.setRows(rows()), PAUSE_MS);
    };
    scope.on("range", later);
    scope.end(() => clearTimeout(timer));
    return h("div", {}, table.element);
  }

  return { units, kinds, causes, inView };
})();
