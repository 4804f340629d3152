//! [`FloatShadow`]: a float reference that executes the same instructions with the model's own
//! constants.

use std::sync::Arc;

use npukit_graph::Graph;
use npukit_target::TargetError;

use super::parts::Part;
use crate::config::{Config, Types};
use crate::isa::fault::Buffer;
use crate::isa::memory::SLOT;
use crate::isa::op::{Direction, Effects, Extent, Op};
use crate::machine::arith::float::{RealConstants, RealElements, RealMemory};
use crate::machine::arith::interval::RangedConstants;
use crate::machine::array::Array;
use crate::machine::exec::{Numerics, execute};
use crate::machine::state::State;
use crate::machine::values::{Arithmetic, Values};
use crate::program::Program;
use crate::program::symbolic_run::loaded;
use crate::target::bounds::{constants_of, same_functions};

/// Description of the float reference.
const EXACT: &str =
    "the same instructions in float, with the model's own constants, in units of the machine's numbers";
/// Description if functions differ from the model's.
const OTHER: &str = "the same instructions in float, with the model's own constants, in units of the machine's numbers, \
                     with the machine's slope of 0.125, and without the bound of a clip that saturation implements";
/// Description if no compilation of the model has the program's instructions.
const ROUNDED: &str = "the same instructions in float, with the program's own constants: no compilation of the model \
                       yields these instructions";

/// State of the float reference.
#[derive(Clone)]
pub(in crate::target) struct FloatShadow {
    state: State<RealElements>,
    memory: RealMemory,
    /// Address range of the program's words.
    words: Extent,
    /// Description of the values for the user.
    pub are: &'static str,
}

impl FloatShadow {
    /// Creates the reference before the first instruction. `inputs` are maps in the program's
    /// order, in units of ITYPE.
    ///
    /// Errors: data is not inside memory.
    pub fn new(program: &Program, graph: &Graph, inputs: &[Vec<f64>]) -> Result<Self, TargetError> {
        let (constants, are) = match constants_of(program, graph) {
            Ok((constants, _)) if same_functions(program, graph).is_ok() => (constants, EXACT),
            Ok((constants, _)) => (constants, OTHER),
            Err(_) => (Vec::new(), ROUNDED),
        };
        let constants = RealConstants(RangedConstants(Arc::from(constants)));
        let memory = loaded(program, constants, inputs).map_err(TargetError::failed)?;
        let first = u64::from(program.address);
        let words = Extent { first, end: first + 4 * program.instructions.len() as u64 };
        Ok(Self { state: State::default(), memory, words, are })
    }

    /// Executes an instruction after the machine has executed it.
    ///
    /// Errors: the reason why float values are unknown from now.
    pub fn step(&mut self, op: &Op, effects: &Effects, config: &Config) -> Result<(), String> {
        let written = effects.memory.extent().filter(|_| effects.memory.direction == Direction::Write);
        if written.is_some_and(|extent| extent.first < self.words.end && extent.end > self.words.first) {
            return Err("the program overwrites its own words".to_owned());
        }
        let numerics =
            Numerics { types: &config.types, arithmetic: Arithmetic::Literal, validity: config.validity };
        execute(&mut self.state, &mut self.memory, numerics, op).map_err(|fault| fault.to_string())
    }

    /// Returns the values at `count` addresses of a part, in units of the machine's numbers;
    /// unknown values are NaN. `None` if the part has no float values now.
    pub fn numbers(&self, part: Part, types: &Types, address: u64, count: u64) -> Option<Vec<f64>> {
        match part {
            Part::Buffer(buffer) => self.rows(buffer, address, count),
            Part::Bank(..) => {
                let (data_type, place) = (part.data_type(types)?, part.place(types, address)?);
                let lanes = part.memory(types).lanes as u64;
                let size = u64::from(data_type.size_bytes());
                let one = |index| self.memory.read(place.address + index * size, data_type);
                // Default: the bits are not a number.
                Some((0..count * lanes).map(|index| one(index).unwrap_or(f64::NAN)).collect())
            }
            Part::Bytes | Part::Register(_) => None,
        }
    }

    /// Returns rows of a buffer along its last axis, padded with zeros like the machine's.
    fn rows(&self, buffer: Buffer, address: u64, count: u64) -> Option<Vec<f64>> {
        let state = &self.state;
        let Array { shape, elements, .. } = match buffer {
            Buffer::Ifm => &state.ifm,
            Buffer::Ker => &state.ker,
            Buffer::Bias => &state.bias,
            Buffer::Ofm => &state.ofm,
        }
        .get()
        .ok()?;
        let channels = *shape.last()?;
        let held = shape.iter().product::<usize>().checked_div(channels)? as u64;
        let lane = |row: u64, lane: usize| match lane < channels {
            true => elements.at(row as usize * channels + lane),
            false => 0.0,
        };
        let rows = (address..address + count).filter(|_| address + count <= held);
        let numbers: Vec<f64> =
            rows.flat_map(|row| (0..SLOT as usize).map(move |at| lane(row, at))).collect();
        (!numbers.is_empty()).then_some(numbers)
    }
}
