// Contents of each memory over time: addresses up, cycles across, aligned with the timeline.
(() => {
  const { h, button, details, missing } = npukit.dom;
  const { int, percent, plural } = npukit.numbers;
  const { Table } = npukit.table;
  const { list } = npukit.data;
  const { state } = npukit;
  const HEIGHT = 190;
  const AXIS = 20;
  const BEFORE = -1;

  const gutter = (width) => npukit.timelineDraw.gutter(width);

  /// Decodes run lengths to rows of cells, lowest addresses first.
  function cellsOf(map) {
    const cells = new Int16Array(map.rows * map.columns);
    let at = 0;
    for (let pair = 0; pair + 1 < map.cells.length; pair += 2) {
      cells.fill(map.cells[pair], at, at + map.cells[pair + 1]);
      at += map.cells[pair + 1];
    }
    return cells;
  }

  /// Counts the filled rows of each column, and the cells of each value.
  function counted(map, cells) {
    const filled = new Uint32Array(map.columns);
    const byValue = new Map();
    cells.forEach((value, at) => {
      if (value !== 0) filled[at % map.columns] += 1;
      byValue.set(value, (byValue.get(value) || 0) + 1);
    });
    return { filled, byValue };
  }

  function colorOf(value, scheme) {
    return value === BEFORE ? scheme.before : npukit.colors.kind(value - 1);
  }

  /// Draws the map with one pixel per cell; the selected layer's cells are strong, the others pale.
  function pictureOf(map, cells, chosen, scheme) {
    const picture = h("canvas", { width: map.columns, height: map.rows });
    const context = picture.getContext("2d");
    const image = context.createImageData(map.columns, map.rows);
    const colors = new Map();
    cells.forEach((value, at) => {
      if (value === 0) return;
      if (!colors.has(value)) colors.set(value, npukit.colors.parts(colorOf(value, scheme)));
      const row = map.rows - 1 - Math.floor(at / map.columns);
      const pixel = 4 * (row * map.columns + (at % map.columns));
      image.data.set(colors.get(value), pixel);
      image.data[pixel + 3] = chosen === null || chosen === value ? 255 : 80;
    });
    context.putImageData(image, 0, 0);
    return picture;
  }

  class MapView {
    constructor(run, map, scope) {
      Object.assign(this, { run, map, cells: cellsOf(map), key: null, picture: null });
      Object.assign(this, counted(map, this.cells));
      this.surface = npukit.plot.canvas(scope, {
        name: "memory", label: this.words(), heightOf: () => HEIGHT + AXIS, focusable: false,
        draw: (context, width, colors) => this.draw(context, width, colors),
      });
      this.element = h("figure", { class: "map" }, h("figcaption", {}, h("h3", {}, map.name), this.words()),
        this.surface.host, this.legend());
      ["range", "select"].forEach((event) => scope.on(event, this.surface.redraw));
      this.listen();
    }

    nameOf(value) {
      if (value === BEFORE) return "from before the program";
      return list(this.run.timeline?.layers)[value - 1] ?? `layer ${value}`;
    }

    fullest() {
      let at = 0;
      this.filled.forEach((count, column) => { if (count > this.filled[at]) at = column; });
      return at;
    }

    words() {
      const { map } = this;
      const cycle = this.fullest() * map.cycles_per_column;
      return `${int(map.used)} of ${int(map.places)} ${map.unit} used, ${percent(map.used / map.places)}; fullest around cycle ${int(cycle)}, `
        + `with live content in ${percent(this.filled[this.fullest()] / map.rows)} of the rows (a row is ${plural(map.places_per_row, "address", "addresses")}).`;
    }

    chosen() {
      const index = state.layer === null ? undefined : this.run.byKey.get(state.layer)?.timeline;
      return index === undefined || !this.byValue.has(index + 1) ? null : index + 1;
    }

    /// Returns the image for the current selection and scheme.
    current(scheme) {
      const key = `${this.chosen()} ${scheme.before}`;
      if (key !== this.key) [this.key, this.picture] = [key, pictureOf(this.map, this.cells, this.chosen(), scheme)];
      return this.picture;
    }

    draw(context, width, scheme) {
      const left = gutter(width);
      const { map } = this;
      const [from, to] = state.range.map((cycle) => cycle / map.cycles_per_column);
      context.fillStyle = scheme.lane;
      context.fillRect(left, 0, width - left - 4, HEIGHT);
      context.imageSmoothingEnabled = false;
      const picture = this.current(scheme);
      const shown = Math.min(to, map.columns) - from;
      if (shown > 0) context.drawImage(picture, from, 0, shown, map.rows, left, 0, ((width - left - 4) * shown) / (to - from), HEIGHT);
      this.drawAxes(context, width, left, scheme);
    }

    drawAxes(context, width, left, scheme) {
      const { map } = this;
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = scheme.muted;
      context.textAlign = "right";
      const top = map.rows * map.places_per_row;
      const y = npukit.plot.scale({ low: 0, high: top, from: HEIGHT, to: 0 });
      y.marks(4).forEach((mark) => {
        const inside = left < 20;
        context.textAlign = inside ? "left" : "right";
        context.fillText(int(mark), inside ? left + 3 : left - 6, Math.max(10, Math.min(HEIGHT - 2, y(mark) + 4)));
      });
      context.textAlign = "center";
      const x = npukit.plot.scale({ low: state.range[0], high: state.range[1], from: left, to: width - 4 });
      x.marks((width - left) / 110).forEach((mark) =>
        context.fillText(int(mark), Math.min(width - 28, Math.max(left + 14, x(mark))), HEIGHT + 15));
      this.drawFill(context, x, y, scheme);
    }

    /// Draws the share of the memory in use as a line over the cells.
    drawFill(context, x, y, scheme) {
      const { map } = this;
      const [first, last] = state.range.map((cycle) => Math.floor(cycle / map.cycles_per_column));
      context.beginPath();
      for (let column = first; column <= Math.min(last, map.columns - 1); column += 1) {
        const height = y(this.filled[column] * map.places_per_row);
        context.lineTo(Math.max(x(state.range[0]), x(column * map.cycles_per_column)), height);
        context.lineTo(Math.min(x(state.range[1]), x((column + 1) * map.cycles_per_column)), height);
      }
      context.strokeStyle = scheme.surface;
      context.lineWidth = 4;
      context.stroke();
      context.strokeStyle = scheme.ink;
      context.lineWidth = 1.5;
      context.stroke();
      context.lineWidth = 1;
    }

    cellAt(event) {
      const box = this.surface.element.getBoundingClientRect();
      const left = gutter(box.width);
      const share = (event.clientX - box.left - left) / (box.width - left - 4);
      const cycle = state.range[0] + share * (state.range[1] - state.range[0]);
      const column = Math.floor(cycle / this.map.cycles_per_column);
      const row = Math.floor((1 - (event.clientY - box.top) / HEIGHT) * this.map.rows);
      const inside = share >= 0 && share <= 1 && column < this.map.columns && row >= 0 && row < this.map.rows;
      return inside ? { row, column, value: this.cells[row * this.map.columns + column] } : null;
    }

    hover(event) {
      const cell = this.cellAt(event);
      if (!cell) return npukit.plot.tip(null);
      const { map } = this;
      const [place, cycle] = [cell.row * map.places_per_row, cell.column * map.cycles_per_column];
      npukit.plot.tip(event, cell.value === 0 ? "nothing needed" : this.nameOf(cell.value), [
        ["places", `${int(place)} to ${int(Math.min(map.places, place + map.places_per_row) - 1)}`],
        ["cycles", `${int(cycle)} to ${int(cycle + map.cycles_per_column)}`],
        ["needed then", percent(this.filled[cell.column] / map.rows)],
      ]);
    }

    listen() {
      const { element } = this.surface;
      element.addEventListener("pointermove", (event) => this.hover(event));
      element.addEventListener("pointerleave", () => npukit.plot.tip(null));
      npukit.pointer.drags(element, {
        drag: (dx) => state.pan(-dx / (element.clientWidth - gutter(element.clientWidth))),
        click: (event) => this.pick(this.cellAt(event)?.value ?? 0),
      });
    }

    pick(value) {
      const key = this.run.keys.timeline[value - 1];
      if (key !== undefined) state.toggle(key, "memory");
    }

    /// Lists the contents of the map, largest first: as a legend to select from, and as a table.
    legend() {
      const all = [...this.byValue].filter(([value]) => value !== 0).sort(([, a], [, b]) => b - a);
      const cells = this.map.rows * this.map.columns;
      const swatch = (value) => h("span", { class: `swatch ${value === BEFORE ? "before" : ""}`,
        vars: value === BEFORE ? null : { "--color": npukit.colors.kind(value - 1) } });
      const entries = all.map(([value]) => h("li", {}, value === BEFORE ? h("span", {}, swatch(value), this.nameOf(value))
        : button([swatch(value), h("span", { class: "clip" }, this.nameOf(value))], () => this.pick(value), { class: "pick" })));
      const table = new Table({
        name: "memory-table", caption: `What ${this.map.name} holds`, rows: all.map(([value, count]) => ({ name: this.nameOf(value), share: count / cells })),
        columns: [{ key: "name", label: "written by", value: (row) => row.name },
          { key: "share", label: "share of addresses and cycles", number: true, value: (row) => row.share, show: (row) => percent(row.share) }],
      });
      return h("div", {}, h("ul", { class: "legend", "aria-label": "Colors" }, entries), details(`Contents of ${this.map.name}, as a table`, table.element));
    }
  }

  npukit.addSection({
    id: "memory", title: "Memory over time",
    draw({ body, run, scope }) {
      const maps = list(run.memories);
      if (maps.length === 0) return body.append(missing("Memory maps are missing: the program was not traced, or its memories are unknown."));
      body.append(h("p", { class: "quiet" }, "Addresses up, cycles across, aligned with the timeline. A cell has the color of the layer that wrote "
        + "its content, as long as it is needed; the line shows the share in use."));
      body.append(...maps.map((map) => new MapView(run, map, scope).element));
    },
  });
})();
