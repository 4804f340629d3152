//! Data flow of instructions and host steps: [`Flow`].

use npukit_graph::{Graph, ValueId};

use crate::config::WORD_LANES;
use crate::isa::fault::Direction;
use crate::isa::op::{Banks, Cvo, CvoFunc, Device, Mac, Memcpy, Op, Values};
use crate::isa::usage::words_of;
use crate::program::host::HostStep;

/// Memory of the machine or the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// L2 memory.
    L2,
    /// A host window.
    Window(Direction, u32),
    /// A value of the host.
    Slot(ValueId),
    /// The e_max register.
    Maximum,
}

/// Range of scalars of a memory.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub memory: Memory,
    pub first: usize,
    pub count: usize,
}

impl Place {
    fn new(memory: Memory, first: usize, count: usize) -> Self {
        Self { memory, first, count }
    }

    fn l2(values: Values) -> Self {
        Self::new(Memory::L2, values.word as usize * WORD_LANES, values.count)
    }

    fn window(direction: Direction, number: u32, unit: u32, count: usize) -> Self {
        Self::new(Memory::Window(direction, number), unit as usize * WORD_LANES, count)
    }

    const MAXIMUM: Self = Self { memory: Memory::Maximum, first: 0, count: 1 };

    /// Whether a scalar is in the range.
    pub fn has(&self, memory: Memory, index: usize) -> bool {
        self.memory == memory && index.checked_sub(self.first).is_some_and(|offset| offset < self.count)
    }
}

/// Scalars of an operand on which a result depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The scalar at the same index.
    Same,
    /// The scalars of the same row.
    Rows {
        /// Scalars per row of the operand.
        inputs: usize,
        /// Scalars per row of the result.
        results: usize,
    },
    /// Any scalar of the operand.
    All,
}

/// Reads and writes of an event.
#[derive(Debug, Default)]
pub struct Flow {
    pub writes: Vec<Place>,
    pub reads: Vec<(Place, Reach)>,
    /// Whether the product of its operands is correct although it is not a value of the graph: a
    /// product with scales of the host.
    pub is_scaled: bool,
}

/// Returns the flow of an instruction; of a product without its weights.
pub fn of_instruction(op: &Op, banks: &Banks) -> Flow {
    let access = op.access(banks);
    let mut flow = match op {
        Op::Gemv(mac) | Op::Gemm(mac) => of_product(mac, banks, &access.reads),
        Op::Memcpy(memcpy) => of_copy(memcpy, banks),
        Op::Cvo(cvo) => of_function(cvo, &access.reads),
        // Element by element, if it computes at all.
        _ => Flow { reads: vectors(&access.reads), ..Flow::default() },
    };
    if !matches!(op, Op::Memcpy(_)) {
        flow.writes.extend(access.writes.map(Place::l2));
        flow.reads.extend(access.writes.filter(|_| access.updates).map(|old| (Place::l2(old), Reach::Same)));
    }
    flow.reads.extend(access.reads_maximum.then_some((Place::MAXIMUM, Reach::All)));
    flow.writes.extend(access.writes_maximum.then_some(Place::MAXIMUM));
    flow
}

fn vectors(reads: &[Option<Values>; 2]) -> Vec<(Place, Reach)> {
    reads.iter().flatten().map(|&values| (Place::l2(values), Reach::Same)).collect()
}

fn of_product(mac: &Mac, banks: &Banks, reads: &[Option<Values>; 2]) -> Flow {
    let (inputs, results) =
        (banks.fmap(mac.shape_ptr_addr).z.into(), banks.weight(mac.size_ptr_addr).y.into());
    let activations = reads[0].map(|values| (Place::l2(values), Reach::Rows { inputs, results }));
    Flow { reads: activations.into_iter().collect(), ..Flow::default() }
}

