// Table of all layers: cost, bound and error of each.
(() => {
  const { details, h, freshId, missing } = npukit.dom;
  const { int, percent, short, ratio, decibels, energy, plural } = npukit.numbers;
  const { Table, bar } = npukit.table;

  const errorOf = (name) => (row) => row.comparison?.[name] ?? null;
  const timeOf = (name) => (row) => row.time?.[name] ?? null;
  const energyOf = (name) => (row) => row.energy?.[name] ?? null;
  const boundOf = (name) => (row) => row.time?.roofline?.[name] ?? null;

  const number = (key, label, value, write, hint) => ({ key, label, hint, number: true, value, show: (row) => write(value(row)) });

  function timed(widest) {
    return [
      number("cycles", "cycles", timeOf("cycles"), int),
      { key: "share", label: "share", value: timeOf("share"), number: true, hint: "Share of all cycles; the bar is relative to the largest",
        show: (row) => (row.time ? bar(row.time.share / widest, percent(row.time.share)) : null) },
      number("first", "first cycle", timeOf("first_cycle"), int, "First cycle in which a unit works for the layer; layers overlap, because units work ahead"),
      number("last", "last cycle", timeOf("last_cycle"), int, "Last cycle in which a unit works for the layer"),
      number("macs", "MACs", timeOf("macs_computed"), int, "Multiply-accumulates that the program computes"),
      number("utilization", "utilization", timeOf("utilization"), percent,
        "Utilization of the multipliers from the layer's first to its last cycle"),
      { key: "bound", label: "bound", value: boundOf("bound"), hint: "Limit of the layer according to the roofline",
        show: (row) => row.time && h("span", { class: `bound ${row.time.roofline?.bound}` }, row.time.roofline?.bound) },
      number("distance", "vs roofline", boundOf("distance"), ratio, "Cycles from the first to the last, divided by the roofline bound"),
    ];
  }

  /// Energy of each layer, by multiply-accumulates and memories.
  function energies(run) {
    const found = run.time.energy;
    const of = (name) => (row) => row.energy?.memories?.[name] ?? null;
    const memories = Object.keys(found.memories).map((name) => number(`energy-${name}`, name, of(name), energy));
    return new Table({
      name: "energies", caption: `Energy by ${found.technology}`, rows: run.layers,
      columns: [
        { key: "name", label: "layer", kind: "name", value: (row) => row.name },
        number("joules", "energy", energyOf("joules"), energy), number("energy-macs", "MACs", energyOf("macs"), energy), ...memories,
      ],
    }).element;
  }

  /// Whether a layer has a number of such results.
  const has = (run, name) => run.layers.some((layer) => layer.comparison?.[name] > 0);

  function compared(run) {
    return [
      number("own", "own error", errorOf("own_max_abs_error"), short, "Largest difference to the layer in float on the chip's own operands"),
      number("chain", "chain error", errorOf("chain_max_abs_error"), short, "Largest difference to the whole network in float"),
      number("snr", "SNR", errorOf("chain_signal_to_noise_db"), decibels, "Signal to noise against the whole network in float"),
      has(run, "saturations") && number("saturations", "saturations", errorOf("saturations"), int, "Results that did not fit the number format"),
      has(run, "underflows") && number("underflows", "underflows", errorOf("underflows"), int, "Results that became zero"),
    ];
  }

  function columnsOf(run) {
    const widest = Math.max(1e-9, ...run.layers.map((layer) => layer.time?.share || 0));
    return [
      { key: "order", label: "#", number: true, value: (row) => row.order + 1 },
      { key: "name", label: "layer", kind: "name", value: (row) => row.name,
        show: (row) => h("span", { class: "clip", title: row.name }, row.name) },
      ...(run.time ? timed(widest) : []),
      ...(run.time?.energy ? [number("energy", "energy", energyOf("joules"), energy, "Energy of a run by the technology table")] : []),
      ...(run.run?.layer_compare ? compared(run) : []),
      ...(run.time ? [number("instructions", "instructions", timeOf("instructions"), int)] : []),
    ].filter(Boolean);
  }

  function filterBox(table, count, total) {
    const id = freshId("filter");
    const input = h("input", { id, type: "search", "data-name": "layer-filter", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const textOf = (row) => [row.name, row.time?.roofline?.bound, ...(row.comparison?.operators || [])].join(" ").toLowerCase();
      table.filter((row) => words.every((word) => textOf(row).includes(word)));
      count.textContent = `${int(table.shown().length)} of ${plural(total, "layer")}`;
    });
    return h("span", { class: "field" }, h("label", { for: id }, "Filter by name, operator or bound"), input);
  }

  npukit.addSection({
    id: "layers", title: "Layers",
    draw({ body, run, scope }) {
      if (run.layers.length === 0) return body.append(missing("No layers are known: the report has neither times nor a comparison."));
      const columns = columnsOf(run);
      // The layer's name is the row header and is selectable; its index follows.
      [columns[0], columns[1]] = [columns[1], columns[0]];
      const table = new Table({
        name: "layers", caption: "Layers in program order", columns, rows: run.layers,
        keyOf: (row) => row.key, pick: (row) => npukit.state.toggle(row.key, "layers"), empty: "No layer passes the filter.",
      });
      const count = h("output", { class: "quiet" }, plural(run.layers.length, "layer"));
      body.append(h("div", { class: "controls" }, filterBox(table, count, run.layers.length), count));
      if (!run.run?.layer_compare) body.append(missing(`Errors and saturations are missing: ${npukit.data.uncompared(run)}.`));
      else if (!has(run, "saturations") && !has(run, "underflows")) body.append(missing("No result of a layer saturated or became zero."));
      if (!run.time) body.append(missing("Cycles are missing: the report was made without a timed program."));
      body.append(table.element);
      if (run.time?.energy) body.append(details("Energy by layer and memory", energies(run)));
      scope.on("select", (key) => table.choose(key));
      table.choose(npukit.state.layer);
    },
  });
})();
