// Document of the page, and its layers: time, comparison, timeline and values of each layer under one key.
npukit.data = (() => {
  const { known } = npukit.numbers;
  const list = (value) => (Array.isArray(value) ? value : []);

  /// Returns unique keys of names in order: the second layer of a name is `NAME #2`.
  function keysOf(names) {
    const seen = new Map();
    return names.map((name) => {
      const count = (seen.get(name) || 0) + 1;
      seen.set(name, count);
      return count === 1 ? name : `${name} #${count}`;
    });
  }

  function layersOf(run) {
    const byKey = new Map();
    const at = (key, name) => {
      if (!byKey.has(key)) byKey.set(key, { key, name, order: byKey.size, values: [] });
      return byKey.get(key);
    };
    const add = (items, field) => {
      const names = items.map((item) => (typeof item === "string" ? item : item.name));
      return keysOf(names).map((key, index) => {
        at(key, names[index])[field] = typeof items[index] === "string" ? index : items[index];
        return key;
      });
    };
    const keys = {
      time: add(list(run.time?.layers), "time"),
      comparison: add(list(run.run?.layer_compare?.layers), "comparison"),
      timeline: add(list(run.timeline?.layers), "timeline"),
      energy: add(list(run.time?.energy?.layers), "energy"),
    };
    list(run.distributions).forEach((one) => byKey.get(keys.comparison[one.layer])?.values.push(one));
    return { layers: [...byKey.values()], byKey, keys };
  }

  /// Values of a run that several sections use.
  function figures(run) {
    const { time, check, compile, run: ran } = run;
    const verdict = check?.verdict;
    return {
      clock: time?.clock_mhz ?? verdict?.clock_mhz ?? compile?.clock_mhz ?? null,
      clockSource: time?.clock_source ?? verdict?.clock_source ?? compile?.clock_source ?? null,
      cycles: time?.cycles?.[time.clock] ?? verdict?.cycles ?? (compile?.cycles?.hw ?? compile?.cycles?.engine) ?? null,
      latency: time?.host?.latency_ms ?? time?.latency_ms ?? verdict?.latency_ms ?? compile?.latency_ms ?? null,
      frames: time?.host?.frames_per_second ?? time?.frames_per_second ?? verdict?.frames_per_second ?? compile?.frames_per_second ?? null,
      chip: time?.latency_ms ?? null,
      host: known(time?.host?.latency_ms) ? time.host : null,
      energy: time?.energy?.joules ?? null,
      hostSteps: verdict?.host_steps ?? list(time?.host_steps).length,
      macs: time?.macs ?? verdict?.macs ?? compile?.macs ?? null,
      onChip: time?.macs_on_chip ?? verdict?.share_of_macs_on_chip ?? compile?.macs_on_chip ?? null,
      instructions: time?.instructions ?? compile?.instructions ?? null,
      segments: time?.segments ?? compile?.segments ?? check?.segments ?? null,
      utilization: time?.utilization ?? null,
      error: ran?.max_abs_error ?? null,
      relativeError: ran?.relative_error ?? null,
      rmsError: ran?.rms_error ?? null,
      snr: ran?.signal_to_noise_db ?? null,
      saturations: ran?.saturations ?? null,
      argmax: ran?.argmax_agree ?? null,
      top1: ran?.accuracy?.top1 ?? null,
    };
  }

  /// Returns why a run has no comparison with float; empty if it has one.
  function uncompared(run) {
    if (!run.run) return "the report was made without an input";
    if ("max_abs_error" in run.run) return "";
    const samples = `${run.run.samples} ${run.run.samples === 1 ? "sample" : "samples"}`;
    return `the artifact was run on ${samples}, but not compared with float, as its model was not given`;
  }

  /// Returns the use of memories: name, used, of, unit.
  function memories(run) {
    const stated = list(run.check?.verdict?.memories);
    if (stated.length > 0) return stated;
    return Object.entries(run.compile?.memory || {}).map(([name, memory]) =>
      ({ name, used: memory.maximum, of: memory.depth, unit: memory.unit, share: memory.maximum / memory.depth }));
  }

  /// Returns the number of cycles of the timeline and the memory maps.
  function wholeCycles(run) {
    const map = list(run.memories)[0];
    return run.timeline?.cycles ?? run.time?.cycles?.[run.time.clock] ?? (map ? map.columns * map.cycles_per_column : 1);
  }

  /// Returns the texts of all parts of a run, each once.
  function texts(run, field) {
    const all = [run.check, run.compile, run.time, run.run].flatMap((part) => list(part?.[field]));
    return [...new Set(all)];
  }

  /// Returns a tree of parameters as rows of dotted names.
  function flat(tree, prefix = "") {
    if (tree === null || typeof tree !== "object") return [[prefix, tree]];
    const entries = Array.isArray(tree) ? tree.map((item, index) => [String(index), item]) : Object.entries(tree);
    if (entries.length === 0) return prefix ? [[prefix, null]] : [];
    if (Array.isArray(tree) && tree.every((item) => typeof item !== "object")) return [[prefix, tree.join(", ")]];
    return entries.flatMap(([name, value]) => flat(value, prefix ? `${prefix}.${name}` : name));
  }

  function read() {
    const doc = JSON.parse(document.getElementById("data").textContent);
    const runs = list(doc.runs).map((run, index) =>
      ({ ...run, index, figures: figures(run), ...layersOf(run), cycles: wholeCycles(run) }));
    return { ...doc, runs };
  }

  return { list, read, memories, texts, uncompared, flat };
})();
