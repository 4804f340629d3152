// Choices of the reader: the run, the layer, the cycles in view. The first two are kept in the address.
npukit.state = (() => {
  const listeners = new Map();
  const state = { run: 0, layer: null, range: [0, 1], whole: [0, 1] };

  function emit(event, ...details) {
    [...(listeners.get(event) || [])].forEach((listener) => listener(...details));
  }

  /// Listeners that live as long as the content of a section.
  function scope() {
    const ends = [];
    return {
      on(event, listener) {
        if (!listeners.has(event)) listeners.set(event, new Set());
        listeners.get(event).add(listener);
        ends.push(() => listeners.get(event).delete(listener));
      },
      end: (action) => ends.push(action),
      close: () => ends.splice(0).forEach((action) => action()),
    };
  }

  const parse = () => new URLSearchParams(location.hash.slice(1));

  function writeHash() {
    const hash = new URLSearchParams();
    if (state.layer !== null) hash.set("layer", state.layer);
    if (state.run !== 0) hash.set("run", state.run);
    const text = hash.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  /// Selects a layer by its key, or none; `source` is the section that asked, which need not scroll.
  function select(layer, source) {
    state.layer = layer;
    writeHash();
    emit("select", layer, source);
  }

  const toggle = (layer, source) => select(state.layer === layer ? null : layer, source);

  function setRun(run) {
    state.run = run;
    writeHash();
    emit("run", run);
  }

  /// Sets the cycles of a run; all of them come into view.
  function setWhole(cycles) {
    state.whole = [0, Math.max(1, cycles)];
    state.range = [...state.whole];
  }

  /// Brings cycles into view: at least a few, and only existing ones.
  function setRange(from, to) {
    const [low, high] = state.whole;
    const width = Math.min(high - low, Math.max(to - from, Math.min(8, high - low)));
    const start = Math.min(high - width, Math.max(low, from));
    state.range = [start, start + width];
    emit("range");
  }

  /// Zooms by a factor about a position of the view, 0 at its left.
  function zoom(factor, about = 0.5) {
    const [from, to] = state.range;
    const width = (to - from) / factor;
    const center = from + (to - from) * about;
    setRange(center - width * about, center + width * (1 - about));
  }

  function pan(share) {
    const [from, to] = state.range;
    setRange(from + (to - from) * share, to + (to - from) * share);
  }

  const all = () => setRange(...state.whole);

  return Object.assign(state, { scope, emit, parse, select, toggle, setRun, setWhole, setRange, zoom, pan, all });
})();
