// Summary: one run as tiles, two runs with ratios.
(() => {
  const { h } = npukit.dom;
  const { int, fixed, percent, short, ratio, decibels, energy, plural, DASH, known } = npukit.numbers;
  const { Table, bar } = npukit.table;
  const { list } = npukit.data;

  const modelOf = (run) => run.time?.cost_model ?? run.check?.verdict?.cost_model;

  /// Rows of figures: name, value, format, whether more is better (null: neither).
  function rows(run) {
    const of = run.figures;
    return [
      [`Cycles (${modelOf(run) ?? "cost model"})`, of.cycles, int, false],
      ["Latency, ms", of.latency, (value) => fixed(value, 3), false],
      ["Frames per second", of.frames, (value) => short(value, 4), true],
      ["Clock, MHz", of.clock, (value) => short(value, 4), null],
      ["Energy of a run", of.energy, energy, false],
      ["MACs", of.macs, int, null],
      ["MACs on the chip", of.onChip, percent, true],
      ["Utilization", of.utilization, percent, true],
      ["Cycles relative to the roofline", run.time?.roofline?.distance, ratio, false],
      ["Instructions", of.instructions, int, null],
      ["Segments", of.segments, int, null],
      ["Largest error", of.error, short, false],
      ["Largest error by range", of.relativeError, (value) => percent(value, 2), false],
      ["RMS error", of.rmsError, short, false],
      ["Signal to noise", of.snr, decibels, true],
      ["Largest class as in float", of.argmax, percent, true],
      ["Top-1 accuracy", of.top1, percent, true],
      ["Saturations", of.saturations, int, false],
    ];
  }

  function tile(name, value, note) {
    return h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value), note && h("dd", { class: "note" }, note));
  }

  /// Parts of a time with the host's estimated time.
  function parts(of) {
    const { steps, steps_ms, copies_ms } = of.host;
    const [chip, host, copies] = [of.chip, steps_ms, copies_ms].map((ms) => `${short(ms, 4)} ms`);
    return `${chip} on the accelerator + ${host} for ${plural(steps.length, "host step")} + ${copies} for copies (host estimated)`;
  }

  /// Energy of a run, or what is missing for it.
  function energyNote(run) {
    const found = run.time?.energy;
    if (!found) return "unknown: npu report --technology takes a table";
    if (!known(found.joules)) return `unknown: ${list(found.unknown).join("; ")}`;
    return `of a run, by ${found.technology}; an FPGA needs more than by the table of an ASIC`;
  }

  /// Rate of a run; with steps on the host that are not estimated, at most that of the accelerator alone.
  function beyond(of) {
    const rate = `${short(of.frames, 4)} frames/s`;
    if (of.host) return `${rate}; ${parts(of)}`;
    return of.hostSteps > 0 ? `at most ${rate} (accelerator alone; ${plural(of.hostSteps, "host step")} not counted: not comparable with other targets)` : rate;
  }

  function tiles(run) {
    const of = run.figures;
    const roofline = run.time?.roofline;
    return h("dl", { class: "tiles" },
      tile("Cycles", int(of.cycles), modelOf(run)),
      tile("Latency", known(of.latency) ? `${short(of.latency, 4)} ms` : DASH, known(of.latency) ? `${beyond(of)}; calculated: no board has run it` : "unknown: npu report --clock-mhz takes your clock"),
      tile("Clock", known(of.clock) ? `${short(of.clock, 4)} MHz` : DASH, of.clockSource),
      tile("MACs", int(of.macs), `${percent(of.onChip)} on the accelerator`),
      tile("Utilization", percent(of.utilization), "of the multipliers, over all cycles"),
      tile("Roofline", ratio(roofline?.distance), roofline ? `times the bound, which is ${roofline.bound}` : "not computed"),
      tile("Energy", energy(of.energy), energyNote(run)),
      tile("Instructions", int(of.instructions), `${int(of.segments)} ${of.segments === 1 ? "segment" : "segments"}`),
      ...errors(run));
  }

  function errors(run) {
    const of = run.figures;
    if (!run.run) return [tile("Error", DASH, "without an input, the network was not run")];
    const saturations = tile("Saturations", int(of.saturations), `${int(run.run.saturated_inputs)} inputs saturated`);
    const why = npukit.data.uncompared(run);
    if (why) return [tile("Error", DASH, why), saturations];
    const agree = known(of.argmax) ? `largest class as in float for ${percent(of.argmax)}` : "";
    const { accuracy } = run.run;
    const inFloat = accuracy?.float ? `; ${percent(accuracy.float.top1)} in float` : "";
    return [
      accuracy && tile("Accuracy", percent(accuracy.top1), `top-1 of ${plural(accuracy.labels, "label")}${inFloat}`),
      tile("Largest error", short(of.error), `${percent(of.relativeError, 2)} of the range; RMS ${short(of.rmsError)}`),
      tile("Signal to noise", decibels(of.snr), [`${int(run.run.samples)} samples`, agree].filter(Boolean).join("; ")),
      saturations,
    ];
  }

  function unfilled(run) {
    if (!run.time) return "The use of memories is unknown: no program was compiled.";
    const maps = list(run.memories).length > 0 ? "; the memory maps show it" : "";
    return `The report of an artifact has no table of memories${maps}.`;
  }

  function fills(run) {
    const memories = npukit.data.memories(run);
    if (memories.length === 0) return npukit.dom.missing(unfilled(run));
    return new Table({
      name: "fills", caption: "Use of memories", rows: memories,
      columns: [
        { key: "name", label: "memory", value: (row) => row.name },
        { key: "share", label: "filled", value: (row) => row.share, kind: "wide", show: (row) => bar(row.share, percent(row.share)) },
        { key: "used", label: "used", number: true, value: (row) => row.used, show: (row) => int(row.used) },
        { key: "of", label: "of", number: true, value: (row) => row.of, show: (row) => int(row.of) },
        { key: "unit", label: "unit", value: (row) => row.unit },
      ],
    }).element;
  }

  function verdict(run) {
    const verdict = run.check?.verdict;
    if (!verdict) return null;
    const risk = verdict.saturation;
    const problems = list(run.check.problems).length;
    const hosted = verdict.host_steps > 0 ? `, with ${plural(verdict.host_steps, "step")} on the host` : "";
    return h("p", { class: verdict.fits && problems === 0 ? "verdict good" : "verdict bad" },
      h("strong", {}, verdict.fits && problems === 0 ? `The network fits${hosted}.` : "The network does not fit."),
      ` ${percent(verdict.share_of_macs_on_chip)} of its MACs are on the accelerator. `,
      risk ? `Risk of saturation: ${risk.risk}; ${risk.reason}.` : "");
  }

  function warnings(run) {
    const texts = npukit.data.texts(run, "warnings");
    if (texts.length === 0) return h("div", {}, h("h3", {}, "Warnings"), h("p", { class: "quiet" }, "None."));
    return h("div", {}, h("h3", {}, `Warnings (${texts.length})`), h("div", { class: "warnings" }, h("ul", {}, texts.map((text) => h("li", {}, text)))));
  }

  /// Returns whether the first is better, in a word; empty if neither is, or if they are nearly equal.
  function judged({ value, other, more }) {
    if (more === null || !known(value) || !known(other) || Math.abs(value - other) <= 0.0005 * Math.abs(other)) return "";
    return (value > other) === more ? "better" : "worse";
  }

  /// Formats the difference of two figures: as a ratio, for decibels as a difference.
  function between({ value, other, write, quotient }) {
    if (write !== decibels) return ratio(quotient);
    return known(value) && known(other) ? `${value >= other ? "+" : ""}${decibels(value - other)}` : DASH;
  }

  function beside(doc) {
    const [ours, theirs] = doc.runs;
    const others = new Map(rows(theirs).map(([name, value]) => [name, value]));
    const all = rows(ours).map(([name, value, write, more]) => {
      const other = others.get(name) ?? null;
      return { name, value, other, write, more, quotient: known(value) && known(other) && other !== 0 ? value / other : null };
    });
    return new Table({
      name: "beside", caption: `${ours.label} compared with ${theirs.label}`, rows: all,
      columns: [
        { key: "name", label: "figure", value: (row) => row.name },
        { key: "ours", label: ours.label, number: true, value: (row) => row.value, show: (row) => row.write(row.value) },
        { key: "theirs", label: theirs.label, number: true, value: (row) => row.other, show: (row) => row.write(row.other) },
        { key: "ratio", label: "ratio", number: true, value: (row) => row.quotient, show: between },
        { key: "judged", label: "which is", value: judged, show: (row) => h("span", { class: judged(row) }, judged(row)) },
      ],
    }).element;
  }

  npukit.addSection({
    id: "summary", title: "Summary",
    draw({ body, doc, run }) {
      if (doc.runs.length === 2) body.append(beside(doc), h("h3", {}, run.label));
      body.append(h("p", { class: "subject" }, `${run.model} on ${run.target}`, run.format ? `; numbers: ${run.format.name}` : ""));
      const state = verdict(run);
      if (state) body.append(state);
      body.append(tiles(run), h("div", { class: "columns" }, h("div", {}, h("h3", {}, "Memories"), fills(run)), warnings(run)));
    },
  });
})();
