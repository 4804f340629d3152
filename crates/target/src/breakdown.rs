//! [`Breakdown`]: what each instruction took, added up by layer and by kind for a
//! [`TimeReport`](crate::TimeReport).

use std::collections::BTreeMap;

use crate::time::{InstructionTime, KindTime, LayerTime, Roofline};

/// Name of the instructions that are of no layer.
const OUTSIDE: &str = "(outside all layers)";

/// What an instruction took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Place of its layer; any other number when it is of none.
    pub layer: usize,
    /// Mnemonic, with the variant.
    pub kind: &'static str,
    /// Vectors it handles.
    pub vectors: u64,
    /// Cycles. Those of all instructions add up to the whole.
    pub cycles: u64,
    /// Cycles in which it has the multipliers.
    pub compute: u64,
    /// Cycles that its traffic takes at least.
    pub memory: u64,
}

/// What a layer computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerWork<'a> {
    /// Names of the nodes.
    pub name: &'a str,
    /// Multiply-accumulates of the model.
    pub macs: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    instructions: usize,
    vectors: u64,
    cycles: u64,
    compute: u64,
    memory: u64,
}

impl Sum {
    fn add(&mut self, spent: &Spent) {
        self.instructions += 1;
        self.vectors = self.vectors.saturating_add(spent.vectors);
        self.cycles = self.cycles.saturating_add(spent.cycles);
        self.compute = self.compute.saturating_add(spent.compute);
        self.memory = self.memory.saturating_add(spent.memory);
    }
}

/// What the instructions of a program took.
pub struct Breakdown<'a> {
    work: &'a [LayerWork<'a>],
    spent: &'a [Spent],
    /// Multiply-accumulates in a cycle.
    multipliers: u64,
    whole: Sum,
    /// By layer; the last one is of instructions outside all layers.
    layers: Vec<Sum>,
    kinds: BTreeMap<&'static str, Sum>,
}

impl<'a> Breakdown<'a> {
    /// By instruction, on a machine of so many multipliers; no layers when they are not known.
    pub fn new(work: &'a [LayerWork<'a>], spent: &'a [Spent], multipliers: u64) -> Self {
        let (mut whole, mut kinds) = (Sum::default(), BTreeMap::<_, Sum>::new());
        let mut layers = vec![Sum::default(); work.len() + 1];
        for one in spent {
            whole.add(one);
            kinds.entry(one.kind).or_default().add(one);
            if let Some(layer) = layers.get_mut(one.layer.min(work.len())) {
                layer.add(one);
            }
        }
        Self { work, spent, multipliers: multipliers.max(1), whole, layers, kinds }
    }

    /// All cycles.
    pub const fn cycles(&self) -> u64 {
        self.whole.cycles
    }

    /// Multiply-accumulates of all layers; none when they are not known.
    pub fn macs(&self) -> Option<u64> {
        (!self.work.is_empty()).then(|| self.work.iter().map(|layer| layer.macs).sum())
    }

    /// Share of the multipliers' time in which they did the model's work; none when that is not known.
    pub fn utilisation(&self) -> Option<f64> {
        self.macs().map(|macs| self.share_of_multipliers(macs, self.whole.cycles))
    }

    /// Of the whole.
    pub fn roofline(&self) -> Roofline {
        self.roofline_of(&self.whole, self.macs())
    }

    /// By layer, and the instructions of none if there are any; nothing when no layers are known.
    pub fn layers(&self) -> Vec<LayerTime> {
        if self.work.is_empty() {
            return Vec::new();
        }
        let outside = LayerWork { name: OUTSIDE, macs: 0 };
        let rows = self.work.iter().chain([&outside]).zip(&self.layers).enumerate();
        let is_shown = |place: usize, sum: &Sum| place < self.work.len() || sum.instructions > 0;
        rows.filter(|(place, (_, sum))| is_shown(*place, sum))
            .map(|(_, (work, sum))| self.layer(work, sum))
            .collect()
    }

    /// By kind of instruction.
    pub fn kinds(&self) -> Vec<KindTime> {
        let time = |(kind, sum): (&&str, &Sum)| KindTime {
            kind: (*kind).to_owned(),
            instructions: sum.instructions,
            vectors: sum.vectors,
            cycles: sum.cycles,
            share: self.share(sum),
        };
        self.kinds.iter().map(time).collect()
    }

    /// By instruction.
    pub fn instructions(&self) -> Vec<InstructionTime> {
        let places: BTreeMap<&str, usize> = self.kinds.keys().copied().zip(0..).collect();
        let time = |one: &Spent| InstructionTime {
            layer: (!self.work.is_empty()).then_some(one.layer),
            kind: places.get(one.kind).copied().unwrap_or_default(),
            cycles: one.cycles,
        };
        self.spent.iter().map(time).collect()
    }

    fn layer(&self, work: &LayerWork<'_>, sum: &Sum) -> LayerTime {
        LayerTime {
            name: work.name.to_owned(),
            instructions: sum.instructions,
            cycles: sum.cycles,
            share: self.share(sum),
            macs: work.macs,
            utilisation: self.share_of_multipliers(work.macs, sum.cycles),
            roofline: self.roofline_of(sum, Some(work.macs)),
        }
    }

    /// By the model's work, or by what the multipliers did when that is not known.
    fn roofline_of(&self, sum: &Sum, macs: Option<u64>) -> Roofline {
        let compute = macs.map_or(sum.compute, |macs| macs.div_ceil(self.multipliers));
        Roofline::new(compute, sum.memory, sum.cycles)
    }

    fn share_of_multipliers(&self, macs: u64, cycles: u64) -> f64 {
        ratio(macs as f64, self.multipliers as f64 * cycles as f64)
    }

    fn share(&self, sum: &Sum) -> f64 {
        ratio(sum.cycles as f64, self.whole.cycles as f64)
    }
}

