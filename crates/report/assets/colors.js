// Colors for color-blind readers: Okabe and Ito's palette for kinds, viridis for amounts.
npukit.colors = (() => {
  const KINDS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
  // Second and third round of the kinds, mixed with white and black, before colors repeat.
  const ROUNDS = [["#ffffff", 0], ["#ffffff", 0.45], ["#000000", 0.35]];
  const VIRIDIS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];

  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const hex = (rgb) => `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;

  function mix(from, to, share) {
    const [a, b] = [parts(from), parts(to)];
    return hex(a.map((part, at) => part + (b[at] - part) * share));
  }

  const kinds = new Map();
  /// Returns the color of the kind with this index.
  function kind(index) {
    if (!kinds.has(index)) {
      const [towards, share] = ROUNDS[Math.floor(index / KINDS.length) % ROUNDS.length];
      kinds.set(index, mix(KINDS[index % KINDS.length], towards, share));
    }
    return kinds.get(index);
  }

  /// Returns the color of an amount between 0 and 1.
  function amount(share) {
    const at = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1);
    const below = Math.min(VIRIDIS.length - 2, Math.floor(at));
    return mix(VIRIDIS[below], VIRIDIS[below + 1], at - below);
  }

  /// Returns black or white, whichever has more contrast on a color.
  function ink(color) {
    const [red, green, blue] = parts(color);
    return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
  }

  /// Returns the page's current colors, which follow the scheme, the button and the printer.
  function scheme() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: of("ink"), muted: of("muted"), line: of("line"), lane: of("lane"), before: of("before"),
      surface: of("surface"), accent: of("accent"), chip: of("chip"), float: of("float") };
  }

  return { kind, amount, ink, parts, scheme };
})();
