// Drawing surfaces that follow their width, the scheme and the printer; ticks of axes; the tooltip.
npukit.plot = (() => {
  const { h, s } = npukit.dom;

  /// Calls `change` with the width of an element, at most once per frame, when the width has changed.
  function watchWidth(scope, element, change) {
    let last = 0;
    // In its own frame: drawing within the observer may resize again, which browsers report as an error.
    const observer = new ResizeObserver(() => requestAnimationFrame(() => {
      if (element.clientWidth > 0 && element.clientWidth !== last) change((last = element.clientWidth));
    }));
    observer.observe(element);
    scope.end(() => observer.disconnect());
  }

  /// A canvas of full width. `draw(context, width, colors)` draws in CSS pixels; `heightOf(width)` returns the height.
  function canvas(scope, { label, heightOf, draw, focusable = true, name }) {
    const element = h("canvas", { role: "img", "aria-label": label, tabindex: focusable ? 0 : null, "data-name": name });
    const host = h("div", { class: "canvas" }, element);
    let asked = false;
    function paint() {
      asked = false;
      const width = host.clientWidth;
      if (width === 0) return;
      const [height, dense] = [heightOf(width), window.devicePixelRatio || 1];
      if (element.width !== Math.round(width * dense) || element.height !== Math.round(height * dense)) {
        [element.width, element.height] = [Math.round(width * dense), Math.round(height * dense)];
        element.style.height = `${height}px`;
      }
      const context = element.getContext("2d");
      context.setTransform(dense, 0, 0, dense, 0, 0);
      context.clearRect(0, 0, width, height);
      draw(context, width, npukit.colors.scheme());
    }
    function redraw() {
      if (!asked) requestAnimationFrame(paint);
      asked = true;
    }
    watchWidth(scope, host, redraw);
    scope.on("scheme", redraw);
    // Printers use the current drawing.
    scope.on("print", paint);
    return { host, element, redraw };
  }

  /// An SVG drawing, remade for each width: `draw(width)` returns its content and height.
  function drawing(scope, { label, draw, name, focusable = false }) {
    const host = h("div", { class: "drawing" });
    const element = s("svg", { role: "img", "aria-label": label, "data-name": name, tabindex: focusable ? 0 : null });
    host.append(element);
    function redraw() {
      const width = host.clientWidth;
      if (width === 0) return;
      const { height, content } = draw(width);
      element.setAttribute("viewBox", `0 0 ${width} ${height}`);
      element.setAttribute("height", height);
      element.replaceChildren(...content.flat(Infinity).filter(Boolean));
    }
    watchWidth(scope, host, redraw);
    return { host, element, redraw };
  }

  /// Returns about `count` round numbers from `low` to `high`.
  function ticks(low, high, count) {
    const raw = (high - low) / Math.max(1, count);
    if (!(raw > 0)) return [low];
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((times) => times * size).find((candidate) => candidate >= raw);
    const first = Math.ceil(low / step);
    const marks = [];
    for (let at = first; at * step <= high + step * 1e-9; at += 1) marks.push(at * step);
    return marks;
  }

  /// Returns round numbers on a logarithmic axis: powers of ten, with twos and fives if few powers fit.
  function logTicks(low, high) {
    const decades = Math.log10(high / low);
    const within = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
    const marks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      marks.push(...within.map((times) => times * 10 ** power));
    }
    return marks.filter((mark) => mark >= low * 0.999999 && mark <= high * 1.000001);
  }

  /// An axis: maps values to pixels. A logarithmic axis needs positive values.
  function scale({ low, high, from, to, log }) {
    const put = log ? Math.log10 : (value) => value;
    const [a, b] = [put(low), put(high)];
    const at = (value) => from + ((put(value) - a) / (b - a || 1)) * (to - from);
    at.back = (pixel) => {
      const value = a + ((pixel - from) / (to - from || 1)) * (b - a);
      return log ? 10 ** value : value;
    };
    [at.from, at.to] = [from, to];
    at.marks = (count) => (log ? logTicks(low, high) : ticks(low, high, count));
    return at;
  }

  /// Draws lines, numbers and names of two axes around a plot.
  function axes({ x, y, box, labels, write = npukit.numbers.compact }) {
    const [left, top, right, bottom] = box;
    const across = x.marks(Math.max(2, Math.floor((right - left) / 90)));
    const up = y.marks(Math.max(2, Math.floor((bottom - top) / 50)));
    return [
      across.map((mark) => s("line", { class: "grid", x1: x(mark), x2: x(mark), y1: top, y2: bottom })),
      up.map((mark) => s("line", { class: "grid", x1: left, x2: right, y1: y(mark), y2: y(mark) })),
      s("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }),
      across.map((mark) => s("text", { class: "tick", x: x(mark), y: bottom + 15, "text-anchor": "middle" }, write(mark))),
      up.map((mark) => s("text", { class: "tick", x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, write(mark))),
      s("text", { class: "axis-name", x: right, y: bottom + 32, "text-anchor": "end" }, labels[0]),
      s("text", { class: "axis-name", x: Math.max(0, left - 44), y: top - 8 }, labels[1]),
    ];
  }

  /// Shows rows of a name and a value next to the pointer; null hides them.
  function tip(event, title, rows) {
    const box = document.getElementById("tip");
    box.hidden = !event;
    if (!event) return;
    box.replaceChildren(h("strong", {}, title), h("dl", {},
      rows.filter((row) => row && row[1] !== null).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
    const [width, height] = [box.offsetWidth, box.offsetHeight];
    const beside = event.clientX + 14 + width > window.innerWidth ? event.clientX - 14 - width : event.clientX + 14;
    const below = event.clientY + 14 + height > window.innerHeight ? event.clientY - 14 - height : event.clientY + 14;
    box.style.left = `${Math.max(4, beside)}px`;
    box.style.top = `${Math.max(4, below)}px`;
  }

  return { canvas, drawing, ticks, logTicks, scale, axes, tip };
})();
