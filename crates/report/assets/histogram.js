// Values of a layer by magnitude, on the chip and in float, compared with the range of the number format.
npukit.histogram = (() => {
  const { s } = npukit.dom;
  const { int, percent, short, compact, plural } = npukit.numbers;

  const FAR = 24;
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const powers = new Map([..."0123456789-"].map((digit, at) => [digit, "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"[at]]));
  const power = (exponent) => `2${[...String(exponent)].map((digit) => powers.get(digit)).join("")}`;

  /// Counts elements in total, below the format's step and beyond its largest number, by whole bins.
  function counted(one) {
    const side = (counts, zeros) => {
      const nonzero = sum(counts);
      // A bin is below the step if all of it is, and beyond the range if it begins where the largest number ends.
      const below = one.step ? sum(counts.filter((_, at) => 2 ** (one.low + at + 1) <= one.step)) : null;
      const beyond = one.largest ? sum(counts.filter((_, at) => 2 ** (one.low + at) >= one.largest)) : null;
      return { all: nonzero + zeros, zeros, below, beyond };
    };
    return { chip: side(one.chip, one.chip_zeros), float: side(one.float, one.float_zeros) };
  }

  function rim(count, all, place) {
    return count === 0 ? `none ${place}` : `${int(count)} (${percent(count / all)}) ${place}`;
  }

  /// Bins end at powers of two, so the text gives the bound of the bins and the exact number.
  function side(name, { all, zeros, below, beyond }, one) {
    const parts = [zeros === 0 ? "none zero" : `${int(zeros)} (${percent(zeros / all)}) zero`];
    if (below !== null) parts.push(rim(below, all, `below ${power(Math.floor(Math.log2(one.step)))} (the step is ${short(one.step)})`));
    if (beyond !== null) parts.push(rim(beyond, all, `from ${power(Math.ceil(Math.log2(one.largest)))} upwards (the largest number is ${short(one.largest, 6)})`));
    return `${name}: ${plural(all, "value")}; ${parts.join(", ")}.`;
  }

  /// Returns the facts in words, which are also the drawing's accessible text.
  function words(one) {
    const { chip, float } = counted(one);
    return [side("Float", float, one), side("Chip", chip, one)];
  }

  function extent(one) {
    const used = one.chip.map((count, at) => [count + one.float[at], one.low + at]).filter(([count]) => count > 0).map(([, exponent]) => exponent);
    // The range of a float is so large that it would squeeze the rest, so it is only given in words.
    const isNear = (rim) => used.length === 0 || (rim > Math.min(...used) - FAR && rim < Math.max(...used) + FAR);
    const rims = [one.step, one.largest].filter(Boolean).map(Math.log2).filter(isNear);
    const all = [...used, ...rims, ...(used.length || rims.length ? [] : [0])];
    return [Math.floor(Math.min(...all)) - 1, Math.ceil(Math.max(...all)) + 1];
  }

  function rimLine(x, top, bottom, value, name, anchor) {
    const at = value ? x(Math.log2(value)) : -1;
    if (at < x.from || at > x.to) return null;
    return [s("line", { class: "rim", x1: at, x2: at, y1: top, y2: bottom }),
      name && s("text", { class: "rim-name", x: at + (anchor === "end" ? -4 : 4), y: top + 9, "text-anchor": anchor }, name)];
  }

  /// Draws both bars of every bin; `lift` maps counts to heights.
  function bars(one, x, y, base) {
    const wide = x(1) - x(0);
    const bar = (count, at, shift, kind) => (count > 0
      ? s("rect", { class: kind, x: x(one.low + at) + wide * shift, width: Math.max(0.8, wide * 0.42), y: y(count), height: base - y(count) }) : null);
    return one.chip.map((count, at) => [bar(one.float[at], at, 0.06, "float"), bar(count, at, 0.52, "chip")]);
  }

  function zeroBars(one, left, y, base) {
    return [["float", one.float_zeros, 0], ["chip", one.chip_zeros, 14]].map(([kind, count, shift]) =>
      (count > 0 ? s("rect", { class: kind, x: left + shift, width: 12, y: y(count), height: base - y(count) }) : null));
  }

  function most(one) {
    return Math.max(1, one.chip_zeros, one.float_zeros, ...one.chip, ...one.float);
  }

  function countScale(one, log, from, to) {
    const high = most(one);
    if (!log) return npukit.plot.scale({ low: 0, high, from, to });
    return npukit.plot.scale({ low: 0.5, high: Math.max(high, 10), from, to, log: true });
  }

  /// Draws the large histogram, with axes.
  function large(one, width, log) {
    const height = 270;
    const [left, top, right, bottom] = [58 + 58, 26, width - 14, height - 42];
    const [low, high] = extent(one);
    const x = npukit.plot.scale({ low, high, from: left, to: right });
    const y = countScale(one, log, bottom, top);
    const every = Math.max(1, Math.ceil(((high - low) * 34) / (right - left)));
    const exponents = Array.from({ length: high - low + 1 }, (_, at) => low + at).filter((exponent) => exponent % every === 0);
    return { height, content: [
      y.marks(4).map((mark) => [s("line", { class: "grid", x1: 58, x2: right, y1: y(mark), y2: y(mark) }),
        s("text", { class: "tick", x: 52, y: y(mark) + 4, "text-anchor": "end" }, compact(mark))]),
      s("path", { class: "axis", d: `M58 ${bottom}H${right}` }),
      exponents.map((exponent) => s("text", { class: "tick", x: x(exponent), y: bottom + 15, "text-anchor": "middle" }, power(exponent))),
      s("text", { class: "tick", x: 78, y: bottom + 15, "text-anchor": "middle" }, "zero"),
      s("text", { class: "axis-name", x: right, y: bottom + 33, "text-anchor": "end" }, "magnitude"),
      s("text", { class: "axis-name", x: 8, y: 12 }, "values"),
      zeroBars(one, 65, y, bottom), bars(one, x, y, bottom),
      rimLine(x, top - 14, bottom, one.step, "step", "start"), rimLine(x, top - 14, bottom, one.largest, "largest", "end"),
    ] };
  }

  /// Draws a small histogram without axes.
  function small(one, [low, high], log) {
    const [width, height] = [150, 52];
    const x = npukit.plot.scale({ low, high, from: 2, to: width - 2 });
    const y = countScale(one, log, height - 1, 3);
    return s("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", preserveAspectRatio: "none" },
      bars(one, x, y, height - 1), rimLine(x, 0, height, one.step), rimLine(x, 0, height, one.largest),
      s("path", { class: "axis", d: `M0 ${height - 0.5}H${width}` }));
  }

  return { large, small, extent, words, counted, power };
})();
