// Number formats. An unknown value is an en dash.
npukit.numbers = (() => {
  const DASH = "\u2013";
  const known = (value) => typeof value === "number" && Number.isFinite(value);
  const grouped = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

  const int = (value) => (known(value) ? grouped(value, 0) : DASH);
  const fixed = (value, digits) => (known(value) ? grouped(value, digits) : DASH);

  /// Formats a share between 0 and 1 in percent; a small nonzero share never becomes zero.
  function percent(share, digits = 1) {
    if (!known(share)) return DASH;
    const least = 10 ** -digits;
    if (share > 0 && 100 * share < least / 2) return `< ${least.toFixed(digits)} %`;
    return `${grouped(100 * share, digits)} %`;
  }

  /// Formats three significant digits, with a power of ten if the number is far from one.
  function short(value, digits = 3) {
    if (!known(value)) return DASH;
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    if (size < -4 || size > 9) return value.toExponential(digits - 1).replace("e+", "e");
    return grouped(value, Math.max(0, digits - 1 - size));
  }

  /// Formats thousands and millions by letter, for axes.
  function compact(value) {
    if (!known(value)) return DASH;
    const units = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
    const unit = units.find(([size]) => Math.abs(value) >= size);
    const number = unit ? value / unit[0] : value;
    return Number(number.toPrecision(4)).toString() + (unit ? ` ${unit[1]}` : "");
  }

  const ratio = (value) => (known(value) ? `${short(value)} \u00d7` : DASH);
  const decibels = (value) => (known(value) ? `${grouped(value, 1)} dB` : DASH);
  const plural = (count, one, many = `${one}s`) => `${int(count)} ${count === 1 ? one : many}`;

  /// Formats cycles as time at a clock, in a suitable unit; null without a clock.
  function duration(cycles, mhz) {
    if (!known(cycles) || !known(mhz) || mhz <= 0) return null;
    const microseconds = cycles / mhz;
    if (microseconds < 1) return `${short(1000 * microseconds)} ns`;
    return microseconds < 1000 ? `${short(microseconds)} \u00b5s` : `${short(microseconds / 1000)} ms`;
  }

  /// Formats joules in a suitable unit.
  function energy(joules) {
    if (!known(joules)) return DASH;
    const units = [[1, "J"], [1e-3, "mJ"], [1e-6, "\u00b5J"], [1e-9, "nJ"]];
    const [size, unit] = units.find(([least]) => joules >= least) ?? [1e-12, "pJ"];
    return `${short(joules / size)} ${unit}`;
  }

  return { DASH, known, energy, int, fixed, percent, short, compact, ratio, decibels, plural, duration };
})();
