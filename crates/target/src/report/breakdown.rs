//! [`Breakdown`]: time of each instruction, summed by layer and by kind for a
//! [`TimeReport`](crate::TimeReport). [`Whole`] creates the rows of reports that sum up
//! differently.

use std::collections::BTreeMap;

use crate::report::time::{CycleSpan, InstructionTime, KindTime, LayerTime, Roofline};

/// Name of the instructions outside all layers, in reports.
pub const OUTSIDE: &str = "(outside all layers)";

/// Note on the figures of layers that overlap.
pub const SPAN_NOTE: &str = "layers may overlap, as units work ahead: utilization and roofline of a layer are \
                             over its own span, from its first to its last cycle; `cycles` add up to the total";

/// Time and work of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Index of its layer; an index past the last layer means no layer.
    pub layer: usize,
    /// Mnemonic, with the variant.
    pub kind: &'static str,
    /// Number of vectors that it processes.
    pub vectors: u64,
    /// Cycles. The cycles of all instructions add up to the total.
    pub cycles: u64,
    /// Cycles in which it uses the multipliers.
    pub compute: u64,
    /// Lower bound in cycles for its traffic, in each of two memories that work at the same time.
    pub memory: [u64; 2],
    /// Span in which units work for it. `None` if instructions run one after the other, and for an
    /// instruction that no unit works for.
    pub span: Option<CycleSpan>,
}

/// Work of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerWork<'a> {
    /// Names of the nodes.
    pub name: &'a str,
    /// Multiply-accumulates of the model.
    pub macs: u64,
}

/// Time of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerCycles {
    /// Number of instructions.
    pub instructions: usize,
    /// Cycles, which add up to the total.
    pub cycles: u64,
    /// Span in which units work for it; `None` if unknown.
    pub span: Option<CycleSpan>,
    /// Cycles in which the multipliers work for it; `None` if unknown.
    pub array_busy: Option<u64>,
    /// Lower bound in cycles for its traffic.
    pub memory: u64,
}

/// Totals to which the parts of a program refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Cycles of the whole program.
    pub cycles: u64,
    /// Multiply-accumulates of the machine per cycle.
    pub multipliers: u64,
}

impl Whole {
    /// Returns the share of the multipliers' time spent on `macs` multiply-accumulates, 0 to 1.
    pub fn utilization(&self, macs: u64, cycles: u64) -> f64 {
        ratio(macs as f64, self.multipliers as f64 * cycles as f64)
    }

    /// Returns the roofline of `macs` that took `cycles`, with a lower bound of `memory` cycles for
    /// the traffic.
    pub fn roofline(&self, macs: u64, memory: u64, cycles: u64) -> Roofline {
        Roofline::new(macs.div_ceil(self.multipliers.max(1)), memory, cycles)
    }

    /// Returns the row of a layer. Utilization and roofline refer to its span.
    pub fn layer(&self, work: &LayerWork<'_>, time: &LayerCycles) -> LayerTime {
        let LayerCycles { instructions, cycles, span, array_busy, memory } = *time;
        let span_cycles = span.map_or(cycles, CycleSpan::cycles);
        let macs_computed = self.computed(work.macs, array_busy);
        LayerTime {
            name: work.name.to_owned(),
            instructions,
            cycles,
            first_cycle: span.map(|span| span.first),
            last_cycle: span.map(|span| span.last),
            array_busy,
            share: share(cycles, self.cycles),
            macs: work.macs,
            macs_computed,
            utilization: self.utilization(macs_computed, span_cycles),
            roofline: self.roofline(macs_computed, memory, span_cycles),
        }
    }

    /// Returns the multiply-accumulates of the model that the multipliers do in `busy` cycles. They
    /// are fewer than `macs` if the program computes the same with less work.
    fn computed(&self, macs: u64, busy: Option<u64>) -> u64 {
        busy.map_or(macs, |busy| macs.min(busy.saturating_mul(self.multipliers)))
    }

