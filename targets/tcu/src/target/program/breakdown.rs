//! Cycles of instructions, added up by layer and by kind: [`Breakdown`].

use std::collections::BTreeMap;

use npukit_target::{InstructionTime, KindTime, LayerTime, Roofline};

use crate::op::{DataMoveKind, Op};
use crate::program::{Layer, OUTSIDE, Program};
use crate::timing::kind;

/// What some instructions took and moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    instructions: usize,
    vectors: u64,
    cycles: u64,
    /// Rows given to the array.
    rows: u64,
    /// Vectors to and from DRAM0 and DRAM1.
    dram: [u64; 2],
}

impl Sum {
    fn add(&mut self, op: &Op, cycles: u64) {
        let size = vectors(op);
        self.instructions += 1;
        self.vectors = self.vectors.saturating_add(size);
        self.cycles = self.cycles.saturating_add(cycles);
        if let Op::MatMul { .. } = op {
            self.rows = self.rows.saturating_add(size);
        }
        if let Some(bank) = bank(op) {
            self.dram[bank] = self.dram[bank].saturating_add(size);
        }
    }
}

/// Vectors an instruction handles.
fn vectors(op: &Op) -> u64 {
    match *op {
        Op::MatMul { size, .. } | Op::LoadWeights { size, .. } | Op::DataMove { size, .. } => size,
        Op::Simd { .. } => 1,
        Op::NoOp | Op::Wait { .. } | Op::LoadLut { .. } | Op::Configure { .. } | Op::Unassigned { .. } => 0,
    }
}

/// The DRAM bank it uses.
fn bank(op: &Op) -> Option<usize> {
    let Op::DataMove { kind, .. } = op else { return None };
    match kind {
        DataMoveKind::Dram0ToLocal | DataMoveKind::LocalToDram0 => Some(0),
        DataMoveKind::Dram1ToLocal | DataMoveKind::LocalToDram1 => Some(1),
        _ => None,
    }
}

/// A program and what its instructions took.
pub(super) struct Breakdown<'a> {
    program: &'a Program,
    /// By instruction, cycles and the place of the layer.
    each: Vec<(u64, usize)>,
    whole: Sum,
    /// By layer; the last one is of instructions outside all layers.
    layers: Vec<Sum>,
    kinds: BTreeMap<&'static str, Sum>,
    /// Beats of a vector on its way to DRAM; none when a cycle moves one, and one at a time.
    beats: Option<u64>,
}

impl<'a> Breakdown<'a> {
    /// `cycles` are those of each instruction.
    pub(super) fn new(program: &'a Program, cycles: &[u64], beats: Option<u64>) -> Self {
        let places = program.layer_of_each();
        let mut layers = vec![Sum::default(); program.layers.len() + 1];
        let (mut whole, mut kinds) = (Sum::default(), BTreeMap::<_, Sum>::new());
        for ((op, &cycles), &place) in program.instructions.iter().zip(cycles).zip(&places) {
            whole.add(op, cycles);
            kinds.entry(kind(op)).or_default().add(op, cycles);
            if let Some(layer) = layers.get_mut(place) {
                layer.add(op, cycles);
            }
        }
        let each = cycles.iter().copied().zip(places).collect();
        Self { program, each, whole, layers, kinds, beats }
    }

    /// Lower bounds by compute and by memory; compute by the rows when MACs are not known.
    pub(super) fn bounds(&self, macs: Option<u64>) -> (u64, u64) {
        self.bounds_of(&self.whole, macs)
    }

    fn bounds_of(&self, sum: &Sum, macs: Option<u64>) -> (u64, u64) {
        let compute = macs.map_or(sum.rows, |macs| macs.div_ceil(self.multipliers().max(1)));
        let [dram0, dram1] = sum.dram;
        let memory = match self.beats {
            Some(beats) => dram0.max(dram1).saturating_mul(beats),
            None => dram0.saturating_add(dram1),
        };
        (compute, memory)
    }

    fn multipliers(&self) -> u64 {
        let n = self.program.config.array_size as u64;
        n.saturating_mul(n)
    }

    /// Share of the array's multiplications that `macs` are.
    pub(super) fn utilisation(&self, macs: u64, cycles: u64) -> f64 {
        ratio(macs as f64, self.multipliers() as f64 * cycles as f64)
    }

    fn share(&self, sum: &Sum) -> f64 {
        ratio(sum.cycles as f64, self.whole.cycles as f64)
    }

    /// By layer, and those of none if there are any; nothing when no layers are known.
    pub(super) fn layers(&self) -> Vec<LayerTime> {
        let outside = Layer { name: OUTSIDE.to_owned(), first: 0, count: 0, macs: 0 };
        let known = &self.program.layers;
        let rows = known.iter().chain([&outside]).zip(&self.layers).enumerate();
        let shown = |place: usize, sum: &Sum| place < known.len() || (place > 0 && sum.instructions > 0);
        rows.filter(|(place, (_, sum))| shown(*place, sum))
            .map(|(_, (layer, sum))| self.layer(layer, sum))
            .collect()
    }

    fn layer(&self, layer: &Layer, sum: &Sum) -> LayerTime {
        let (compute, memory) = self.bounds_of(sum, Some(layer.macs));
        LayerTime {
            name: layer.name.clone(),
            instructions: sum.instructions,
            cycles: sum.cycles,
            share: self.share(sum),
            macs: layer.macs,
            utilisation: self.utilisation(layer.macs, sum.cycles),
            roofline: Roofline::new(compute, memory, sum.cycles),
        }
    }

    /// By kind of instruction.
    pub(super) fn kinds(&self) -> Vec<KindTime> {
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
    pub(super) fn instructions(&self) -> Vec<InstructionTime> {
        let kinds: BTreeMap<&str, usize> = self.kinds.keys().copied().zip(0..).collect();
        let known = self.program.layers.len();
        let time = |(op, &(cycles, layer)): (&Op, &(u64, usize))| InstructionTime {
            layer: (known > 0).then_some(layer),
            kind: kinds.get(kind(op)).copied().unwrap_or_default(),
            cycles,
        };
        self.program.instructions.iter().zip(&self.each).map(time).collect()
    }
}

/// A share; 0 of nothing.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
