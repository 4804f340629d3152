// Comparison of two runs, layer by layer.
(() => {
  const { h, missing } = npukit.dom;
  const { int, percent, ratio, decibels, plural, known } = npukit.numbers;
  const { Table } = npukit.table;
  const { state } = npukit;

  function rowsOf([ours, theirs]) {
    return ours.layers.filter((layer) => theirs.byKey.has(layer.key)).map((layer, order) => {
      const other = theirs.byKey.get(layer.key);
      const [a, b] = [layer.time?.cycles ?? null, other.time?.cycles ?? null];
      return { key: layer.key, name: layer.name, order: order + 1, a, b, difference: known(a) && known(b) ? a - b : null,
        quotient: known(a) && known(b) && b !== 0 ? a / b : null, snr: [layer, other].map((one) => one.comparison?.chain_signal_to_noise_db ?? null) };
    });
  }

  const signed = (value) => (known(value) && value > 0 ? `+${int(value)}` : int(value));
  const judged = (row) => (!known(row.quotient) || row.quotient === 1 ? "" : row.quotient < 1 ? "better" : "worse");

  function columns([ours, theirs], hasErrors) {
    const number = (key, label, value, write) => ({ key, label, number: true, value, show: (row) => write(value(row)) });
    return [
      { key: "name", label: "layer", kind: "name", value: (row) => row.name, show: (row) => h("span", { class: "clip", title: row.name }, row.name) },
      number("order", "#", (row) => row.order, int),
      number("a", `cycles, ${ours.label}`, (row) => row.a, int), number("b", `cycles, ${theirs.label}`, (row) => row.b, int),
      number("difference", "difference", (row) => row.difference, signed),
      { key: "ratio", label: "ratio", number: true, value: (row) => row.quotient, show: (row) => h("span", { class: judged(row) }, ratio(row.quotient)) },
      ...(hasErrors ? [number("snr-a", `SNR, ${ours.label}`, (row) => row.snr[0], decibels), number("snr-b", `SNR, ${theirs.label}`, (row) => row.snr[1], decibels)] : []),
    ];
  }

  function only(one, other) {
    const layers = one.layers.filter((layer) => !other.byKey.has(layer.key));
    if (layers.length === 0) return h("p", {}, `Every layer of ${one.label} is in ${other.label} too.`);
    const cycles = layers.reduce((sum, layer) => sum + (layer.time?.cycles || 0), 0);
    return h("div", { "data-name": "only" }, h("h3", {}, `Only in ${one.label} (${layers.length})`),
      h("p", {}, `${plural(layers.length, "layer")}, ${int(cycles)} cycles${one.figures.cycles ? `, ${percent(cycles / one.figures.cycles)} of all` : ""}.`),
      h("ul", {}, layers.map((layer) => h("li", {}, `${layer.name}${layer.time ? `: ${int(layer.time.cycles)} cycles` : ""}`))));
  }

  npukit.addSection({
    id: "compare", title: "Layers of both runs", wants: (doc) => doc.runs.length === 2, perRun: false,
    draw({ body, doc, scope }) {
      const rows = rowsOf(doc.runs);
      if (rows.length === 0) body.append(missing("No layer has the same name in both runs."));
      const hasErrors = rows.some((row) => row.snr.some(known));
      const table = new Table({ name: "compare", caption: "Layers by name", columns: columns(doc.runs, hasErrors), rows, keyOf: (row) => row.key,
        pick: (row) => state.toggle(row.key, "compare") });
      const faster = rows.filter((row) => row.quotient < 1).length;
      const slower = rows.filter((row) => row.quotient > 1).length;
      body.append(h("p", {}, `${plural(rows.length, "layer")} in both: ${int(faster)} take fewer cycles in ${doc.runs[0].label}, ${int(slower)} more. `
        + "The ratio is the first run to the second."), table.element, only(doc.runs[0], doc.runs[1]), only(doc.runs[1], doc.runs[0]));
      scope.on("select", (key) => table.choose(key));
      table.choose(state.layer);
    },
  });
})();
