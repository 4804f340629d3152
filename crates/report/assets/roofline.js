// Roofline: throughput of each layer, and its limits by the multipliers and the memory.
(() => {
  const { h, s, details, missing } = npukit.dom;
  const { int, short, percent, plural, known } = npukit.numbers;
  const { Table } = npukit.table;
  const { state } = npukit;
  const MARGIN = [58, 26, 20, 42];
  const [LEAST, MOST] = [4, 17];

  /// Returns the cycles from the first to the last one of a layer.
  const spanOf = (time) => (known(time.first_cycle) && known(time.last_cycle) ? time.last_cycle - time.first_cycle + 1 : time.cycles);

  /// Returns the MACs per cycle with all multipliers busy, derived from the layers; null if no layer has any.
  function peakOf(layers) {
    const peaks = layers.map(({ time }) => (time.utilization > 0 ? time.macs_computed / (time.utilization * spanOf(time)) : null)).filter(known);
    return peaks.length ? Math.min(...peaks) : null;
  }

  function pointsOf(run) {
    const timed = run.layers.filter((layer) => layer.time);
    const peak = peakOf(timed);
    const placed = timed.filter(({ time }) => time.macs > 0 && time.utilization > 0 && time.roofline?.memory > 0);
    const points = placed.map(({ key, name, time }) => {
      const y = time.utilization * peak;
      const x = (y * spanOf(time)) / time.roofline.memory;
      const roof = Math.min(x, peak ?? Infinity);
      return { key, name, time, x, y, roof, share: time.share };
    });
    return { points, peak, left: timed.length - placed.length };
  }

  const log = (value, towards) => 10 ** (towards < 0 ? Math.floor(4 * Math.log10(value) - 0.4) / 4 : Math.ceil(4 * Math.log10(value) + 0.4) / 4);

  function scales({ points, peak }, width, height) {
    const [left, top, right, bottom] = MARGIN;
    const xs = points.map((point) => point.x).concat(peak ?? []);
    const ys = points.map((point) => point.y).concat(peak ?? []);
    return {
      x: npukit.plot.scale({ low: log(Math.min(...xs), -1), high: log(Math.max(...xs), 1), from: left, to: width - right, log: true }),
      y: npukit.plot.scale({ low: log(Math.min(...ys), -1), high: log(Math.max(...ys), 1), from: height - bottom, to: top, log: true }),
      box: [left, top, width - right, height - bottom],
    };
  }

  /// Draws the slope of the memory up to the ridge, and the level of the multipliers.
  function roofs({ x, y, box }, peak) {
    const [left, top, right, bottom] = box;
    const low = Math.max(x.back(left), y.back(bottom));
    const ridge = Math.min(peak ?? Infinity, x.back(right), y.back(top));
    const level = peak ? `L${right} ${y(peak)}` : "";
    return [
      s("path", { class: "roof", d: `M${x(low)} ${y(low)}L${x(ridge)} ${y(ridge)}${level}` }),
      peak && s("text", { class: "roof-name", x: right, y: y(peak) - 6, "text-anchor": "end" }, `peak ${short(peak)} MACs per cycle`),
      s("text", { class: "roof-name", "text-anchor": "middle", transform: slope(x, y, low, ridge) }, "memory"),
    ];
  }

  function slope(x, y, low, ridge) {
    const middle = Math.sqrt(low * ridge);
    const angle = (Math.atan2(y(ridge) - y(low), x(ridge) - x(low)) * 180) / Math.PI;
    return `translate(${x(middle)} ${y(middle)}) rotate(${angle}) translate(0 -6)`;
  }

  /// Draws a circle for a layer bound by compute, a square for a layer bound by memory.
  function mark(point, { x, y }, widest, handlers) {
    const size = LEAST + (MOST - LEAST) * Math.sqrt(point.share / widest);
    const [cx, cy] = [x(point.x), y(point.y)];
    const chosen = state.layer === point.key;
    const look = { class: `point ${point.time.roofline.bound}${chosen ? " chosen" : ""}`, "data-key": point.key, ...handlers(point) };
    if (point.time.roofline.bound === "memory") {
      return s("rect", { x: cx - size * 0.88, y: cy - size * 0.88, width: size * 1.76, height: size * 1.76, ...look });
    }
    return s("circle", { cx, cy, r: size, ...look });
  }

  function facts(point) {
    return [["MACs per cycle", short(point.y)], ["roofline at this point", short(point.roof)], ["reaches", percent(point.y / point.roof)],
      ["MACs per cycle of memory", short(point.x)], ["bound", point.time.roofline.bound], ["cycles", int(point.time.cycles)],
      ["share", percent(point.share)]];
  }

  function draw(data, width) {
    const height = Math.max(300, Math.min(460, width * 0.55));
    const at = scales(data, width, height);
    const widest = Math.max(...data.points.map((point) => point.share), 1e-9);
    const handlers = (point) => ({
      onclick: () => state.toggle(point.key, "roofline"),
      onpointermove: (event) => npukit.plot.tip(event, point.name, facts(point)),
      onpointerleave: () => npukit.plot.tip(null),
    });
    const sorted = [...data.points].sort((a, b) => (a.key === state.layer) - (b.key === state.layer) || b.share - a.share);
    return { height, content: [
      npukit.plot.axes({ ...at, labels: ["MACs per cycle of memory traffic", "MACs per cycle"] }),
      roofs(at, data.peak), sorted.map((point) => mark(point, at, widest, handlers)), label(sorted.find((point) => point.key === state.layer), at, width),
    ] };
  }

  function label(point, { x, y }, width) {
    if (!point) return null;
    const right = x(point.x) > width * 0.6;
    const text = point.name.length > 40 ? `${point.name.slice(0, 39)}\u2026` : point.name;
    return s("text", { class: "point-name", x: x(point.x) + (right ? -20 : 20), y: y(point.y) + 4, "text-anchor": right ? "end" : "start" }, text);
  }

  function table(points) {
    const number = (key, label, value, write) => ({ key, label, number: true, value, show: (row) => write(value(row)) });
    return new Table({
      name: "roofline-table", caption: "Layers under the roofline", rows: points, keyOf: (row) => row.key,
      pick: (row) => state.toggle(row.key, "roofline"),
      columns: [
        { key: "name", label: "layer", kind: "name", value: (row) => row.name, show: (row) => h("span", { class: "clip", title: row.name }, row.name) },
        number("x", "MACs per cycle of memory", (row) => row.x, short), number("y", "MACs per cycle", (row) => row.y, short),
        number("roof", "roofline at this point", (row) => row.roof, short), number("reached", "reached", (row) => row.y / row.roof, percent),
        { key: "bound", label: "bound", value: (row) => row.time.roofline.bound },
      ],
    });
  }

  function words({ points, peak, left }) {
    const bound = points.filter((point) => point.time.roofline.bound === "memory").length;
    return `${plural(points.length, "layer")}: ${int(bound)} bound by memory (squares), ${int(points.length - bound)} by compute (circles); `
      + `larger marks take more cycles. Each layer counts from its first to its last cycle; layers overlap. ${peak ? `The multipliers reach at most ${short(peak)} MACs per cycle.` : ""}`
      + (left ? ` ${plural(left, "layer has", "layers have")} no MACs or no memory traffic and ${left === 1 ? "is" : "are"} not drawn.` : "");
  }

  /// Left and right step through points by intensity; the selection shows the current one.
  function walk(points, by) {
    const sorted = [...points].sort((a, b) => a.x - b.x);
    const at = sorted.findIndex((point) => point.key === state.layer);
    const next = at < 0 ? (by > 0 ? 0 : sorted.length - 1) : (at + by + sorted.length) % sorted.length;
    state.select(sorted[next].key, "roofline");
  }

  npukit.addSection({
    id: "roofline", title: "Roofline",
    draw({ body, run, scope }) {
      const data = pointsOf(run);
      if (data.points.length === 0) return body.append(missing("The roofline is missing: no layer has both a time and memory traffic."));
      const surface = npukit.plot.drawing(scope, {
        name: "roofline", focusable: true, draw: (width) => draw(data, width),
        label: `Roofline. ${words(data)} Left and right select layers; the table below has the same data.`,
      });
      npukit.pointer.keys(surface.element, {
        ArrowLeft: () => walk(data.points, -1), ArrowRight: () => walk(data.points, 1), Escape: () => state.select(null, "roofline"),
      });
      const points = table(data.points);
      body.append(h("p", { class: "quiet" }, words(data)), surface.host, details("As a table", points.element));
      scope.on("select", (key) => { surface.redraw(); points.choose(key); });
      points.choose(state.layer);
    },
  });
})();
