// The network as a graph, colored by cost or error of its layers.
(() => {
  const { h, button, chooser, details, missing } = npukit.dom;
  const { int, percent, decibels, short, plural, known } = npukit.numbers;
  const { Table } = npukit.table;
  const { list } = npukit.data;
  const { state } = npukit;

  /// Figures to color nodes by: value of a layer, its position between 0 and 1, and its format.
  function measures(run) {
    const largest = (value) => Math.max(...run.layers.map(value).filter(known), 0);
    const linear = (value) => {
      const most = largest(value);
      return (layer) => (known(value(layer)) ? value(layer) / (most || 1) : null);
    };
    const cycles = (layer) => layer.time?.cycles;
    const error = (layer) => layer.comparison?.chain_relative_error;
    const saturations = (layer) => layer.comparison?.saturations;
    return [
      ["cycles", "cycles", linear(cycles), (layer) => percent(layer.time?.share), (layer) => known(cycles(layer))],
      ["error", "error", linear(error), (layer) => percent(error(layer), 2), (layer) => known(error(layer))],
      ["saturations", "saturations", linear(saturations), (layer) => int(saturations(layer)), (layer) => known(saturations(layer))],
    ].map(([key, label, share, write, has]) => ({ key, label, share, write, has, known: run.layers.some(has) })).filter((one) => one.known);
  }

  const PLACES = { chip: "chip", host: "host" };

  function factsOf(node, layer) {
    return [["operator", node.op], ["at", PLACES[node.place] ?? null], ["layer", layer && layer.name !== node.name ? layer.name : null],
      ["MACs", node.macs ? int(node.macs) : null], ["result", node.shape ? node.shape.join(" \u00d7 ") : null],
      ["layer's cycles", layer?.time ? `${int(layer.time.cycles)}, ${percent(layer.time.share)}` : null],
      ["error by range", known(layer?.comparison?.chain_relative_error) ? percent(layer.comparison.chain_relative_error, 2) : null],
      ["SNR", known(layer?.comparison?.chain_signal_to_noise_db) ? decibels(layer.comparison.chain_signal_to_noise_db) : null],
      ["saturations", layer?.comparison ? int(layer.comparison.saturations) : null]];
  }

  function ramp(measure, run) {
    if (!measure) return null;
    const gradient = Array.from({ length: 9 }, (_, at) => npukit.colors.amount(at / 8)).join(", ");
    const layers = run.layers.filter((layer) => measure.has(layer));
    const most = layers.reduce((best, layer) => (measure.share(layer) > measure.share(best) ? layer : best));
    return h("span", { class: "ramp" }, "0", h("span", { class: "gradient", vars: { background: `linear-gradient(to right, ${gradient})` } }), measure.write(most));
  }

  function table(run, graph, layerOf, keyOf) {
    return new Table({
      name: "graph-table", caption: "Nodes of the network", rows: graph.nodes, keyOf, pick: (node) => keyOf(node) !== null && state.toggle(keyOf(node), "graph-table"),
      columns: [
        { key: "name", label: "node", kind: "name", value: (node) => node.name, show: (node) => h("span", { class: "clip", title: node.name }, node.name) },
        { key: "op", label: "operator", value: (node) => node.op },
        { key: "place", label: "at", value: (node) => node.place || null },
        { key: "macs", label: "MACs", number: true, value: (node) => node.macs, show: (node) => int(node.macs) },
        { key: "shape", label: "result", value: (node) => (node.shape ? node.shape.join(" \u00d7 ") : null) },
        { key: "cycles", label: "layer's cycles", number: true, value: (node) => layerOf(node)?.time?.cycles ?? null,
          show: (node) => int(layerOf(node)?.time?.cycles) },
        { key: "layer", label: "layer", kind: "name", value: (node) => layerOf(node)?.name ?? null,
          show: (node) => layerOf(node) && h("span", { class: "clip", title: layerOf(node).name }, layerOf(node).name) },
      ],
    });
  }

  function zoomButtons(view) {
    return h("span", { class: "group", role: "group", "aria-label": "Zoom of the graph" },
      button("+", () => view.zoom(1.3), { "aria-label": "Zoom in" }), button("\u2212", () => view.zoom(1 / 1.3), { "aria-label": "Zoom out" }),
      button("Fit", () => view.fit(), { "aria-label": "Show the whole graph", "data-name": "graph-fit" }));
  }

  npukit.addSection({
    id: "graph", title: "Network",
    draw({ body, run, scope }) {
      const graph = { nodes: list(run.graph?.nodes), edges: list(run.graph?.edges) };
      if (graph.nodes.length === 0) return body.append(missing("There is no graph of the network in this report."));
      const keyOf = (node) => run.keys.time[node.layer] ?? null;
      const layerOf = (node) => run.byKey.get(keyOf(node)) ?? null;
      const kinds = measures(run);
      let measure = kinds[0];
      const scale = h("span", {}, ramp(measure, run));
      const look = (node) => {
        const layer = layerOf(node);
        const share = layer && measure ? measure.share(layer) : null;
        return { color: share === null ? null : npukit.colors.amount(share), figure: share === null ? "" : measure.write(layer) };
      };
      const host = graph.nodes.filter((node) => node.place === "host").length;
      const words = `${plural(graph.nodes.length, "node")}, ${int(host)} of them on the host (dashed). A node has its layer's color and figure; a deep network continues in the next column.`;
      const view = new npukit.graphView.GraphView(scope, graph, { look, keyOf, facts: (node) => factsOf(node, layerOf(node)),
        label: `The network as a graph, from top to bottom. ${words} Plus and minus zoom, arrows move, 0 fits. The table below has the same data.` });
      const choose = kinds.length ? chooser("Color by", kinds.map(({ key, label }) => [key, label]), measure.key, (key) => {
        measure = kinds.find((kind) => kind.key === key);
        scale.replaceChildren(ramp(measure, run));
        view.fill();
      }) : missing("The layers have no figures to color by.");
      const nodes = table(run, graph, layerOf, keyOf);
      body.append(h("div", { class: "controls" }, zoomButtons(view), choose, scale),
        h("p", { class: "quiet" }, words), view.surface.host, details("As a table", nodes.element));
      scope.on("select", (key, source) => {
        view.choose();
        nodes.choose(key);
        if (key !== null && source !== "graph") view.center(key);
      });
      nodes.choose(state.layer);
    },
  });
})();
