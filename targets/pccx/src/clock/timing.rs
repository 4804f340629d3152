//! Cost of a single instruction: [`cost`]. Source: specification 6.4. [`crate::clock`] overlaps
//! instructions.

use crate::config::{Config, Reading, Timing, WORD_BYTES, WORD_LANES};
use crate::isa::op::{Banks, Cvo, CvoFunc, Device, Engine, Mac, Memcpy, Op, weights_in_l2};

/// Dominant part of an instruction's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Multipliers, or the pipeline of a function.
    Compute,
    /// Transfer of weights through the high-performance ports.
    Weights,
    /// Reads of operands from L2.
    Load,
    /// Writes of results to L2.
    Store,
    /// Transfers through the coherent port.
    Host,
    /// Issue only: the instruction has no other cost.
    Issue,
}

impl Bound {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Weights => "weights",
            Self::Load => "L2 reads",
            Self::Store => "L2 writes",
            Self::Host => "coherent port",
            Self::Issue => "issue",
        }
    }
}

/// Cost of an instruction, in core cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Cycles until the engine has its operands.
    pub load: u64,
    /// Cycles of computation; weights arrive at the same time.
    pub compute: u64,
    /// Cycles in which the weights arrive.
    pub weights: u64,
    /// Cycles to store results after the computation.
    pub store: u64,
    /// Number of multiply-accumulates, 0 for instructions other than GEMV and GEMM.
    pub macs: u64,
    /// Bytes of weights that stream through the high-performance ports.
    pub weight_bytes: u64,
    /// Bytes through the coherent port.
    pub host_bytes: u64,
    /// Number of activations or elements processed.
    pub values: u64,
}

impl Cost {
    /// Returns the total cycles of the instruction alone: load + max(compute, weights) + store.
    pub fn total(&self) -> u64 {
        self.load + self.compute.max(self.weights) + self.store
    }

    /// Returns the part that dominates the cost.
    pub fn bound(&self, op: &Op) -> Bound {
        let work = if self.weights > self.compute { Bound::Weights } else { Bound::Compute };
        let parts =
            [(self.load, Bound::Load), (self.store, Bound::Store), (self.compute.max(self.weights), work)];
        match op.engine() {
            Engine::Dispatch => Bound::Issue,
            Engine::Memcpy if self.host_bytes > 0 => Bound::Host,
            // If several parts take equally long, the last one is reported.
            _ => parts.into_iter().max_by_key(|(cycles, _)| *cycles).map_or(Bound::Issue, |(_, bound)| bound),
        }
    }
}

/// Returns the number of L2 words of `values` values.
const fn words(values: u64) -> u64 {
    values.div_ceil(WORD_LANES as u64)
}

/// Returns the cycles of a transfer at `bytes_per_cycle`, rounded up.
fn transfer(bytes: u64, bytes_per_cycle: f64) -> u64 {
    (bytes as f64 / bytes_per_cycle).ceil() as u64
}

/// Returns the cost of an instruction. Shape entries are not validated here; the machine rejects
/// invalid entries.
pub fn cost(config: &Config, banks: &Banks, op: &Op) -> Cost {
    let timing = &config.timing;
    match op {
        Op::Gemv(mac) => gemv(config, banks, mac),
        Op::Gemm(mac) => gemm(config, banks, mac),
        Op::Cvo(one) => cvo(timing, one),
        Op::Memcpy(one) => memcpy(timing, banks, one),
        Op::Memset(_) => Cost { compute: timing.memset, ..Cost::default() },
        Op::Kick | Op::Dropped(_) => Cost::default(),
    }
}

/// Returns the cycles to load activations through L2 and preprocessing.
fn activations(timing: &Timing, values: u64) -> u64 {
    let preprocess = values.div_ceil(timing.preprocess_elements).max(timing.fmap_sweep);
    timing.load_descriptor + timing.l2_latency + preprocess + timing.preprocess_latency
}

/// Returns the cycles to store results in L2, one word per cycle.
fn results(timing: &Timing, values: u64) -> u64 {
    timing.load_descriptor + words(values)
}

/// Returns the bytes of `n` rows of `k` streamed weights, each of whole beats of 16 bytes, and of
/// the rows' scales.
fn weight_bytes(timing: &Timing, mac: &Mac, [n, k]: [u64; 2]) -> u64 {
    n * k.div_ceil(32) * WORD_BYTES as u64 + scale_bytes(timing, mac, n)
}

/// Returns the bytes of the scales of `n` rows.
fn scale_bytes(timing: &Timing, mac: &Mac, n: u64) -> u64 {
    if mac.flags.w_scale { n * timing.scale_bytes } else { 0 }
}

/// Returns the cycles to store `values` results, after earlier sums are read.
fn sums(timing: &Timing, mac: &Mac, values: u64) -> u64 {
    let read = if mac.flags.accm { timing.accm_word * words(values) } else { 0 };
    read + results(timing, values)
}

