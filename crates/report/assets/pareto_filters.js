// Filters by parameter: checkboxes for few values, bounds for many.
npukit.paretoFilters = (() => {
  const { h, checkbox, freshId } = npukit.dom;
  const { known, short } = npukit.numbers;
  const FEW = 12;

  const written = (value) => (known(value) && !Number.isInteger(value) ? short(value, 6) : String(value ?? "none"));

  function boxes(name, values, changed) {
    const off = new Set();
    const element = h("fieldset", { "data-parameter": name }, h("legend", {}, name), values.map((value) => checkbox(written(value), true, (on) => {
      if (on) off.delete(value);
      else off.add(value);
      changed();
    })));
    return { element, passes: (point) => !off.has(point.flat.get(name) ?? null) };
  }

  function bounds(name, values, changed) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const limits = [low, high];
    const input = (at, label) => {
      const id = freshId("bound");
      const box = h("input", { id, type: "number", value: limits[at], step: "any" });
      box.addEventListener("input", () => {
        // An empty field is not a bound.
        limits[at] = box.value === "" ? [low, high][at] : Number(box.value);
        changed();
      });
      return h("span", { class: "field" }, h("label", { for: id }, label), box);
    };
    const element = h("fieldset", { "data-parameter": name }, h("legend", {}, name), input(0, "from"), input(1, "to"));
    return { element, passes: (point) => point.flat.get(name) >= limits[0] && point.flat.get(name) <= limits[1] };
  }

  function contains(name, changed) {
    const id = freshId("contains");
    const box = h("input", { id, type: "search", oninput: changed });
    const element = h("fieldset", { "data-parameter": name }, h("legend", {}, name), h("label", { for: id }, "contains"), box);
    return { element, passes: (point) => String(point.flat.get(name) ?? "").includes(box.value) };
  }

  function filterOf(space, name, changed) {
    const values = [...new Set(space.points.map((point) => point.flat.get(name) ?? null))];
    if (values.length < 2) return null;
    values.sort((a, b) => (known(a) && known(b) ? a - b : String(a).localeCompare(String(b), "en", { numeric: true })));
    if (values.length <= FEW) return boxes(name, values, changed);
    return values.every(known) ? bounds(name, values, changed) : contains(name, changed);
  }

  /// Filters of all parameters that differ between points.
  return (space, changed) => {
    const filters = space.parameters.map((name) => filterOf(space, name, changed)).filter(Boolean);
    return { element: h("div", { class: "filters" }, filters.map((filter) => filter.element)),
      passes: (point) => filters.every((filter) => filter.passes(point)) };
  };
})();
