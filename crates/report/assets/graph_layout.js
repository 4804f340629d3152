// Layout of a directed graph in ranks from top to bottom: ranks by longest path, orders by barycenters, positions
// by least squares; a deep graph is folded into columns.
npukit.graphLayout = (() => {
  const NODE = { width: 164, height: 36 };
  const BEND = { width: 10 };
  const [GAP, RANK, FOLD] = [20, 60, 56];
  const SWEEPS = 8;

  /// Returns the nodes in topological order; nodes on a cycle come last.
  function topological(count, edges) {
    const waiting = new Array(count).fill(0);
    const next = Array.from({ length: count }, () => []);
    edges.forEach(([from, to]) => { waiting[to] += 1; next[from].push(to); });
    const order = waiting.flatMap((wait, node) => (wait === 0 ? [node] : []));
    for (let at = 0; at < order.length; at += 1) {
      next[order[at]].forEach((to) => { if ((waiting[to] -= 1) === 0) order.push(to); });
    }
    const seen = new Set(order);
    return order.concat(Array.from({ length: count }, (_, node) => node).filter((node) => !seen.has(node)));
  }

  function ranksOf(count, edges) {
    const order = topological(count, edges);
    const place = new Array(count);
    order.forEach((node, at) => { place[node] = at; });
    // Only edges that go forward in the order are used. Networks have no cycles; a cycle would only lose an edge.
    const forward = edges.filter(([from, to]) => place[from] < place[to]);
    const into = Array.from({ length: count }, () => []);
    const out = Array.from({ length: count }, () => []);
    forward.forEach(([from, to]) => { into[to].push(from); out[from].push(to); });
    const rank = new Array(count).fill(0);
    order.forEach((node) => { into[node].forEach((from) => { rank[node] = Math.max(rank[node], rank[from] + 1); }); });
    // A source is placed directly above its consumer.
    order.forEach((node) => { if (!into[node].length && out[node].length) rank[node] = Math.min(...out[node].map((to) => rank[to])) - 1; });
    return { rank, forward };
  }

  /// Returns items by rank: nodes, and a bend for each rank that an edge passes.
  function itemsOf(count, edges) {
    const { rank, forward } = ranksOf(count, edges);
    const items = rank.map((at, node) => ({ node, rank: at, width: NODE.width, up: [], down: [] }));
    const paths = forward.map(([from, to]) => {
      const path = [items[from]];
      for (let at = rank[from] + 1; at < rank[to]; at += 1) {
        const bend = { node: null, rank: at, width: BEND.width, up: [], down: [] };
        items.push(bend);
        path.push(bend);
      }
      path.push(items[to]);
      path.slice(1).forEach((item, at) => { item.up.push(path[at]); path[at].down.push(item); });
      return path;
    });
    return { items, paths };
  }

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  /// Orders the items within ranks to reduce edge crossings.
  function order(ranks) {
    ranks.forEach((rank) => rank.forEach((item, at) => { item.at = at; }));
    for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
      const down = sweep % 2 === 0;
      (down ? ranks : [...ranks].reverse()).forEach((rank) => {
        rank.forEach((item) => {
          const beside = down ? item.up : item.down;
          item.wish = beside.length ? mean(beside.map((other) => other.at)) : item.at;
        });
        rank.sort((a, b) => a.wish - b.wish || a.at - b.at);
        rank.forEach((item, at) => { item.at = at; });
      });
    }
  }

  /// Returns positions of a rank nearest to the wishes of its items, in order and apart: isotonic regression by pooling.
  function place(rank) {
    let offset = 0;
    const offsets = rank.map((item, at) => {
      if (at > 0) offset += (rank[at - 1].width + item.width) / 2 + GAP;
      return offset;
    });
    const pools = [];
    rank.forEach((item, at) => {
      const weight = item.node === null ? 3 : 1;
      pools.push({ sum: (item.wish - offsets[at]) * weight, weight, count: 1 });
      while (pools.length > 1 && pools.at(-2).sum / pools.at(-2).weight > pools.at(-1).sum / pools.at(-1).weight) {
        const last = pools.pop();
        const before = pools.at(-1);
        before.sum += last.sum;
        before.weight += last.weight;
        before.count += last.count;
      }
    });
    let at = 0;
    pools.forEach(({ sum, weight, count }) => {
      for (let one = 0; one < count; one += 1, at += 1) rank[at].x = sum / weight + offsets[at];
    });
  }

  function spread(ranks) {
    ranks.forEach((rank) => rank.forEach((item, at) => { item.x = (at - (rank.length - 1) / 2) * (NODE.width + GAP); }));
    for (let sweep = 0; sweep < SWEEPS + 2; sweep += 1) {
      const down = sweep % 2 === 0;
      (down ? ranks : [...ranks].reverse()).forEach((rank) => {
        rank.forEach((item) => {
          const beside = down ? item.up : item.down;
          item.wish = beside.length ? mean(beside.map((other) => other.x)) : item.x;
        });
        place(rank);
      });
    }
  }

  /// Returns the ranks after which a deep graph is folded into columns with the aspect ratio of the view, where few edges pass.
  function folds(ranks, width, aspect) {
    const columns = Math.sqrt((ranks.length * RANK * aspect) / width);
    const rows = Math.max(6, Math.ceil(ranks.length / Math.max(1, Math.floor(columns))));
    const cuts = [];
    for (let start = 0; start + rows * 1.25 < ranks.length;) {
      const [low, high] = [Math.floor(rows * 0.75), Math.ceil(rows * 1.2)];
      let best = low;
      for (let at = low; at <= high; at += 1) {
        const cost = (one) => ranks[start + one].length * 10 + Math.abs(one - rows);
        if (cost(at) < cost(best)) best = at;
      }
      start += best + 1;
      cuts.push(start);
    }
    return cuts;
  }

  /// Assigns the ranks to columns of sufficient width, and sets `y` and the column of every item.
  function fold(ranks, aspect) {
    const edge = (rank, side) => rank.map((item) => item.x + (side * item.width) / 2);
    const widest = Math.max(...ranks.map((rank) => Math.max(...edge(rank, 1)) - Math.min(...edge(rank, -1))));
    const starts = [0, ...folds(ranks, widest + FOLD, aspect), ranks.length];
    let left = 0;
    starts.slice(1).forEach((end, column) => {
      const own = ranks.slice(starts[column], end);
      const [from, to] = [Math.min(...own.flatMap((rank) => edge(rank, -1))), Math.max(...own.flatMap((rank) => edge(rank, 1)))];
      own.forEach((rank, row) => rank.forEach((item) => Object.assign(item, { x: item.x - from + left, y: row * RANK, column, left })));
      left += to - from + FOLD;
    });
  }

  /// Returns a smooth line through the centers of a path, from the bottom of the first to the top of the last.
  function line(path) {
    const ends = path.map((item, at) => {
      const half = item.node === null ? 0 : NODE.height / 2;
      return { ...item, y: item.y + (at === 0 ? half : at === path.length - 1 ? -half : 0) };
    });
    return ends.slice(1).reduce((text, to, at) => text + piece(ends[at], to), `M${ends[0].x} ${ends[0].y}`);
  }

  function piece(from, to) {
    if (from.column !== to.column) return jump(from, to);
    if (Math.abs(from.x - to.x) < 0.5) return `L${to.x} ${to.y}`;
    const middle = (from.y + to.y) / 2;
    return `C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`;
  }

  /// Returns a line from the bottom of a column through the gap to the top of the next.
  function jump(from, to) {
    const [gap, foot, head] = [to.left - FOLD / 2, from.y + 16, to.y - 16];
    return `C${from.x} ${foot} ${gap} ${foot} ${gap} ${foot - 20}V${head + 20}C${gap} ${head - 8} ${to.x} ${head - 8} ${to.x} ${to.y}`;
  }

  /// Returns the centers of nodes, the lines of edges and the bounding box, in the drawing's own scale. `aspect` is the ratio of
  /// the view's width to its height: a deep graph is folded into columns, which are read one after the other.
  function layout(count, edges, aspect) {
    const { items, paths } = itemsOf(count, edges);
    const ranks = [];
    items.forEach((item) => (ranks[item.rank + 1] ||= []).push(item));
    const full = ranks.filter(Boolean);
    order(full);
    spread(full);
    fold(full, aspect);
    const [xs, ys] = [items.map((item) => item.x), items.map((item) => item.y)];
    const [left, right] = [Math.min(...xs) - NODE.width / 2 - 16, Math.max(...xs) + NODE.width / 2 + 16];
    const [top, bottom] = [Math.min(...ys) - NODE.height / 2 - 28, Math.max(...ys) + NODE.height / 2 + 28];
    return { nodes: items.slice(0, count).map(({ x, y }) => ({ x, y })), columns: Math.max(...items.map((item) => item.column)) + 1,
      lines: paths.map(line), box: { left, top, width: right - left, height: bottom - top }, size: NODE };
  }

  return { layout };
})();