/// Returns the number of lanes that a GEMV uses.
fn lanes(config: &Config, parallel_lane: u8) -> u64 {
    let wired = config.timing.gemv.lanes;
    let asked = match config.lane_mask {
        true => u64::from(parallel_lane.count_ones()),
        false => parallel_lane.into(),
    };
    if asked == 0 { wired } else { asked.min(wired) }
}

fn gemv(config: &Config, banks: &Banks, mac: &Mac) -> Cost {
    let timing = &config.timing;
    let (k, n) = (u64::from(banks.fmap(mac.shape_ptr_addr).z), u64::from(banks.weight(mac.size_ptr_addr).y));
    let lanes = lanes(config, mac.parallel_lane);
    if let Some(words) = words_in_l2(config, banks, mac) {
        let compute = n.div_ceil(lanes) * k.div_ceil(timing.gemv.lane_width) + timing.gemv.tail;
        // L2 has one port for both: activations come first.
        let load = activations(timing, k) + timing.load_descriptor + timing.l2_latency;
        let store = sums(timing, mac, n);
        return Cost { load, compute, weights: words, store, macs: n * k, values: n, ..Cost::default() };
    }
    let bytes = weight_bytes(timing, mac, [n, k]);
    Cost {
        load: activations(timing, k),
        compute: n.div_ceil(lanes) * k.div_ceil(timing.gemv.lane_width) + timing.gemv.tail,
        weights: transfer(bytes, timing.weight_bytes_per_cycle(timing.gemv.ports)),
        store: sums(timing, mac, n),
        macs: n * k,
        weight_bytes: bytes,
        values: n,
        ..Cost::default()
    }
}

/// Returns the number of L2 words with weights that a product reads, according to the page of the
/// instruction set; `None` if weights stream.
fn words_in_l2(config: &Config, banks: &Banks, mac: &Mac) -> Option<u64> {
    let in_l2 = weights_in_l2(banks.fmap(mac.shape_ptr_addr)).filter(|_| config.reading == Reading::Seed);
    in_l2.map(|_| mac.weight_words(banks.weight(mac.size_ptr_addr)))
}

fn gemm(config: &Config, banks: &Banks, mac: &Mac) -> Cost {
    let timing = &config.timing;
    let (fmap, weight) = (banks.fmap(mac.shape_ptr_addr), banks.weight(mac.size_ptr_addr));
    let (m, k, n) = (u64::from(fmap.x), u64::from(fmap.z), u64::from(weight.y));
    let array = &timing.gemm;
    let columns = n.div_ceil(array.columns);
    let tiles = columns * k.div_ceil(array.rows);
    let in_l2 = words_in_l2(config, banks, mac);
    // A weight has 4 bits, and L2 delivers one word per cycle.
    let rate = match in_l2 {
        Some(_) => WORD_BYTES as f64,
        None => timing.weight_bytes_per_cycle(array.ports),
    };
    let tile_weights = (array.rows * array.columns / 2) as f64 / rate;
    let drains = columns * k.div_ceil(array.drain_limit) * array.drain;
    let scales = if in_l2.is_none() { transfer(scale_bytes(timing, mac, n), rate) } else { 0 };
    let bytes = if in_l2.is_some() { 0 } else { weight_bytes(timing, mac, [n, k]) };
    let descriptor = if in_l2.is_some() { timing.load_descriptor + timing.l2_latency } else { 0 };
    Cost {
        load: activations(timing, m * k) + descriptor,
        compute: tiles * (m + array.fill) + drains,
        weights: (tiles as f64 * (tile_weights + array.fill as f64)).ceil() as u64 + drains + scales,
        store: sums(timing, mac, m * n),
        macs: m * n * k,
        weight_bytes: bytes,
        values: m * n,
        ..Cost::default()
    }
}

fn cvo(timing: &Timing, cvo: &Cvo) -> Cost {
    let length = u64::from(cvo.length);
    let unit = &timing.cvo;
    let latency = unit.latency[usize::from(cvo.cvo_func.code())];
    let reduces = cvo.cvo_func == CvoFunc::ReduceSum;
    // The bridge reads a word and then takes its elements one by one. The two steps do not overlap.
    let read = match reduces {
        true => unit.reduce_element * length,
        false => (timing.l2_latency + WORD_LANES as u64) * words(length),
    };
    let drained = if reduces { 1 } else { length };
    Cost {
        load: read,
        compute: unit.input + latency,
        store: drained + words(drained),
        values: length,
        ..Cost::default()
    }
}