/// Returns the flow of whole words.
fn of_copy(memcpy: &Memcpy, banks: &Banks) -> Flow {
    // Default: a number that exceeds the range faults.
    let values = usize::try_from(banks.fmap(memcpy.shape_ptr_addr).product()).unwrap_or_default();
    let count = words_of(values) as usize * WORD_LANES;
    let l2 = |word| Place::l2(Values::new(word, count));
    let window = |direction, number| Place::window(direction, number, memcpy.aux_addr, count);
    let from = match memcpy.from_device {
        Device::Npu => l2(memcpy.src_addr),
        Device::Host => window(Direction::HostToL2, memcpy.src_addr),
    };
    let to = match memcpy.to_device {
        Device::Npu => l2(memcpy.dest_addr),
        Device::Host => window(Direction::L2ToHost, memcpy.dest_addr),
    };
    Flow { writes: vec![to], reads: vec![(from, Reach::Same)], is_scaled: false }
}

fn of_function(cvo: &Cvo, reads: &[Option<Values>; 2]) -> Flow {
    let reach = |index| match (cvo.cvo_func, index) {
        (CvoFunc::ReduceSum, _) | (CvoFunc::Scale, 0) => Reach::All,
        _ => Reach::Same,
    };
    // The vector is visited before its factor.
    let operands = reads.iter().enumerate().rev();
    let reads = operands.filter_map(|(index, values)| Some((Place::l2((*values)?), reach(index)))).collect();
    Flow { writes: Vec::new(), reads, is_scaled: cvo.cvo_func == CvoFunc::Mul && !cvo.flags.accm }
}

/// Returns the flow of a host step, without weight images.
pub fn of_step(step: &HostStep, graph: &Graph) -> Flow {
    // Default: a missing slot has no values; the run refuses it.
    let values =
        |id: ValueId| graph.values.get(id.0 as usize).map_or(0, |value| value.info.shape.iter().product());
    let part = |id: ValueId, first: u32, count: usize| Place::new(Memory::Slot(id), first as usize, count);
    let all = |id: ValueId| part(id, 0, values(id));
    let same = |from: Place, to: Place| Flow {
        writes: vec![to],
        reads: vec![(from, Reach::Same)],
        is_scaled: false,
    };
    match *step {
        HostStep::Receive { slot, window, unit } => {
            same(Place::window(Direction::L2ToHost, window, unit, values(slot)), all(slot))
        }
        HostStep::Send { slot, window, unit } => {
            same(all(slot), Place::window(Direction::HostToL2, window, unit, values(slot)))
        }
        HostStep::Part { slot, start, values, window, unit } => {
            let count = values as usize;
            same(part(slot, start, count), Place::window(Direction::HostToL2, window, unit, count))
        }
        HostStep::Weigh { slot, start, scales } => {
            let place = part(slot, start, values(scales));
            let reads = vec![(place, Reach::Same), (all(scales), Reach::Same)];
            Flow { writes: vec![place], reads, is_scaled: true }
        }
        HostStep::Squares { slot, row, sums, .. } => {
            let reach = Reach::Rows { inputs: row as usize, results: WORD_LANES };
            Flow { writes: vec![all(sums)], reads: vec![(all(slot), reach)], is_scaled: false }
        }
        HostStep::Patches { slot, patches, .. } => {
            Flow { writes: vec![all(patches)], reads: vec![(all(slot), Reach::All)], is_scaled: false }
        }
        HostStep::Compute { node } => {
            let Some(node) = graph.nodes.get(node as usize) else { return Flow::default() };
            let reads = node.inputs.iter().map(|&id| (all(id), Reach::All)).collect();
            Flow { writes: node.outputs.iter().map(|&id| all(id)).collect(), reads, is_scaled: false }
        }
        HostStep::Keys { slot, .. } | HostStep::Append { slot, .. } => {
            Flow { reads: vec![(all(slot), Reach::All)], ..Flow::default() }
        }
        HostStep::Values { slot, scales, .. } => {
            Flow { writes: vec![all(scales)], reads: vec![(all(slot), Reach::All)], is_scaled: false }
        }
        HostStep::Scales { slot, start, .. } => {
            // Each row of the image reads only one scalar, but the slot may have more.
            let count = values(slot).saturating_sub(start as usize);
            Flow { reads: vec![(part(slot, start, count), Reach::All)], ..Flow::default() }
        }
        HostStep::CachedScales { slot, .. } => Flow { writes: vec![all(slot)], ..Flow::default() },
        HostStep::Wait | HostStep::Weights { .. } | HostStep::Cached { .. } => Flow::default(),
    }
}
