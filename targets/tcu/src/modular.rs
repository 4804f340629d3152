//! The machine over a prime field: [`Modular`]. It neither rounds nor saturates, and tells everything else apart.

use npukit_numeric::{Element, NumberFormat, Products, Rows, Saturations};

use crate::arithmetic::{Arithmetic, Weights};
use crate::check::check;
use crate::fault::{FaultKind, Memory};
use crate::lut::Tables;
use crate::machine::in_range;
use crate::op::SimdOp;
use crate::program::{Binding, Piece, Program};
use crate::run::{RunError, access, place};
use crate::state::State;
use crate::{exec, poison};

/// Elements of the field of 2^61 - 1 in place of numbers: an element is the image of a real value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modular;

/// Keys of the functions that are hashes.
const DIFFERENCE: u64 = 0x6b65_7973;
const VALUE: u64 = 0x7661_6c75;

impl Arithmetic for Modular {
    type Scalar = Element;
    type Weights = Columns;

    fn product(weights: &Columns, rows: Rows<'_, Element>, results: &mut [Element], _: &mut Saturations) {
        let lanes = weights.lanes;
        for (i, out) in results.chunks_exact_mut(lanes).take(rows.count).enumerate() {
            let row = &rows.values[i * rows.pitch..][..lanes];
            for (out, column) in out.iter_mut().zip(weights.iter()) {
                *out = column[0] + Products::of(row, &column[1..]);
            }
        }
    }

    fn operate(op: SimdOp, left: &[Element], right: &[Element], out: &mut [Element], _: &mut Saturations) {
        for ((out, &l), &r) in out.iter_mut().zip(left).zip(right) {
            *out = lane(op, l, r);
        }
    }

    fn look_up(
        tables: &Tables<Element>,
        argument: Element,
        values: &mut [Element],
        _: &mut Saturations,
    ) -> Result<Element, FaultKind> {
        let keys = tables.entries(0);
        if keys.is_empty() {
            return Err(FaultKind::IndexEmpty);
        }
        for (table, value) in (1..).zip(values) {
            let entries = tables.entries(table);
            *value = Element::hashed(VALUE, keys.iter().chain(entries).copied().chain([argument]));
        }
        Ok(Element::hashed(DIFFERENCE, keys.iter().copied().chain([argument])))
    }
}

/// One lane of a SIMD operation, as [`crate::lanes::operate_lane`] has it.
fn lane(op: SimdOp, left: Element, right: Element) -> Element {
    let truth = |holds: bool| if holds { Element::ONE } else { Element::ZERO };
    let set = |element: Element| element != Element::ZERO;
    match op {
        SimdOp::NoOp | SimdOp::Lookup | SimdOp::Move => left,
        SimdOp::Zero => Element::ZERO,
        SimdOp::Not => truth(!set(left)),
        SimdOp::And => truth(set(left) && set(right)),
        SimdOp::Or => truth(set(left) || set(right)),
        SimdOp::Increment => left + Element::ONE,
        SimdOp::Decrement => left - Element::ONE,
        SimdOp::Add => left + right,
        SimdOp::Subtract => left - right,
        SimdOp::Multiply => left * right,
        SimdOp::Abs => left.abs(),
        SimdOp::GreaterThan => truth(left.order(right).is_gt()),
        SimdOp::GreaterThanEqual => truth(left.order(right).is_ge()),
        SimdOp::Min => left.min(right),
        SimdOp::Max => left.max(right),
    }
}

/// The rows of an array, by output lane: what a product reads of them lies together.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    lanes: usize,
    elements: Vec<Element>,
}

