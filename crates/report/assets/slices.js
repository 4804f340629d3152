// Slices of a track with fast lookup: what is at a cycle, and how much of a range was worked, by binary search.
npukit.slices = (() => {
  const FIELDS = 6;
  const SAMPLES = 12;
  // Kept between calls, as a frame makes thousands of queries.
  const TALLY = { kind: new Int32Array(SAMPLES + 2), sum: new Float64Array(SAMPLES + 2) };

  /// Returns the first index whose value is above `limit` (or at least it, with `orEqual`) in a sorted array.
  function first(values, limit, orEqual) {
    let [low, high] = [0, values.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] > limit || (orEqual && values[middle] === limit)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /// Rows of six numbers, ordered by start.
  function ordered(flat) {
    const count = Math.floor(flat.length / FIELDS);
    const order = Array.from({ length: count }, (_, at) => at * FIELDS);
    const isSorted = order.every((at) => at === 0 || flat[at - FIELDS] <= flat[at]);
    return isSorted ? order : order.sort((a, b) => flat[a] - flat[b]);
  }

  class Slices {
    constructor(flat) {
      const order = ordered(flat);
      const count = (this.length = order.length);
      [this.start, this.end, this.busy, this.reach] = Array.from({ length: 4 }, () => new Float64Array(count));
      [this.name, this.layer, this.count] = Array.from({ length: 3 }, () => new Int32Array(count));
      [this.cyclesBefore, this.busyBefore, this.hitsBefore] = Array.from({ length: 3 }, () => new Float64Array(count + 1));
      order.forEach((at, index) => this.put(index, flat, at));
    }

    put(index, flat, at) {
      const cycles = flat[at + 1];
      this.start[index] = flat[at];
      this.end[index] = flat[at] + cycles;
      [this.name[index], this.layer[index], this.count[index], this.busy[index]] = [flat[at + 2], flat[at + 3], flat[at + 4], flat[at + 5]];
      // Overlapping slices end out of order, so searches use the largest end so far.
      this.reach[index] = Math.max(this.end[index], index > 0 ? this.reach[index - 1] : 0);
      this.cyclesBefore[index + 1] = this.cyclesBefore[index] + cycles;
      this.busyBefore[index + 1] = this.busyBefore[index] + this.busy[index];
    }

    /// Returns the index range of slices that touch the cycles from `from` to `to`.
    within(from, to) {
      return [first(this.reach, from), first(this.start, to, true)];
    }

    /// Returns the shares of cycles held and of cycles worked between `from` and `to`; slices at the edges are included in part.
    shares(from, to) {
      const [low, high] = this.within(from, to);
      if (low >= high) return { held: 0, worked: 0, low, high };
      let held = this.cyclesBefore[high] - this.cyclesBefore[low];
      let worked = this.busyBefore[high] - this.busyBefore[low];
      for (const at of low === high - 1 ? [low] : [low, high - 1]) {
        const cycles = this.end[at] - this.start[at];
        const outside = Math.max(0, from - this.start[at]) + Math.max(0, this.end[at] - to);
        held -= Math.min(cycles, outside);
        if (cycles > 0) worked -= this.busy[at] * Math.min(1, outside / cycles);
      }
      const width = to - from;
      return { held: Math.min(1, held / width), worked: Math.min(1, Math.max(0, worked) / width), low, high };
    }

    /// Returns the most frequent kind (an index by `of`) between two indices, by samples if there are many.
    mostly(of, low, high) {
      if (of[low] === of[high - 1] && high - low <= 2) return of[low];
      const step = Math.max(1, (high - low) / SAMPLES);
      let [kinds, best] = [0, 0];
      for (let at = low; at < high; at += step) {
        const index = Math.floor(at);
        let kind = 0;
        while (kind < kinds && TALLY.kind[kind] !== of[index]) kind += 1;
        if (kind === kinds) [TALLY.kind[kind], TALLY.sum[kind], kinds] = [of[index], 0, kinds + 1];
        TALLY.sum[kind] += this.end[index] - this.start[index];
        if (TALLY.sum[kind] > TALLY.sum[best]) best = kind;
      }
      return TALLY.kind[best];
    }

    /// Marks slices whose name is in a set, so that any range can be tested quickly.
    search(names) {
      for (let at = 0; at < this.length; at += 1) this.hitsBefore[at + 1] = this.hitsBefore[at] + (names.has(this.name[at]) ? 1 : 0);
    }

    hits(low, high) {
      return this.hitsBefore[high] - this.hitsBefore[low];
    }

    /// Returns the innermost slice at a cycle, or null.
    at(cycle) {
      let [low, high] = this.within(cycle, cycle + 1e-9);
      for (high = Math.min(this.length, high + 1); high > low; high -= 1) {
        if (this.start[high - 1] <= cycle && cycle < this.end[high - 1]) return high - 1;
      }
      return null;
    }
  }

  return { Slices, first };
})();
