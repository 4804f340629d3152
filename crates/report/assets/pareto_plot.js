// Points of an exploration by two figures: the front, a rectangle that selects, and a keyboard cursor.
npukit.paretoPlot = (() => {
  const { s } = npukit.dom;
  const { short, known, plural } = npukit.numbers;
  const MARGIN = [64, 28, 20, 44];
  // Ratio of values above which an axis is logarithmic.
  const APART = 8;
  // Size of a character of a label, and height of its line.
  const [CHARACTER, LINE] = [6.5, 13];

  function axis(values, from, to) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    if (low > 0 && high / low > APART) return npukit.plot.scale({ low: low / 1.15, high: high * 1.15, from, to, log: true });
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return npukit.plot.scale({ low: low >= 0 ? Math.max(0, low - room) : low - room, high: high + room, from, to });
  }

  class Plot {
    /// `owner` has `space`, `x` and `y` (figures), `selection` (keys), `passes(point)` and `select(keys)`.
    constructor(owner, scope) {
      Object.assign(this, { owner, cursor: -1, brush: null });
      this.surface = npukit.plot.drawing(scope, { name: "pareto", label: "", focusable: true, draw: (width) => this.draw(width) });
      this.listen();
    }

    drawn() {
      const { space, x, y } = this.owner;
      return space.points.filter((point) => known(x.value(point)) && known(y.value(point)));
    }

    draw(width) {
      const height = Math.max(320, Math.min(480, width * 0.55));
      const [left, top, right, bottom] = MARGIN;
      const { x, y } = this.owner;
      const points = this.drawn();
      this.describe(points);
      if (points.length === 0) return { height: 60, content: [s("text", { x: 10, y: 30 }, "No point has both figures.")] };
      this.x = axis(points.map(x.value), left, width - right);
      this.y = axis(points.map(y.value), height - bottom, top);
      const box = [left, top, width - right, height - bottom];
      return { height, content: [npukit.plot.axes({ x: this.x, y: this.y, box, labels: [x.label, y.label] }),
        this.front(points), points.map((point) => this.mark(point)), this.labels(points, width), this.cursorMark(points), this.brushMark()] };
    }

    describe(points) {
      const { space, x, y } = this.owner;
      const missing = space.points.length - points.length;
      this.surface.element.setAttribute("aria-label", `${y.label} against ${x.label} of ${plural(points.length, "point")}`
        + `${missing ? `; ${missing} lack one of the figures` : ""}. Arrows go from point to point, Enter selects, Escape clears. The table below has the same facts.`);
    }

    /// Draws the steps between Pareto-optimal points if the axes are the two objectives.
    front(points) {
      const { space, x, y } = this.owner;
      const [one, two] = space.objectives;
      const keys = [x.key, y.key];
      if (space.objectives.length !== 2 || x.key === y.key || !keys.includes(one.key) || !keys.includes(two.key)) return null;
      const best = points.filter((point) => point.pareto).map((point) => [x.value(point), y.value(point)]).sort(([a], [b]) => a - b);
      if (best.length === 0) return null;
      const more = (one.key === x.key ? one : two).more;
      // Between two points of the front, the point that is worse in x bounds the other's y up to its own x.
      const d = best.map(([px, py], at) => {
        if (at === 0) return `M${this.x(px)} ${this.y(py)}`;
        return more ? `V${this.y(py)}H${this.x(px)}` : `H${this.x(px)}V${this.y(py)}`;
      }).join("");
      return s("path", { class: "front", d });
    }

    mark(point) {
      const { x, y, selection } = this.owner;
      const color = this.owner.colorOf(point);
      const look = ["point", color ? "colored" : "", point.feasible ? "" : "hollow", point.pareto ? "pareto" : "",
        selection.has(point.key) ? "chosen" : "", this.owner.passes(point) ? "" : "dim"].filter(Boolean).join(" ");
      return s("circle", { class: look, cx: this.x(x.value(point)), cy: this.y(y.value(point)), r: point.pareto ? 6.5 : 5, "data-key": point.key,
        vars: color && { "--color": color },
        onpointermove: (event) => !this.brush && npukit.plot.tip(event, point.target, this.owner.facts(point)),
        onpointerleave: () => npukit.plot.tip(null) });
    }

    /// Labels the points of the front; omits a label that would cover another one.
    labels(points, width) {
      const { x, y } = this.owner;
      const taken = [];
      return points.filter((point) => point.pareto).sort((a, b) => x.value(a) - x.value(b)).map((point) => {
        const [text, left, line] = [this.owner.labelOf(point), this.x(x.value(point)) + 8, this.y(y.value(point)) - 8];
        const right = left + CHARACTER * text.length;
        const covered = taken.some(([from, to, at]) => left < to && from < right && Math.abs(at - line) < LINE);
        if (covered || right > width) return null;
        taken.push([left, right, line]);
        return s("text", { class: "point-label", x: left, y: line }, text);
      });
    }

    inOrder() {
      const { x } = this.owner;
      return this.drawn().sort((a, b) => x.value(a) - x.value(b));
    }

    cursorMark(points) {
      const point = this.cursor >= 0 && points.length ? this.inOrder()[this.cursor] : null;
      return point && s("circle", { class: "cursor", cx: this.x(this.owner.x.value(point)), cy: this.y(this.owner.y.value(point)), r: 10 });
    }

    brushMark() {
      if (!this.brush) return null;
      const [x0, y0, x1, y1] = this.brush;
      return s("rect", { class: "brush", x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) });
    }

    inBrush() {
      const [x0, y0, x1, y1] = this.brush;
      const { x, y } = this.owner;
      const within = (value, a, b) => value >= Math.min(a, b) && value <= Math.max(a, b);
      return this.drawn().filter((point) => this.owner.passes(point) && within(this.x(x.value(point)), x0, x1) && within(this.y(y.value(point)), y0, y1));
    }

    here(event) {
      const box = this.surface.element.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    listen() {
      const { element } = this.surface;
      npukit.pointer.drags(element, {
        start: (event) => { this.from = this.here(event); },
        drag: (_dx, _dy, event) => { this.brush = [...this.from, ...this.here(event)]; npukit.plot.tip(null); this.surface.redraw(); },
        click: (event) => this.click(event),
        end: (event, moved) => { if (moved) this.release(event.shiftKey); },
      });
      npukit.pointer.keys(element, {
        ArrowRight: () => this.walk(1), ArrowLeft: () => this.walk(-1), ArrowUp: () => this.walk(1), ArrowDown: () => this.walk(-1),
        Enter: () => this.pickCursor(), " ": () => this.pickCursor(), Escape: () => this.owner.select(new Set()),
      });
    }

    release(adds) {
      const keys = this.inBrush().map((point) => point.key);
      this.brush = null;
      this.owner.select(new Set(adds ? [...this.owner.selection, ...keys] : keys));
    }

    click(event) {
      const key = document.elementFromPoint(event.clientX, event.clientY)?.closest("circle.point")?.dataset.key;
      if (key === undefined) this.owner.select(new Set());
      else this.owner.toggle(key);
    }

    walk(by) {
      const points = this.inOrder();
      this.cursor = (this.cursor + by + points.length) % points.length;
      const point = points[this.cursor];
      this.owner.say(`${point.target}: ${this.owner.x.label} ${short(this.owner.x.value(point), 4)}, ${this.owner.y.label} ${short(this.owner.y.value(point), 4)}`);
      this.surface.redraw();
    }

    pickCursor() {
      const point = this.inOrder()[this.cursor];
      if (point) this.owner.toggle(point.key);
    }
  }

  return { Plot };
})();
