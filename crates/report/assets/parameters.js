// Parameters of the instance, its number format and FPGA resources; differences between two runs are marked.
(() => {
  const { missing } = npukit.dom;
  const { short, int, known, DASH } = npukit.numbers;
  const { h } = npukit.dom;
  const { Table } = npukit.table;
  const { flat } = npukit.data;

  /// Returns the resources of an instance: an object of numbers, or a list of `{name, value}`.
  function area(run) {
    if (Array.isArray(run.area)) return run.area.map(({ name, value }) => [`area.${name}`, value]);
    return run.area ? flat(run.area, "area") : [];
  }

  function rowsOf(run) {
    return [["target", run.target], ["npukit", run.version], ...flat(run.parameters || {}), ...(run.format ? flat(run.format, "format") : []),
      ...flat(run.compile?.choices || {}).map(([name, value]) => [`choice.${name}`, value]), ...area(run)];
  }

  function written(value) {
    if (value === null || value === undefined) return DASH;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (!known(value)) return String(value);
    return Number.isInteger(value) ? int(value) : short(value, 6);
  }

  npukit.addSection({
    id: "parameters", title: "Parameters of the instance", perRun: false,
    draw({ body, doc }) {
      const tables = doc.runs.map((run) => new Map(rowsOf(run)));
      const names = [...new Set(tables.flatMap((table) => [...table.keys()]))];
      const rows = names.map((name) => {
        const values = tables.map((table) => table.get(name) ?? null);
        return { name, values, differs: values.length === 2 && values[0] !== values[1] };
      });
      const columns = [{ key: "name", label: "parameter", kind: "prose", value: (row) => row.name },
        ...doc.runs.map((run, at) => ({ key: `run-${at}`, label: doc.runs.length === 1 ? "value" : run.label, kind: "prose",
          value: (row) => row.values[at], show: (row) => written(row.values[at]) }))];
      if (doc.runs.length === 2) {
        columns.push({ key: "differs", label: "differs", value: (row) => (row.differs ? "differs" : ""),
          show: (row) => (row.differs ? h("strong", { class: "differs" }, "differs") : "") });
        const count = rows.filter((row) => row.differs).length;
        body.append(missing(count === 0 ? "The two instances have the same parameters." : `${int(count)} of ${int(rows.length)} differ.`));
      }
      body.append(new Table({ name: "parameters", caption: "Parameters", columns, rows }).element);
    },
  });
})();
