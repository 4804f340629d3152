// Tables that sort by every column, by click and by keyboard, and can mark the row of the selected layer.
npukit.table = (() => {
  const { h, button } = npukit.dom;
  const { plural } = npukit.numbers;

  const absent = (value) => value === null || value === undefined || Number.isNaN(value);

  /// Sorts rows by a column; missing values come last in both directions.
  function order(rows, column, descending) {
    const compare = (a, b) =>
      typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return rows.map((row, at) => [column.value(row), at, row]).sort(([a, i], [b, j]) => {
      if (absent(a) || absent(b)) return absent(a) - absent(b) || i - j;
      return (descending ? compare(b, a) : compare(a, b)) || i - j;
    }).map(([, , row]) => row);
  }

  class Table {
    /// `columns`: `{key, label, hint, number, value(row), show(row)}`; `pick(row)` is called for a clicked row, `keyOf(row)`
    /// returns the key of a row, and `limit` is the number of rows shown until all are requested.
    constructor({ name, caption, columns, rows, keyOf, pick, limit = 500, empty = "No rows.", sort }) {
      Object.assign(this, { name, columns, rows, keyOf, pick, limit, empty, chosen: null, sort: sort || null });
      this.passes = () => true;
      this.head = h("tr", {}, columns.map((column) => this.heading(column)));
      this.body = h("tbody", {});
      this.more = h("p", { class: "more" });
      this.table = h("table", { "data-name": name },
        h("caption", {}, caption), h("thead", {}, this.head), this.body);
      this.element = h("div", {},
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${caption} (table)` }, this.table), this.more);
      this.draw();
    }

    heading(column) {
      const turn = button(column.label, () => this.turn(column), { title: column.hint });
      return h("th", { scope: "col", "data-key": column.key, class: column.number ? "number" : null,
        "aria-sort": "none" }, turn);
    }

    /// Sorts by a column: numbers in descending, texts in ascending order; a second click reverses it.
    turn(column) {
      const same = this.sort?.key === column.key;
      this.sort = { key: column.key, descending: same ? !this.sort.descending : Boolean(column.number) };
      this.draw();
    }

    filter(passes) {
      this.passes = passes;
      this.draw();
    }

    setRows(rows) {
      this.rows = rows;
      this.draw();
    }

    choose(key) {
      this.chosen = key;
      this.body.querySelectorAll("tr").forEach((row) => this.mark(row));
    }

    mark(row) {
      const chosen = this.chosen !== null && row.dataset.key === this.chosen;
      row.classList.toggle("chosen", chosen);
      if (chosen) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }

    shown() {
      const rows = this.rows.filter(this.passes);
      const column = this.sort && this.columns.find(({ key }) => key === this.sort.key);
      return column ? order(rows, column, this.sort.descending) : rows;
    }

    row(row) {
      const key = this.keyOf ? this.keyOf(row) : null;
      const cells = this.columns.map((column, at) => {
        const shown = column.show ? column.show(row) : column.value(row);
        const text = absent(shown) ? npukit.numbers.DASH : shown;
        return h(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: column.number ? "number" : column.kind },
          at === 0 && this.pick ? button(text, (event) => this.pickOnce(event, row), { class: "pick" }) : text);
      });
      const line = h("tr", { "data-key": key, class: this.pick ? "pickable" : null,
        onclick: this.pick ? (event) => this.pickOnce(event, row) : null }, cells);
      this.mark(line);
      return line;
    }

    pickOnce(event, row) {
      event.stopPropagation();
      this.pick(row);
    }

    draw() {
      const rows = this.shown();
      const some = rows.slice(0, this.limit);
      this.body.replaceChildren(...some.map((row) => this.row(row)));
      if (rows.length === 0) this.body.append(h("tr", {}, h("td", { colspan: this.columns.length, class: "none" }, this.empty)));
      [...this.head.children].forEach((cell) => {
        const sorted = this.sort?.key === cell.dataset.key;
        cell.setAttribute("aria-sort", sorted ? (this.sort.descending ? "descending" : "ascending") : "none");
      });
      this.more.replaceChildren(...this.rest(rows.length));
    }

    rest(count) {
      if (count <= this.limit) return [];
      return [`${plural(count - this.limit, "more row is", "more rows are")} not shown. `,
        button("Show all rows", () => { this.limit = Infinity; this.draw(); })];
    }
  }

  /// Returns a share as a bar with its number.
  function bar(share, text) {
    const width = Math.max(0, Math.min(1, share || 0));
    return h("span", { class: "bar" }, h("span", { class: "fill", vars: { "--share": width } }), h("span", {}, text));
  }

  return { Table, bar, order };
})();