fn memcpy(timing: &Timing, banks: &Banks, memcpy: &Memcpy) -> Cost {
    let values = banks.fmap(memcpy.shape_ptr_addr).product();
    let moved = words(values);
    let load = timing.load_descriptor + timing.l2_latency;
    if (memcpy.from_device, memcpy.to_device) == (Device::Npu, Device::Npu) {
        return Cost { load, compute: moved, values, ..Cost::default() };
    }
    let host_bytes = moved * WORD_BYTES as u64;
    let compute = transfer(host_bytes, timing.acp_bytes_per_cycle());
    Cost { load, compute, host_bytes, values, ..Cost::default() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::isa::op::{Cache, CvoFlags, MacFlags, Memset, Shape};

    fn banks(fmap: Shape, weight: Shape) -> Banks {
        let mut banks = Banks::default();
        for (dest_cache, shape) in [(Cache::FmapShape, fmap), (Cache::WeightShape, weight)] {
            banks.step(&Op::Memset(Memset { dest_cache, dest_addr: 0, shape }));
        }
        banks
    }

    fn reference() -> Config {
        Config::preset("reference").unwrap()
    }

    #[test]
    fn gemv_by_the_documents_formula() {
        let banks = banks(Shape::new(1, 1, 2048), Shape::new(0, 512, 2048));
        let cost = cost(&reference(), &banks, &Op::Gemv(Mac::default()));
        assert_eq!(cost.compute, 128 * 64 + 6 + 5);
        assert_eq!(cost.weights, 512 * 64 * 16 / 20 + 1, "26214.4 rounded up");
        assert_eq!((cost.load, cost.store), (8 + 8 + 128 + 3, 8 + 64));
        assert_eq!((cost.bound(&Op::Gemv(Mac::default())), cost.macs), (Bound::Weights, 1 << 20));
        let one_lane = Mac { parallel_lane: 1, ..Mac::default() };
        assert_eq!(super::cost(&reference(), &banks, &Op::Gemv(one_lane)).compute, 512 * 64 + 11);
        let masked = Config { lane_mask: true, ..reference() };
        let mask = Mac { parallel_lane: 0b1010, ..Mac::default() };
        assert_eq!(super::cost(&masked, &banks, &Op::Gemv(mask)).compute, 256 * 64 + 11);
    }

    /// 4 bytes for each of 512 scales, and a cycle for each word of sums.
    #[test]
    fn scales_and_sums_take_time_if_asked() {
        let banks = banks(Shape::new(8, 1, 2048), Shape::new(0, 512, 2048));
        let mut counted = reference();
        (counted.timing.scale_bytes, counted.timing.accm_word) = (4, 1);
        let mac = Mac { flags: MacFlags { accm: true, w_scale: true, findemax: false }, ..Mac::default() };
        let ports = [counted.timing.gemv.ports, counted.timing.gemm.ports];
        for (op, ports) in [Op::Gemv(mac), Op::Gemm(mac)].into_iter().zip(ports) {
            let (base, more) = (cost(&reference(), &banks, &op), cost(&counted, &banks, &op));
            assert_eq!(more.weight_bytes - base.weight_bytes, 4 * 512);
            assert_eq!(more.store - base.store, base.values / 8);
            let cycles = 2048.0 / counted.timing.weight_bytes_per_cycle(ports);
            assert!(((more.weights - base.weights) as f64 - cycles).abs() <= 1.0, "{cycles}");
        }
    }

    #[test]
    fn gemm_by_the_documents_formula() {
        let many = banks(Shape::new(128, 1, 2048), Shape::new(0, 128, 2048));
        let cost_of = |banks: &Banks| cost(&reference(), banks, &Op::Gemm(Mac::default()));
        // There are 128 tiles. In each, 128 rows take longer than 51.2 cycles of weights. Each of
        // two columns is drained twice.
        assert_eq!(cost_of(&many).compute, 128 * (128 + 64) + 16);
        assert_eq!(cost_of(&many).total(), cost_of(&many).load + 128 * 192 + 16 + cost_of(&many).store);
        let few = banks(Shape::new(16, 1, 2048), Shape::new(0, 128, 2048));
        assert_eq!(cost_of(&few).weights, (128.0_f64 * (51.2 + 64.0)).ceil() as u64 + 16);
        assert_eq!(cost_of(&few).bound(&Op::Gemm(Mac::default())), Bound::Weights);
    }

    #[test]
    fn cvo_and_memcpy_by_the_documents_formulas() {
        let cost_of = |cvo_func, length| {
            let cvo = Cvo { cvo_func, length, flags: CvoFlags::default(), ..Cvo::default() };
            cost(&reference(), &Banks::default(), &Op::Cvo(cvo)).total()
        };
        assert_eq!(cost_of(CvoFunc::Exp, 512), 16 * 64 + 8 + 6 + 512 + 64);
        assert_eq!(cost_of(CvoFunc::ReduceSum, 512), 5 * 512 + 8 + 1 + 1);
        assert_eq!(cost_of(CvoFunc::Cos, 1), 16 + 8 + 17 + 1 + 1);
        let banks = banks(Shape::new(1, 1, 2048), Shape::default());
        let to_l2 = Memcpy { from_device: Device::Host, ..Memcpy::default() };
        let moved = cost(&reference(), &banks, &Op::Memcpy(to_l2));
        assert_eq!((moved.host_bytes, moved.compute, moved.total()), (4096, 410, 426));
        let within = cost(&reference(), &banks, &Op::Memcpy(Memcpy::default()));
        assert_eq!((within.host_bytes, within.total()), (0, 16 + 256));
    }
}
