// Points of an exploration: figures, parameters and objectives, and their form in CSV.
npukit.points = (() => {
  const { list, flat } = npukit.data;
  const { known } = npukit.numbers;

  const NAMES = {
    milliseconds: "milliseconds", cycles: "cycles", frames_per_second: "frames per second", instructions: "instructions",
    relative_error: "error by range", snr_db: "SNR, dB", argmax_agree: "largest class as in float",
    dsp: "DSP slices", bram: "block RAMs", uram: "UltraRAMs", lut: "lookup tables",
  };
  const AREA = ["dsp", "bram", "uram", "lut"];

  /// Returns a point with its parameters by dotted name.
  function pointOf(point) {
    return { ...point, key: String(point.index), flat: new Map(flat(point.parameters || {})) };
  }

  function valueOf(key) {
    if (AREA.includes(key)) return (point) => point.area?.[key] ?? null;
    if (key in NAMES) return (point) => point[key] ?? null;
    if (key === "utilization") return (point) => (point.models?.length === 1 ? point.models[0].utilization : null);
    return (point) => point.flat.get(key) ?? null;
  }

  /// Returns the figures and numeric parameters that at least one point has, each with its accessor and label.
  function figuresOf(points, parameters) {
    const candidates = [...Object.entries(NAMES), ["utilization", "utilization"], ...parameters.map((name) => [name, name])];
    return candidates.map(([key, label]) => ({ key, label, isParameter: parameters.includes(key), value: valueOf(key) }))
      .filter(({ value }) => points.some((point) => known(value(point))));
  }

  /// Parses `minimize dsp` to a key and a direction.
  function objectivesOf(texts) {
    return list(texts).map((text) => {
      const [verb, ...rest] = text.split(" ");
      return rest.length ? { key: rest.join(" "), more: verb === "maximize" } : { key: verb, more: false };
    });
  }

  function read(exploration) {
    const points = list(exploration.points).map(pointOf);
    const parameters = [...new Set(points.flatMap((point) => [...point.flat.keys()]))];
    return { points, parameters, figures: figuresOf(points, parameters), objectives: objectivesOf(exploration.objectives),
      pruned: list(exploration.pruned_points).map(pointOf) };
  }

  /// Returns all figures and parameters that differ between points, each with its accessor and label.
  function choices(space) {
    const words = space.parameters.filter((name) => !space.figures.some(({ key }) => key === name))
      .map((name) => ({ key: name, label: name, isParameter: true, value: valueOf(name) }));
    return [...words, ...space.figures].filter(({ value }) => new Set(space.points.map(value)).size > 1);
  }

  /// Returns the columns of a table: the objectives, then parameters and figures that differ between points. `constant` has the
  /// names and values of the others.
  function columns(space) {
    const first = space.objectives.map(({ key }) => space.figures.find((figure) => figure.key === key)).filter(Boolean);
    const varying = new Set(choices(space).map(({ key }) => key));
    const isAlone = space.points.length === 1;
    const figures = space.figures.filter((figure) => !figure.isParameter && !first.includes(figure));
    const text = (value) => String(value ?? "none");
    return { first, figures: figures.filter(({ key }) => isAlone || varying.has(key)),
      parameters: space.parameters.filter((name) => isAlone || varying.has(name)),
      constant: isAlone ? [] : [
        ...space.parameters.filter((name) => !varying.has(name)).map((name) => [name, text(space.points[0].flat.get(name))]),
        ...figures.filter(({ key }) => !varying.has(key)).map(({ label, value }) => [label, text(value(space.points[0]))])] };
  }

  /// Returns a CSV cell, quoted if needed.
  function cell(value) {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv(space, points) {
    const figures = space.figures.filter((figure) => !figure.isParameter);
    const columns = [["index", (p) => p.index], ["target", (p) => p.target], ["feasible", (p) => p.feasible], ["pareto", (p) => p.pareto],
      ...space.parameters.map((name) => [name, (p) => p.flat.get(name)]), ...figures.map(({ key, value }) => [key, value]), ["error", (p) => p.error]];
    const lines = [columns.map(([name]) => name), ...points.map((point) => columns.map(([, value]) => value(point)))];
    return `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`;
  }

  return { read, choices, columns, csv };
})();
