// The graph as a drawing that can be zoomed, moved and fitted; a click on a node selects its layer.
npukit.graphView = (() => {
  const { s } = npukit.dom;
  const { state } = npukit;
  const HEIGHT = 560;
  const [LEAST, MOST] = [0.03, 3];

  const clipped = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}\u2026` : text);

  class GraphView {
    /// `look(node)` returns `{color, figure}`, `facts(node)` rows for the tooltip, `keyOf(node)` the layer's key or null.
    constructor(scope, graph, { look, facts, keyOf, label }) {
      Object.assign(this, { graph, look, facts, keyOf });
      this.lines = s("g", { class: "edges" });
      this.boxes = s("g", {});
      this.content = s("g", {}, this.lines, this.boxes);
      this.surface = npukit.plot.drawing(scope, {
        name: "graph", label, focusable: true, draw: (width) => {
          const isFirst = !this.width;
          this.width = width;
          if (isFirst) this.begin();
          return { height: HEIGHT, content: [this.content] };
        },
      });
      this.listen();
    }

    /// Draws the nodes in their colors.
    fill() {
      if (!this.plan) return;
      this.boxes.replaceChildren(...this.graph.nodes.map((node, at) => this.box(node, this.plan.nodes[at])));
      this.choose();
    }

    box(node, { x, y }) {
      const { width, height } = this.plan.size;
      const { color, figure } = this.look(node);
      const ink = color ? npukit.colors.ink(color) : null;
      const key = this.keyOf(node);
      return s("g", { class: `node ${node.place}`, transform: `translate(${x - width / 2} ${y - height / 2})`, "data-key": key,
        onpointermove: (event) => npukit.plot.tip(event, node.name, this.facts(node)), onpointerleave: () => npukit.plot.tip(null) },
      s("rect", { width, height, rx: 4, vars: color ? { fill: color } : {} }),
      s("text", { x: 8, y: 15, vars: ink ? { fill: ink } : {} }, clipped(node.place === "host" ? `host: ${node.op}` : node.op, 15)),
      s("text", { x: width - 8, y: 15, "text-anchor": "end", vars: ink ? { fill: ink } : {} }, figure),
      s("text", { class: "name", x: 8, y: 29, vars: ink ? { fill: ink } : {} }, clipped(node.name, 23)));
    }

    choose() {
      [...this.boxes.children].forEach((box) => box.classList.toggle("chosen", state.layer !== null && box.dataset.key === state.layer));
    }

    /// Lays the graph out for the available size. It starts at the first node in a readable size, or shows everything if it fits.
    begin() {
      this.plan = npukit.graphLayout.layout(this.graph.nodes.length, this.graph.edges, this.width / HEIGHT);
      this.lines.replaceChildren(...this.plan.lines.map((d) => s("path", { d })));
      this.fill();
      const { box } = this.plan;
      const whole = Math.min(this.width / box.width, HEIGHT / box.height);
      if (whole > 0.5) return this.fit();
      this.zoomed = 0.8;
      this.x = 8 - box.left * this.zoomed;
      this.y = 8 - box.top * this.zoomed;
      if (state.layer === null || !this.center(state.layer)) this.apply();
    }

    fit() {
      const { box } = this.plan;
      this.zoomed = Math.max(LEAST, Math.min(1.2, this.width / box.width, HEIGHT / box.height));
      this.x = this.width / 2 - (box.left + box.width / 2) * this.zoomed;
      this.y = HEIGHT / 2 - (box.top + box.height / 2) * this.zoomed;
      this.apply();
    }

    apply() {
      this.content.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.zoomed})`);
    }

    zoom(factor, x = this.width / 2, y = HEIGHT / 2) {
      const to = Math.min(MOST, Math.max(LEAST, this.zoomed * factor));
      this.x = x - (x - this.x) * (to / this.zoomed);
      this.y = y - (y - this.y) * (to / this.zoomed);
      this.zoomed = to;
      this.apply();
    }

    pan(dx, dy) {
      this.x += dx;
      this.y += dy;
      this.apply();
    }

    /// Centers the first node of a layer; returns false if it has none.
    center(key) {
      const first = this.graph.nodes.findIndex((node) => this.keyOf(node) === key);
      if (first < 0 || !this.plan) return false;
      const middle = this.plan.nodes[first];
      this.zoomed = Math.max(0.7, this.zoomed);
      this.x = this.width / 2 - middle.x * this.zoomed;
      this.y = HEIGHT / 2 - middle.y * this.zoomed;
      this.apply();
      return true;
    }

    listen() {
      const { element } = this.surface;
      npukit.pointer.drags(element, {
        drag: (dx, dy) => this.pan(dx, dy),
        click: (event) => {
          const key = document.elementFromPoint(event.clientX, event.clientY)?.closest("g.node")?.dataset.key;
          if (key !== undefined) state.toggle(key, "graph");
        },
      });
      npukit.pointer.wheel(element, (factor, event) => {
        const box = element.getBoundingClientRect();
        this.zoom(factor, event.clientX - box.left, event.clientY - box.top);
      }, (sideways) => this.pan(-sideways, 0));
      npukit.pointer.keys(element, {
        "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.fit(),
        ArrowLeft: () => this.pan(60, 0), ArrowRight: () => this.pan(-60, 0), ArrowUp: () => this.pan(0, 60), ArrowDown: () => this.pan(0, -60),
      });
    }
  }

  return { GraphView };
})();
