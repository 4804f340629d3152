//! The machine over a prime field: [`FieldElements`] in its buffers, [`FieldMemory`] outside, [`Run`] from start to end.
//!
//! An element is the image of the number that the machine's bits stand for by their type alone. Nothing rounds and
//! nothing saturates; all else is what [`crate::exec`] does with numbers.

mod memory;

use npukit_numeric::{Element, Factors, Rows};
use npukit_target::Unset;

use crate::codec::{EncodeError, encode};
use crate::config::Types;
use crate::datatype::DataType;
use crate::exec::{Arithmetic, Numerics, Rules, Tap, TapAddend, Values, execute};
use crate::fault::FaultKind;
use crate::memory::Memory;
use crate::op::{Access, Activation, Direction, Effects, Op};
use crate::program::{Binding, Program};
use crate::state::State;

pub(crate) use memory::FieldMemory;

/// Exponent of the slope of leaky rectification.
const SLOPE: i32 = -3;

/// Elements of the field, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldElements(Vec<Element>);

/// How `store` computes: by the exponent of two that takes partial sums to ITYPE.
pub(crate) struct FieldRules {
    shift: i32,
}

impl Values for FieldElements {
    type Memory = FieldMemory;
    type Scalar = Element;
    type Rules = FieldRules;

    fn zeros(_: DataType, len: usize) -> Self {
        Self(vec![Element::ZERO; len])
    }

    fn at(&self, index: usize) -> Element {
        self.0[index]
    }

    fn of(_: DataType, values: Vec<Element>) -> Self {
        Self(values)
    }

    fn load(memory: &FieldMemory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)> {
        let mut elements = Vec::new();
        for run in access.runs() {
            memory.read_run(run, data_type, &mut elements).map_err(|bits| (elements.len(), bits))?;
        }
        Ok(Self(elements))
    }

    fn store(memory: &mut FieldMemory, access: &Access, data_type: DataType, values: &Self) {
        let mut rest = &values.0[..];
        for run in access.runs() {
            let count = run.bytes() / u64::from(data_type.size_bytes());
            let (written, behind) = rest.split_at(count as usize);
            memory.write_run(run, data_type, written);
            rest = behind;
        }
    }

    fn conv(tap: &Tap<'_, Self>, _: Arithmetic, sums: &mut Self) {
        let [width, channels] = [tap.shape.w, tap.shape.c].map(|size| size as usize);
        let slice = &tap.ker.elements.0[tap.slice..][..channels * tap.channels];
        let factors = Factors::of(slice.to_vec(), channels);
        let mut products = vec![Element::ZERO; width * channels];
        for (y, sums) in sums.0.chunks_mut((width * channels).max(1)).enumerate() {
            let values = &tap.ifm.elements.0[tap.start + y * tap.row..];
            factors.products(Rows { values, pitch: tap.column, count: width }, None, &mut products);
            for (sums, products) in sums.chunks_mut(channels).zip(products.chunks(channels)) {
                for (k, (sum, product)) in sums.iter_mut().zip(products).enumerate() {
                    let addend = match tap.addend {
                        TapAddend::Zero => Element::ZERO,
                        TapAddend::Bias(bias, shift) => bias.elements.0[k].scaled(shift),
                        TapAddend::Ofm => *sum,
                    };
                    *sum = product.scaled(tap.shift) + addend;
                }
            }
        }
    }

    fn rules(types: &Types, _: Arithmetic) -> FieldRules {
        FieldRules { shift: types.store_shift() }
    }

    fn saturated(_: &Types, _: &Self) -> u64 {
        0
    }
}

impl Rules<FieldElements> for FieldRules {
    fn cast(&self, ofm: &FieldElements) -> Vec<Element> {
        ofm.0.iter().map(|element| element.scaled(self.shift)).collect()
    }

    fn activate(&self, act: Activation, values: &mut [Element]) {
        let function = match act {
            Activation::None => return,
            Activation::Relu => Element::relu,
            Activation::Leaky => |value: Element| value.max(value.scaled(SLOPE)),
        };
        values.iter_mut().for_each(|value| *value = function(*value));
    }

    fn sum(&self, a: Element, b: Element) -> Element {
        a + b
    }

    fn greater(&self, a: Element, b: Element) -> Element {
        a.max(b)
    }
}

/// The addresses of the elements of a type that an access touches, in its order.
pub(crate) fn addresses(access: &Access, data_type: DataType) -> impl Iterator<Item = u64> + use<> {
    access.runs().flat_map(move |run| (run.first..run.end).step_by(data_type.size_bytes() as usize))
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FieldError {
    /// An instruction that does not fit its word.
    #[error("{place} cannot be encoded")]
    Encode {
        /// Of the instruction.
        place: String,
        /// Why.
        source: EncodeError,
    },
    /// An instruction cannot be executed.
    #[error("{place} cannot be executed")]
    Fault {
        /// Of the instruction.
        place: String,
        /// Why.
        source: Box<FaultKind>,
    },
    /// Elements of the field are no instructions.
    #[error("{place} writes over the program's own words: what runs then is not known in the field")]
    OwnWords {
        /// Of the instruction.
        place: String,
    },
    /// A segment, the words or a map that memory does not hold.
    #[error("{what} does not lie in memory")]
    Range {
        /// What it is.
        what: String,
    },
}

/// What a run shows before each instruction: registers are those of its moment.
pub(crate) struct Step<'a> {
    /// Index of the instruction.
    pub index: usize,
    /// The instruction, which was executed.
    pub op: &'a Op,
    /// What it touched.
    pub effects: Effects,
    /// Memory after it.
    pub memory: &'a FieldMemory,
}

