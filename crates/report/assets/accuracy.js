// Accuracy on labeled samples: by class, the most frequent confusions, and the samples that are furthest off.
(() => {
  const { missing, h } = npukit.dom;
  const { int, percent, plural, short, DASH } = npukit.numbers;
  const { Table, bar } = npukit.table;
  const { list } = npukit.data;
  // Maximum number of classes that are listed, and of confusions.
  const FEW = 32;
  const MOST_CONFUSIONS = 20;

  const nameOf = (predicted) => (predicted === null || predicted === undefined ? "NaN" : int(predicted));

  function classesOf(accuracy) {
    const rows = Array.from({ length: accuracy.classes }, (_, label) => ({ label, count: 0, right: 0 }));
    list(accuracy.confusion).forEach(({ label, predicted, count }) => {
      rows[label].count += count;
      if (predicted === label) rows[label].right += count;
    });
    return rows.filter((row) => row.count > 0);
  }

  const number = (key, label, value) => ({ key, label, number: true, value, show: (row) => int(value(row)) });

  function byClass(accuracy) {
    if (accuracy.classes > FEW) return missing(`The table of classes is left out: there are ${int(accuracy.classes)}.`);
    const share = (row) => row.right / row.count;
    return new Table({ name: "classes", caption: "Accuracy by class", rows: classesOf(accuracy), columns: [
      number("label", "class", (row) => row.label), number("count", "labels", (row) => row.count), number("right", "correct", (row) => row.right),
      { key: "share", label: "accuracy", number: true, value: share, show: (row) => bar(share(row), percent(share(row))) },
    ] }).element;
  }

  function confusions(accuracy) {
    const wrong = list(accuracy.confusion).filter(({ label, predicted }) => label !== predicted).sort((a, b) => b.count - a.count);
    if (wrong.length === 0) return missing("Every prediction is correct.");
    return new Table({ name: "confusions", caption: "Most frequent confusions", rows: wrong.slice(0, MOST_CONFUSIONS), columns: [
      number("label", "class", (row) => row.label),
      { key: "predicted", label: "predicted as", number: true, value: (row) => row.predicted, show: (row) => nameOf(row.predicted) },
      number("count", "times", (row) => row.count),
    ] }).element;
  }

  function worst(accuracy) {
    const rows = list(accuracy.worst);
    if (rows.length === 0) return null;
    const hasPositions = rows.some((row) => row.position > 0);
    return new Table({ name: "worst", caption: "Samples that are furthest off", rows, columns: [
      number("sample", "sample", (row) => row.sample), ...(hasPositions ? [number("position", "position", (row) => row.position)] : []),
      number("label", "class", (row) => row.label),
      { key: "predicted", label: "predicted as", number: true, value: (row) => row.predicted, show: (row) => nameOf(row.predicted) },
      { key: "margin", label: "class's score above the others", number: true, value: (row) => row.margin,
        show: (row) => (row.margin === null || row.margin === undefined ? DASH : short(row.margin, 4)) },
    ] }).element;
  }

  function words({ float, labels, output, top1, top5 }) {
    const beside = (share) => (float ? ` (${percent(float[share])} in float)` : "");
    const apart = float ? ` ${plural(float.only_machine, "label is", "labels are")} correct only on the accelerator, ${int(float.only_float)} only in float.` : "";
    return `${plural(labels, "label")} for output ${output}: top-1 ${percent(top1)}${beside("top1")}, top-5 ${percent(top5)}${beside("top5")}.${apart}`;
  }

  npukit.addSection({
    id: "accuracy", title: "Accuracy", wants: (doc) => doc.runs.some((run) => run.run?.accuracy),
    draw({ body, run }) {
      const accuracy = run.run?.accuracy;
      if (!accuracy) return body.append(missing("This run has no labels."));
      const part = (title, content) => content && h("div", {}, h("h3", {}, title), content);
      body.append(h("p", {}, words(accuracy)),
        h("div", { class: "columns" }, part("By class", byClass(accuracy)), part("Most frequent confusions", confusions(accuracy))));
      const samples = part(list(accuracy.worst).some(({ label, predicted }) => label !== predicted) ? "Samples that are furthest off" : "Least certain samples, all right", worst(accuracy));
      if (samples) body.append(samples);
    },
  });
})();
