// Draws the timeline: rows of units with their waits and counters, only what is in view, merged below a pixel.
npukit.timelineDraw = (() => {
  const { compact, int } = npukit.numbers;
  const { first } = npukit.slices;
  const AXIS = 24;
  const HEIGHTS = { track: 17, wait: 8, counter: 30 };
  const GAP = 5;
  const NARROW = 640;

  const gutter = (width) => (width < NARROW ? 4 : 172);

  /// Positions of rows from top to bottom. In narrow views, names are above their rows.
  function layout(rows, width) {
    const above = width < NARROW ? 13 : 0;
    let y = AXIS + 4;
    const placed = rows.map((row) => {
      const label = row.kind === "wait" ? 0 : above;
      const gap = row.kind === "wait" ? 1 : GAP;
      const top = y + gap + label;
      y = top + HEIGHTS[row.kind];
      return { ...row, top, height: HEIGHTS[row.kind] };
    });
    return { placed, height: y + 6 };
  }

  /// A view: the context with the mapping from cycles to pixels.
  function viewOf(context, width, range, colors, look) {
    const left = gutter(width);
    const scale = (width - left - 4) / (range[1] - range[0]);
    return { context, width, left, right: width - 4, range, scale, colors, ...look,
      x: (cycle) => left + (cycle - range[0]) * scale, cycle: (x) => range[0] + (x - left) / scale };
  }

  function drawAxis(view, height) {
    const { context, colors } = view;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    npukit.plot.ticks(view.range[0], view.range[1], (view.right - view.left) / 100).forEach((mark) => {
      const x = Math.round(view.x(mark)) + 0.5;
      context.fillStyle = colors.line;
      context.fillRect(x, AXIS - 4, 1, height - AXIS);
      context.fillStyle = colors.muted;
      const text = view.range[1] - view.range[0] > 20000 ? compact(mark) : int(mark);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(view.right - half, Math.max(view.left + half, x)), AXIS - 9);
    });
  }

  function fitted(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let length = text.length;
    while (length > 1 && context.measureText(`${text.slice(0, length)}\u2026`).width > room) length = Math.floor(length * 0.85);
    return `${text.slice(0, length)}\u2026`;
  }

  function drawLabel(view, row) {
    if (row.kind === "wait") return;
    const { context, colors } = view;
    const narrow = view.left < 20;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = narrow ? "left" : "right";
    context.fillStyle = colors.ink;
    const room = narrow ? view.right : view.left - 12;
    const x = narrow ? view.left : view.left - 8;
    const lines = labelLines(row, narrow);
    lines.forEach((text, at) => {
      if (at > 0) [context.font, context.fillStyle] = ["11px system-ui, sans-serif", colors.muted];
      context.fillText(fitted(context, text, room), x, narrow ? row.top - 3 : row.top + Math.min(13, row.height - 4) + 13 * at);
    });
  }

  /// Draws a counter's name, `UNIT: WHAT`, on two lines if they fit, with its largest value.
  function labelLines(row, narrow) {
    if (row.kind !== "counter") return [row.name];
    const most = `max ${compact(row.most)}${row.unit ? ` ${row.unit}` : ""}`;
    const [unit, ...what] = row.name.split(": ");
    return narrow ? [`${row.name}, ${most}`] : [unit, [...what, most].join(", ")];
  }

  /// Returns the opacity of a piece: pieces outside a search or the selected layer are pale.
  function strength(view, slices, low, high, layer) {
    if (view.searched) return slices.hits(low, high) > 0 ? 1 : 0.1;
    if (view.chosenLayer !== null && view.chosenLayer !== undefined) return layer === view.chosenLayer ? 1 : 0.28;
    return 1;
  }

  /// Sets the color only if it changes: a frame draws thousands of blocks in few colors.
  function dip(view, color) {
    if (view.dipped !== color) view.context.fillStyle = view.dipped = color;
  }

  /// Draws a block of a row: pale where the unit is only held, and as high as the share of its worked cycles.
  function block(view, row, x, width, low, high, held, worked) {
    const { slices } = row;
    const layer = slices.mostly(slices.layer, low, high);
    const color = view.byName ? npukit.colors.kind(slices.mostly(slices.name, low, high)) : view.layerColor(layer);
    const strong = strength(view, slices, low, high, layer) * (row.kind === "wait" ? 0.5 : 1);
    // Whole pixels and few shades, so that equal neighbors are drawn at once.
    const height = Math.max(Math.min(2, row.height), Math.round(row.height * worked));
    const pale = strong * 0.3 * Math.max(0.25, Math.ceil(held * 4) / 4);
    const { pending } = view;
    const isSame = pending && pending.x + pending.width === x && pending.color === color && pending.height === height
      && pending.pale === pale && pending.strong === strong;
    if (isSame) pending.width += width;
    else {
      flush(view);
      view.pending = { row, x, width, color, height, pale, strong };
    }
    return { color, strong, share: worked };
  }

  /// Draws the collected blocks.
  function flush(view) {
    if (!view.pending) return;
    const { context, pending: { row, x, width, color, height, pale, strong } } = view;
    dip(view, color);
    if (height < row.height) {
      context.globalAlpha = pale;
      context.fillRect(x, row.top, width, row.height - height);
    }
    context.globalAlpha = strong;
    context.fillRect(x, row.top + row.height - height, width, height);
    view.pending = null;
  }

  function inscription(view, row, at, x, width, drawn) {
    if (width < 46 || row.kind !== "track" || drawn.strong < 1) return;
    const { context } = view;
    context.globalAlpha = 1;
    view.dipped = null;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    // On a mostly pale block, the page's text color has more contrast.
    context.fillStyle = drawn.share > 0.6 ? npukit.colors.ink(drawn.color) : view.colors.ink;
    const start = Math.max(x, view.left);
    const room = Math.min(x + width, view.right) - start - 8;
    if (room > 30) context.fillText(fitted(context, view.names[row.slices.name[at]], room), start + 4, row.top + 12);
  }

  /// Draws slices of at least a pixel one by one; the others together, one column of pixels at a time.
  function drawSlices(view, row) {
    const { slices } = row;
    let [at, end] = slices.within(...view.range);
    let done = view.left;
    while (at < end) {
      const x = Math.max(done, view.x(slices.start[at]));
      const width = Math.min(view.right, view.x(slices.end[at])) - x;
      if (width >= 1.5) {
        const cycles = slices.end[at] - slices.start[at];
        const drawn = block(view, row, x, Math.max(1, width - (width > 4 ? 1 : 0)), at, at + 1, 1, slices.busy[at] / cycles);
        flush(view);
        inscription(view, row, at, x, width, drawn);
        at += 1;
      } else {
        [at, done] = drawColumn(view, row, Math.floor(x + 1e-6), at);
      }
    }
    flush(view);
  }

  /// Draws the column at a pixel; returns the next slice, and where the column ends.
  function drawColumn(view, row, pixel, at) {
    const { slices } = row;
    const [a, b] = [view.cycle(pixel), view.cycle(pixel + 1)];
    const { held, worked, low, high } = slices.shares(a, b);
    if (high > low) block(view, row, pixel, 1, low, high, held, worked);
    // The first that ends in another column; always at least one further, in spite of rounding.
    return [Math.max(at + 1, first(slices.reach, b)), pixel + 1];
  }

  /// Draws a counter as steps: a value lasts from its cycle to the next.
  function drawCounter(view, row) {
    const { context, colors } = view;
    const { cycles, values, most } = row;
    const [from, to] = view.range;
    const y = (value) => row.top + row.height - (row.height * Math.max(0, value)) / (most || 1);
    // A counter has no value before its first.
    const begin = Math.max(0, first(cycles, from) - 1);
    const steps = new Path2D();
    for (let at = begin; at < cycles.length && cycles[at] < to; at += 1) {
      const next = at + 1 < cycles.length ? cycles[at + 1] : to;
      steps.lineTo(Math.max(view.left, view.x(cycles[at])), y(values[at]));
      steps.lineTo(Math.min(view.right, view.x(next)), y(values[at]));
    }
    const area = new Path2D(steps);
    area.lineTo(view.right, row.top + row.height);
    area.lineTo(Math.max(view.left, view.x(cycles[begin] ?? to)), row.top + row.height);
    context.globalAlpha = 0.22;
    context.fillStyle = colors.accent;
    context.fill(area);
    context.globalAlpha = 1;
    context.strokeStyle = colors.accent;
    context.stroke(steps);
  }

  function drawRow(view, row) {
    const { context, colors } = view;
    context.globalAlpha = 1;
    view.dipped = null;
    context.fillStyle = colors.lane;
    context.fillRect(view.left, row.top, view.right - view.left, row.height);
    drawLabel(view, row);
    context.save();
    context.beginPath();
    context.rect(view.left, row.top - 1, view.right - view.left, row.height + 2);
    context.clip();
    if (row.kind === "counter") drawCounter(view, row);
    else drawSlices(view, row);
    context.restore();
  }

  function draw(context, width, range, rows, colors, look) {
    const { placed, height } = layout(rows, width);
    const view = viewOf(context, width, range, colors, look);
    drawAxis(view, height);
    placed.forEach((row) => drawRow(view, row));
  }

  return { draw, layout, gutter, viewOf };
})();