/// A program on its way.
pub(crate) struct Run<'a> {
    program: &'a Program,
    state: State<FieldElements>,
    memory: FieldMemory,
}

impl<'a> Run<'a> {
    /// The machine with words, segments and inputs in place: as numbers' driver leaves it. What nobody has written holds
    /// elements that look random. `inputs` are maps in the program's order, in units of ITYPE.
    ///
    /// # Errors
    ///
    /// What does not lie in memory, or fit its word.
    pub fn new(program: &'a Program, inputs: &[Vec<Element>], seed: u64) -> Result<Self, FieldError> {
        let mut bytes = Memory::new(Unset::Poison);
        let mut put = |what: String, address: u32, data: &[u8]| {
            if !Memory::holds(address.into(), data.len() as u64) {
                return Err(FieldError::Range { what });
            }
            bytes.write(address.into(), data);
            Ok(())
        };
        for (index, segment) in program.segments.iter().enumerate() {
            put(format!("segment {index}"), segment.address, &segment.bytes)?;
        }
        let mut words = Vec::new();
        for (index, op) in program.instructions.iter().enumerate() {
            let word =
                encode(op).map_err(|source| FieldError::Encode { place: program.place(index), source })?;
            words.extend(word.to_le_bytes());
        }
        put("the program".to_owned(), program.address, &words)?;
        let mut memory = FieldMemory::new(bytes, seed);
        let itype = program.config.types.itype;
        for (binding, elements) in program.inputs.iter().zip(inputs) {
            write(&mut memory, binding, itype, elements)?;
        }
        Ok(Self { program, state: State::default(), memory })
    }

    /// Executes the program up to its first `end`; `observe` sees each instruction after it was executed.
    ///
    /// # Errors
    ///
    /// An instruction that cannot be executed, or that overwrites words.
    pub fn finish(&mut self, mut observe: impl FnMut(&Step<'_>)) -> Result<(), FieldError> {
        let program = self.program;
        let config = &program.config;
        let numerics =
            Numerics { types: &config.types, arithmetic: Arithmetic::Literal, validity: config.validity };
        let end = u64::from(program.address) + program.instructions.len() as u64 * 4;
        for (index, op) in program.instructions.iter().enumerate() {
            if *op == Op::End {
                return Ok(());
            }
            let fault = |source| FieldError::Fault { place: program.place(index), source: Box::new(source) };
            let effects = op.effects(&self.state.registers, &config.types).map_err(fault)?;
            execute(&mut self.state, &mut self.memory, numerics, op).map_err(fault)?;
            let written = effects.memory.extent().filter(|_| effects.memory.direction == Direction::Write);
            if written.is_some_and(|extent| extent.first < end && extent.end > program.address.into()) {
                return Err(FieldError::OwnWords { place: program.place(index) });
            }
            observe(&Step { index, op, effects, memory: &self.memory });
        }
        let (words, index) = (program.instructions.len(), program.instructions.len());
        let source = Box::new(FaultKind::MissingEnd { words });
        Err(FieldError::Fault { place: program.place(index), source })
    }

    /// The elements of an output's map, row-major, in units of ITYPE.
    ///
    /// # Errors
    ///
    /// It does not lie in memory.
    pub fn output(&self, binding: &Binding) -> Result<Vec<Element>, FieldError> {
        let itype = self.program.config.types.itype;
        let read = |address| self.memory.read(address, itype);
        let elements = map_addresses(binding, itype).map(read).collect::<Result<_, _>>();
        // Bits of the artifact that are no number, where the program wrote nothing.
        elements.map_err(|_| FieldError::Range { what: format!("output `{}`", binding.name) })
    }
}

/// The addresses of the elements of a map, row-major.
pub(crate) fn map_addresses(binding: &Binding, itype: DataType) -> impl Iterator<Item = u64> {
    let size = itype.size_bytes();
    let runs = binding.planes.runs(size);
    runs.flat_map(move |(address, group)| {
        (0..u64::from(group.channels)).map(move |c| address + c * u64::from(size))
    })
}

/// Writes a map as [`crate::layout::Planes::write`] does: lanes after the channels of a group become 0.
fn write(
    memory: &mut FieldMemory,
    binding: &Binding,
    itype: DataType,
    elements: &[Element],
) -> Result<(), FieldError> {
    let size = itype.size_bytes();
    let mut rest = elements.iter();
    for (address, group) in binding.planes.runs(size) {
        let lanes = group.written();
        if !Memory::holds(address, u64::from(lanes * size)) {
            return Err(FieldError::Range { what: format!("input `{}`", binding.name) });
        }
        for lane in 0..lanes {
            let channel = (lane < group.channels).then(|| rest.next().copied()).flatten();
            // Default: lanes beyond the channels.
            let element = channel.unwrap_or(Element::ZERO);
            memory.write(address + u64::from(lane * size), itype, element);
        }
    }
    Ok(())
}
