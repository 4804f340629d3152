// Problems and notes, with remedies: from the check, the compiler, the clock and the comparison.
(() => {
  const { h, missing } = npukit.dom;
  const { int, plural, short } = npukit.numbers;
  const { Table } = npukit.table;
  const { list, texts } = npukit.data;

  const column = (key, label, number) => ({
    key, label, number, kind: "prose", value: (row) => row[key], show: number ? (row) => int(row[key]) : null,
  });

  function table(name, caption, rows, columns) {
    if (rows.length === 0) return null;
    return h("div", { class: "part" }, h("h3", {}, caption), new Table({ name, caption, rows, columns }).element);
  }

  function texted(name, caption, items) {
    if (items.length === 0) return null;
    return h("div", { class: "part", "data-name": name }, h("h3", {}, caption), h("ul", {}, items.map((text) => h("li", {}, text))));
  }

  /// Problems as the check groups them: by operator and reason, with all their nodes.
  function problems(run) {
    const groups = list(run.check?.groups);
    if (groups.length === 0) {
      return table("problems", "Nodes that the target cannot take", list(run.check?.problems),
        [column("node", "node"), column("op", "operator"), column("reason", "reason"), column("hint", "what to do")]);
    }
    const rows = groups.map((group) => ({ ...group, nodes: list(group.nodes).join(", "), consequences: list(group.consequences).join(", ") }));
    return table("problems", "Nodes that the target cannot take", rows, [
      column("op", "operator"), column("count", "nodes", true), column("reason", "reason"), column("hint", "what to do"),
      column("nodes", "which"), column("consequences", "what goes with them"),
    ]);
  }

  function diagnostics(run) {
    return table("diagnostics", "Diagnostics", list(run.check?.diagnostics),
      [column("severity", "severity"), column("code", "code"), column("message", "message"), column("help", "help")]);
  }

  function hostSteps(run) {
    const rows = [run.check, run.compile, run.time, run.run].map((part) => list(part?.host_steps)).find((steps) => steps.length) || [];
    const times = new Map(list(run.time?.host?.steps).map((step) => [step.node, step.milliseconds]));
    const time = (row) => times.get(row.node) ?? null;
    const timed = { key: "milliseconds", label: "ms, estimated", number: true, value: time, show: (row) => short(time(row)) };
    return table("host-steps", `Steps on the host (${rows.length})`, rows,
      [column("node", "node"), column("op", "operator"), column("reason", "reason"), column("output", "result"), ...(times.size > 0 ? [timed] : [])]);
  }

  function flags(run) {
    return table("flags", "Debug flags that the machine raised; results are right", list(run.time?.flags), [
      column("flag", "flag"), column("times", "times", true), column("cycles", "cycles", true),
      column("first_cycle", "first cycle", true), column("first_instruction", "first instruction", true),
    ]);
  }

  const WHY = {
    saturation: "results do not fit the number format",
    error: "the error exceeds rounding",
    underflow: "rounding removes nearly all of it",
  };

  function parting(run) {
    const at = run.run?.layer_compare?.parts_at;
    if (!at) return null;
    const text = h("p", { class: "verdict bad", "data-name": "parts-at" },
      h("strong", {}, `The accelerator first differs from float at ${at.input ? "the input " : ""}`),
      at.input ? at.at : npukit.dom.button(at.at, () => npukit.state.select(at.at, "problems"), { class: "pick" }),
      `: ${WHY[at.why] ?? at.why}.`);
    return text;
  }

  /// Notes that need no action.
  function aside(run) {
    const parts = [texted("notes", "Notes", texts(run, "notes")), flags(run),
      texted("assumptions", "Assumptions of the cost models", list(run.time?.assumptions))].filter(Boolean);
    return parts.length ? npukit.dom.details("Notes and assumptions", parts) : null;
  }

  const failure = (item) => (typeof item === "string" ? item : item?.message ?? JSON.stringify(item));

  /// Layers with saturated values, most first.
  function saturations(run) {
    const rows = [...list(run.run?.saturations_by_layer)].sort((a, b) => b.count - a.count);
    return table("saturations", "Saturations by layer", rows, [column("layer", "layer"), column("count", "saturations", true)]);
  }

  function weights(run) {
    const poor = list(run.compile?.weights).filter((weight) => weight.is_poor || weight.saturated > 0 || weight.non_finite > 0);
    return table("weights", "Weights that do not fit the format well", poor, [
      column("tensor", "tensor"), column("elements", "elements", true), column("bits_used", "bits used", true),
      column("underflows", "became zero", true), column("saturated", "saturated", true), column("non_finite", "not finite", true),
    ]);
  }

  npukit.addSection({
    id: "problems", title: "Problems and suggestions",
    draw({ body, run }) {
      const parts = [
        parting(run),
        texted("failures", "Failures", list(run.run?.failures).map(failure)),
        texted("suggestions", "Suggestions, each tested on the samples", list(run.run?.layer_compare?.suggestions)),
        problems(run), diagnostics(run), saturations(run), weights(run), hostSteps(run),
        texted("warnings", "Warnings", texts(run, "warnings")),
        aside(run),
      ].filter(Boolean);
      const bad = list(run.check?.problems).length + list(run.run?.failures).length;
      if (bad === 0 && !run.run?.layer_compare?.parts_at) {
        const compared = run.run?.layer_compare ? "rounding explains all differences to float" : npukit.data.uncompared(run);
        body.append(missing(`${run.check ? "The check found no problems" : "The network was not checked"}; ${compared}.`));
      } else if (bad > 0) {
        body.append(h("p", { class: "verdict bad" }, `${plural(bad, "problem")} in all.`));
      }
      body.append(...parts);
    },
  });
})();
