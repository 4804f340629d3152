// Colors of points by a parameter or a figure: one per value, or one per group of neighboring values if there are many.
npukit.paretoColors = (() => {
  const { h } = npukit.dom;
  const { known, short } = npukit.numbers;
  const { amount, kind } = npukit.colors;
  const MOST = 8;

  const written = (value) => (known(value) && !Number.isInteger(value) ? short(value, 4) : String(value));

  /// Returns the values in order, and whether they are amounts.
  function valuesOf(points, value) {
    const values = [...new Set(points.map(value).filter((one) => one !== null && one !== undefined))];
    const areAmounts = values.every(known);
    values.sort((a, b) => (areAmounts ? a - b : String(a).localeCompare(String(b), "en", { numeric: true })));
    return { values, areAmounts };
  }

  /// Returns the groups, each with a color and a text, and the group of a point.
  return (points, { label, value }) => {
    const { values, areAmounts } = valuesOf(points, value);
    const count = Math.min(MOST, values.length);
    const groupOf = new Map(values.map((one, at) => [one, values.length <= MOST ? at : Math.floor((at * MOST) / values.length)]));
    const groups = Array.from({ length: count }, (_, group) => {
      const own = values.filter((one) => groupOf.get(one) === group);
      const text = own.length === 1 ? written(own[0]) : `${written(own[0])} to ${written(own.at(-1))}`;
      return { text, color: areAmounts ? amount(count === 1 ? 0 : group / (count - 1)) : kind(group) };
    });
    const legend = h("ul", { class: "legend", "data-name": "pareto-legend", "aria-label": `Colors of points by ${label}` },
      h("li", {}, `${label}:`), groups.map(({ text, color }) => h("li", {}, h("span", { class: "swatch", vars: { "--color": color } }), text)));
    return { legend, of: (point) => groups[groupOf.get(value(point))]?.color ?? null };
  };
})();