    /// Returns the row of a kind of instruction.
    pub fn kind(&self, kind: &str, instructions: usize, vectors: u64, cycles: u64) -> KindTime {
        let share = share(cycles, self.cycles);
        KindTime { kind: kind.to_owned(), instructions, vectors, cycles, share }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    instructions: usize,
    vectors: u64,
    cycles: u64,
    compute: u64,
    memory: [u64; 2],
    span: Option<CycleSpan>,
}

impl Sum {
    /// Adds an instruction that begins at cycle `start`, if they run one after the other.
    fn add(&mut self, spent: &Spent, start: u64) {
        CycleSpan::extend(&mut self.span, spent.span.or_else(|| CycleSpan::of(start, spent.cycles)));
        self.instructions += 1;
        self.vectors = self.vectors.saturating_add(spent.vectors);
        self.cycles = self.cycles.saturating_add(spent.cycles);
        self.compute = self.compute.saturating_add(spent.compute);
        for (sum, spent) in self.memory.iter_mut().zip(spent.memory) {
            *sum = sum.saturating_add(spent);
        }
    }

    /// Returns the time of the instructions as a layer.
    fn layer(&self) -> LayerCycles {
        let Self { instructions, cycles, span, compute, .. } = *self;
        LayerCycles { instructions, cycles, span, array_busy: Some(compute), memory: self.memory() }
    }

    /// Returns the cycles of the busier memory.
    fn memory(&self) -> u64 {
        let [first, second] = self.memory;
        first.max(second)
    }
}

/// Times of the instructions of a program.
pub struct Breakdown<'a> {
    work: &'a [LayerWork<'a>],
    spent: &'a [Spent],
    whole: Whole,
    sum: Sum,
    /// Sums by layer; the last entry is for instructions outside all layers.
    layers: Vec<Sum>,
    kinds: BTreeMap<&'static str, Sum>,
}

impl<'a> Breakdown<'a> {
    /// Sums up `spent`, one entry per instruction, on a machine with that many multipliers. `work`
    /// is empty if the layers are unknown.
    pub fn new(work: &'a [LayerWork<'a>], spent: &'a [Spent], multipliers: u64) -> Self {
        let (mut sum, mut kinds) = (Sum::default(), BTreeMap::<_, Sum>::new());
        let mut layers = vec![Sum::default(); work.len() + 1];
        for one in spent {
            let start = sum.cycles;
            sum.add(one, start);
            kinds.entry(one.kind).or_default().add(one, start);
            if let Some(layer) = layers.get_mut(one.layer.min(work.len())) {
                layer.add(one, start);
            }
        }
        let whole = Whole { cycles: sum.cycles, multipliers };
        Self { work, spent, whole, sum, layers, kinds }
    }

    /// Returns the total cycles.
    pub const fn cycles(&self) -> u64 {
        self.whole.cycles
    }

    /// Returns the share of the multipliers' time spent on [`Self::macs_computed`]; `None` if they
    /// are unknown.
    pub fn utilization(&self) -> Option<f64> {
        self.utilization_over(self.whole.cycles)
    }

    /// Returns the utilization if the program took `cycles`; `None` if the work is unknown.
    pub fn utilization_over(&self, cycles: u64) -> Option<f64> {
        self.macs_computed().map(|macs| self.whole.utilization(macs, cycles))
    }

    /// Returns the multiply-accumulates of the model that the multipliers do for all layers; `None`
    /// if unknown.
    pub fn macs_computed(&self) -> Option<u64> {
        let layers = self.work.iter().zip(&self.layers);
        let macs = layers.map(|(work, sum)| self.whole.computed(work.macs, Some(sum.compute))).sum();
        (!self.work.is_empty()).then_some(macs)
    }

    /// Returns the roofline of the whole program, computed from the model's work, or from the
    /// multipliers' busy cycles if the work is unknown.
    pub fn roofline(&self) -> Roofline {
        let Sum { compute, cycles, .. } = self.sum;
        let memory = self.sum.memory();
        self.macs_computed().map_or_else(
            || Roofline::new(compute, memory, cycles),
            |macs| self.whole.roofline(macs, memory, cycles),
        )
    }

    /// Returns the times by layer, followed by instructions outside all layers, if any; empty if
    /// layers are unknown.
    pub fn layers(&self) -> Vec<LayerTime> {
        if self.work.is_empty() {
            return Vec::new();
        }
        let outside = LayerWork { name: OUTSIDE, macs: 0 };
        let rows = self.work.iter().chain([&outside]).zip(&self.layers).enumerate();
        let is_shown = |place: usize, sum: &Sum| place < self.work.len() || sum.instructions > 0;
        rows.filter(|(place, (_, sum))| is_shown(*place, sum))
            .map(|(_, (work, sum))| self.whole.layer(work, &sum.layer()))
            .collect()
    }

    /// Returns the times by kind of instruction.
    pub fn kinds(&self) -> Vec<KindTime> {
        let time =
            |(kind, sum): (&&str, &Sum)| self.whole.kind(kind, sum.instructions, sum.vectors, sum.cycles);
        self.kinds.iter().map(time).collect()
    }

    /// Returns the times by instruction.
    pub fn instructions(&self) -> Vec<InstructionTime> {
        let places: BTreeMap<&str, usize> = self.kinds.keys().copied().zip(0..).collect();
        let time = |one: &Spent| InstructionTime {
            layer: (!self.work.is_empty()).then_some(one.layer),
            kind: places.get(one.kind).copied().unwrap_or_default(),
            cycles: one.cycles,
        };
        self.spent.iter().map(time).collect()
    }
}

