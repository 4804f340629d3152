// Details of the selected layer, always in view at the side of the page.
npukit.chosen = (() => {
  const { h, button } = npukit.dom;
  const { int, percent, short, ratio, decibels, known } = npukit.numbers;
  const { state } = npukit;

  function facts({ time, comparison }) {
    return [
      time && ["Cycles", `${int(time.cycles)} (${percent(time.share)})`],
      time && ["MACs", int(time.macs_computed)],
      time && ["Utilization", percent(time.utilization)],
      time?.roofline && ["Versus roofline", `${ratio(time.roofline.distance)} the ${time.roofline.bound} bound`],
      comparison && known(comparison.own_max_abs_error) && ["Own error", short(comparison.own_max_abs_error)],
      comparison && known(comparison.chain_max_abs_error) && ["Chain error", short(comparison.chain_max_abs_error)],
      comparison && known(comparison.chain_signal_to_noise_db) && ["SNR", decibels(comparison.chain_signal_to_noise_db)],
      comparison && ["Saturations", int(comparison.saturations)],
      comparison && known(comparison.underflows) && ["Underflows", int(comparison.underflows)],
      comparison && comparison.operators?.length && ["Operators", comparison.operators.join(", ")],
    ].filter(Boolean);
  }

  function draw(doc, place) {
    const run = doc.runs[state.run];
    if (!run || state.layer === null) {
      return place.replaceChildren(run?.layers.length ? h("p", { class: "quiet" }, "Select a layer in a table, the timeline or the graph: it is then marked everywhere.") : "");
    }
    const layer = run.byKey.get(state.layer);
    const rows = layer ? facts(layer) : [["In this run", "no layer with this name"]];
    return place.replaceChildren(h("h2", { "data-name": "chosen-name" }, state.layer),
      h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      button("Clear", () => state.select(null, "chosen"), { "data-name": "clear-layer" }));
  }

  return { draw };
})();