impl Columns {
    /// For each output lane the bias and the weight of each input lane.
    fn iter(&self) -> impl Iterator<Item = &[Element]> {
        self.elements.chunks_exact(self.lanes + 1)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut [Element]> {
        self.elements.chunks_exact_mut(self.lanes + 1)
    }
}

impl Weights<Element> for Columns {
    fn zeros(lanes: usize) -> Self {
        Self { lanes, elements: vec![Element::ZERO; lanes * (lanes + 1)] }
    }
    fn set_row(&mut self, k: usize, row: &[Element]) {
        self.iter_mut().zip(row).for_each(|(column, &element)| column[k] = element);
    }
    fn clear_row(&mut self, k: usize) {
        self.iter_mut().for_each(|column| column[k] = Element::ZERO);
    }
    fn shift(&mut self, count: usize) {
        let rows = self.lanes + 1;
        if count < rows {
            self.iter_mut().for_each(|column| column.copy_within(..rows - count, count));
        }
    }
}

/// What a raw number of a format stands for; none for floats that are no finite numbers.
pub(crate) fn image(format: NumberFormat, raw: i32) -> Option<Element> {
    match format {
        NumberFormat::Fixed(fixed) => Some(Element::from_fixed(raw.into(), fixed.binary_point as i32)),
        NumberFormat::Float32 => Element::from_f32(f32::from_bits(raw as u32)),
    }
}

/// Why a model and an artifact do not belong together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UnfitModel(pub String);

/// A program on its way, as its driver starts it.
pub(crate) struct Run<'a> {
    program: &'a Program,
    pub state: State<Modular>,
}

impl<'a> Run<'a> {
    /// The machine with constants and inputs (whole vectors, in the program's order) in place; what nobody has written
    /// looks random.
    ///
    /// # Errors
    ///
    /// An instance that is too large to simulate; constants and inputs that do not lie in their memories.
    pub fn new(program: &'a Program, inputs: &[Vec<Element>], seed: u64) -> Result<Self, RunError> {
        let mut state = State::<Modular>::new(&program.config)?;
        let mut elements = Element::random(seed);
        poison::fill_with(&mut state, || elements.next().unwrap_or_default()); // Default: they do not end.
        let mut run = Self { program, state };
        let format = program.config.data_type.format();
        let constant = |(index, &raw): (usize, &i32)| image(format, raw).ok_or(RunError::NoImage { index });
        let constants = program.constants.iter().enumerate().map(constant).collect::<Result<Vec<_>, _>>()?;
        run.write(Memory::Dram1, 0, &constants, "constants")?;
        if program.load_consts_to_local {
            run.write(Memory::Local, 0, &constants, "constants")?;
        }
        for (binding, vectors) in program.inputs.iter().zip(inputs) {
            for (base, part) in binding.parts(vectors, run.state.lanes) {
                run.write(Memory::Dram0, base, part, &format!("input `{}`", binding.name))?;
            }
        }
        Ok(run)
    }

    fn write(&mut self, memory: Memory, base: u64, elements: &[Element], what: &str) -> Result<(), RunError> {
        let vectors = (elements.len() / self.state.lanes) as u64;
        in_range(&self.program.config, memory, base, vectors)
            .map_err(|source| access(what.to_owned(), source))?;
        self.state.write(memory, base, elements);
        Ok(())
    }

    /// Executes the rest of the program; `observe` sees the machine before each instruction.
    ///
    /// # Errors
    ///
    /// An instruction that cannot be executed.
    pub fn finish(&mut self, mut observe: impl FnMut(&State<Modular>, usize)) -> Result<(), RunError> {
        let Self { program, state } = self;
        npukit_sim::run(&program.instructions, &mut |_| (), |i, op| {
            check(&program.config, op)?;
            observe(state, i);
            exec::step(state, &program.config, op)
        })
        .map_err(|fault| place(program, fault))
    }

    /// The vectors of an output, its pieces one after the other.
    ///
    /// # Errors
    ///
    /// It does not lie in DRAM0.
    pub fn output(&self, binding: &Binding) -> Result<Vec<Element>, RunError> {
        let mut elements = Vec::new();
        for &Piece { base, size } in &binding.pieces {
            in_range(&self.program.config, Memory::Dram0, base, size)
                .map_err(|source| access(format!("output `{}`", binding.name), source))?;
            let mut piece = vec![Element::ZERO; size as usize * self.state.lanes];
            self.state.read(Memory::Dram0, base, &mut piece);
            elements.extend(piece);
        }
        Ok(elements)
    }
}