/// A share; 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPENT: [Spent; 3] = [
        Spent { layer: 0, kind: "load", vectors: 5, cycles: 10, compute: 0, memory: 5 },
        Spent { layer: 1, kind: "conv", vectors: 2, cycles: 30, compute: 30, memory: 0 },
        Spent { layer: 2, kind: "load", vectors: 1, cycles: 10, compute: 0, memory: 1 },
    ];

    #[test]
    fn layers_and_kinds_add_up_to_the_whole() {
        let work = [LayerWork { name: "a", macs: 0 }, LayerWork { name: "b", macs: 400 }];
        let breakdown = Breakdown::new(&work, &SPENT, 16);
        assert_eq!((breakdown.cycles(), breakdown.macs()), (50, Some(400)));
        assert_eq!(breakdown.utilisation(), Some(0.5));
        let layers = breakdown.layers();
        let cycles: Vec<_> = layers.iter().map(|layer| (&layer.name[..], layer.cycles)).collect();
        assert_eq!(cycles, [("a", 10), ("b", 30), (OUTSIDE, 10)]);
        let kinds = breakdown.kinds();
        assert_eq!((kinds.len(), kinds[1].instructions, kinds[1].vectors, kinds[1].cycles), (2, 2, 6, 20));
        assert_eq!(breakdown.instructions()[2], InstructionTime { layer: Some(2), kind: 1, cycles: 10 });
        assert_eq!((breakdown.roofline().compute, breakdown.roofline().memory), (25, 6));
    }

    #[test]
    fn without_layers_the_multipliers_are_what_they_did() {
        let breakdown = Breakdown::new(&[], &SPENT, 16);
        assert!(breakdown.layers().is_empty() && breakdown.utilisation().is_none());
        assert_eq!(breakdown.roofline().compute, 30);
        assert_eq!(breakdown.instructions()[0].layer, None);
        assert_eq!(Breakdown::new(&[], &[], 0).cycles(), 0);
    }
}