/// Returns the share of `part` in `whole`; 0 if `whole` is 0.
pub fn share(part: u64, whole: u64) -> f64 {
    ratio(part as f64, whole as f64)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPENT: [Spent; 3] = [
        Spent { layer: 0, kind: "load", vectors: 5, cycles: 10, compute: 0, memory: [5, 2], span: None },
        Spent {
            layer: 1,
            kind: "conv",
            vectors: 2,
            cycles: 30,
            compute: 30,
            memory: [0, 2],
            span: Some(CycleSpan { first: 4, last: 37 }),
        },
        Spent { layer: 2, kind: "load", vectors: 1, cycles: 10, compute: 0, memory: [1, 1], span: None },
    ];

    #[test]
    fn layers_and_kinds_add_up_to_the_whole() {
        let work = [LayerWork { name: "a", macs: 0 }, LayerWork { name: "b", macs: 400 }];
        let breakdown = Breakdown::new(&work, &SPENT, 16);
        assert_eq!((breakdown.cycles(), breakdown.macs_computed()), (50, Some(400)));
        assert_eq!(breakdown.utilization(), Some(0.5));
        let layers = breakdown.layers();
        let cycles: Vec<_> = layers.iter().map(|layer| (&layer.name[..], layer.cycles)).collect();
        assert_eq!(cycles, [("a", 10), ("b", 30), (OUTSIDE, 10)]);
        let spans = layers.iter().map(|layer| (layer.first_cycle, layer.last_cycle, layer.span_cycles()));
        let known = |first, last| (Some(first), Some(last), last - first + 1);
        assert!(spans.eq([known(0, 9), known(4, 37), known(40, 49)]), "{layers:?}");
        assert_eq!((layers[1].array_busy, layers[1].utilization), (Some(30), 400.0 / (16.0 * 34.0)));
        let kinds = breakdown.kinds();
        assert_eq!((kinds.len(), kinds[1].instructions, kinds[1].vectors, kinds[1].cycles), (2, 2, 6, 20));
        assert_eq!(breakdown.instructions()[2], InstructionTime { layer: Some(2), kind: 1, cycles: 10 });
        assert_eq!((breakdown.roofline().compute, breakdown.roofline().memory), (25, 6));
    }

    /// A program that computes a quarter of the model's products reports that quarter.
    #[test]
    fn utilization_is_the_share_of_the_products_that_are_computed() {
        let work = [LayerWork { name: "a", macs: 0 }, LayerWork { name: "strided", macs: 4 * 480 }];
        let breakdown = Breakdown::new(&work, &SPENT, 16);
        assert_eq!(breakdown.macs_computed(), Some(480));
        assert_eq!(breakdown.utilization(), Some(480.0 / (16.0 * 50.0)));
        let layer = &breakdown.layers()[1];
        assert_eq!((layer.macs, layer.macs_computed), (1920, 480));
        assert_eq!(layer.utilization, 480.0 / (16.0 * 34.0));
    }

    #[test]
    fn without_layers_the_multipliers_are_what_they_did() {
        let breakdown = Breakdown::new(&[], &SPENT, 16);
        assert!(breakdown.layers().is_empty() && breakdown.utilization().is_none());
        assert_eq!(breakdown.roofline().compute, 30);
        assert_eq!(breakdown.instructions()[0].layer, None);
        assert_eq!(Breakdown::new(&[], &[], 0).cycles(), 0);
    }
}
