//! [`HandProgram`]: a program that a person wrote, in text or words, and [`Bench`], the machine that it runs on: its
//! memories are filled before a run and read afterwards.

mod stepping;
mod text;

use npukit_numeric::NumberFormat;

use crate::cosim::{CosimJudge, CosimOptions};
use crate::error::TargetError;
use crate::program::Compiled;
use crate::run_options::{Meaning, Unset};
use crate::session::Session;

pub use stepping::{Executed, Halt, execute, step_through};
pub use text::{ProgramText, program_text};

/// A program that a person wrote.
pub trait HandProgram: Send + Sync {
    /// Where its instructions stand, and what its text says of the memories around a run.
    fn text(&self) -> &ProgramText;

    /// The machine after a reset, at the first instruction.
    ///
    /// # Errors
    ///
    /// An instance that cannot be simulated; [`TargetError::Differs`] when hardware would compute something else and the
    /// options do not choose.
    fn bench(&self, options: &BenchOptions) -> Result<Box<dyn Bench>, TargetError>;

    /// The program as those of the compiler are: for its report, its time, its trace and its lint. It has no inputs and
    /// no outputs.
    ///
    /// # Errors
    ///
    /// Words that are not instructions.
    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError>;
}

/// How a machine is to be on which a program runs that a person wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BenchOptions {
    /// What counts where hardware and sequence differ.
    pub meaning: Meaning,
    /// What lies in memory that nobody has written. A read of it is remarked upon ([`Ran::remarks`]) when it is
    /// [`Unset::Zero`] or garbage, and stops the machine when it is [`Unset::Poison`].
    pub unset: Unset,
}

/// A memory on a [`Bench`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchMemory {
    /// Its name, as documents and assembly text have it.
    pub name: String,
    /// Addresses it has.
    pub depth: u64,
    /// Numbers at each address.
    pub lanes: usize,
    /// Bits of a number, at most 64.
    pub bits: u32,
    /// Whether the first of them is a sign.
    pub is_signed: bool,
}

impl BenchMemory {
    /// The smallest and the largest number it holds.
    pub fn range(&self) -> (i128, i128) {
        let values = 1_i128 << self.bits.clamp(1, 64);
        if self.is_signed { (-values / 2, values / 2 - 1) } else { (0, values - 1) }
    }

    /// The number that a pattern of bits stands for; none for one that has more bits.
    pub fn of_pattern(&self, pattern: u64) -> Option<i64> {
        let (_, largest) = self.range();
        let values = 1_i128 << self.bits.clamp(1, 64);
        let pattern = i128::from(pattern);
        (pattern < values).then_some((if pattern > largest { pattern - values } else { pattern }) as i64)
    }

    /// The bits of a number.
    pub fn pattern(&self, number: i64) -> u64 {
        if self.bits >= 64 { number as u64 } else { number as u64 & ((1 << self.bits) - 1) }
    }
}

/// How long a run may be; none for as long as it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Instructions executed.
    pub instructions: Option<u64>,
    /// Cycles, for a machine that counts them.
    pub cycles: Option<u64>,
}

/// What a run was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles, when the machine counts them as it runs.
    pub cycles: Option<u64>,
    /// What its author should know of, first of all reads of memory that nobody has written.
    pub remarks: Vec<Remark>,
}

/// What there is to say of an instruction that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Index of the instruction in the program, from 0; none for what is of no instruction.
    pub instruction: Option<usize>,
    /// What there is to say.
    pub message: String,
}

/// Why a machine did not reach the end of its program.
#[derive(Debug)]
pub struct Stopped {
    /// Index of the instruction that it stopped at, from 0, where it is one.
    pub instruction: Option<usize>,
    /// Why.
    pub error: TargetError,
}

impl Stopped {
    /// The error of a run that is longer than its limit.
    pub fn limit(instruction: usize, limit: u64, what: &str) -> Self {
        let error = TargetError::failed(format!("the limit of {limit} {what} is reached"));
        Self { instruction: Some(instruction), error }
    }
}

/// A machine with a program, whose memories are open before and after it runs.
///
/// Memories are given by their place in [`Bench::memories`]. Numbers are the machine's integers, or the bits of its
/// floats: sign-extended where the memory is signed.
pub trait Bench: Send {
    /// Its memories.
    fn memories(&self) -> Vec<BenchMemory>;

    /// Writes numbers from `address` on, whole addresses of them, each in the memory's range. Whoever calls has checked
    /// this and that the addresses exist.
    ///
    /// # Errors
    ///
    /// Memory that the machine has and nobody may write.
    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError>;

    /// The numbers at `count` addresses from `address` on. Whoever calls has checked that they exist.
    ///
    /// # Errors
    ///
    /// Memory that cannot be read.
    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError>;

    /// The number that a real value becomes in a memory; none for a memory of integers only.
    fn number(&self, _memory: usize, _real: f64) -> Option<i64> {
        None
    }

    /// The real value of a number in a memory; none for a memory of integers only.
    fn real(&self, _memory: usize, _number: i64) -> Option<f64> {
        None
    }

    /// Runs the program from its first instruction to its end.
    ///
    /// # Errors
    ///
    /// What the machine stops at; a limit that is reached.
    fn run(&mut self, limits: Limits) -> Result<Ran, Stopped>;

    /// Runs the program from memories as they are on the machine's circuit and on the machine, whose memories then hold what
    /// has come of it; `judge` has the circuit's run. None for a machine without a circuit.
    ///
    /// # Errors
    ///
    /// An instance of which there is no circuit, programs that cannot be compared, and what the machine stops at.
    fn cosim(
        &mut self,
        _options: &CosimOptions,
        _judge: &mut CosimJudge<'_>,
    ) -> Option<Result<(), TargetError>> {
        None
    }

    /// The machine as it is, at the first instruction of the program, under a debugger.
    ///
    /// # Errors
    ///
    /// A machine without a debugger.
    fn session(self: Box<Self>) -> Result<Box<dyn Session>, TargetError> {
        Err(TargetError::failed("this machine has no debugger".to_owned()))
    }
}

/// What a real value becomes in a memory of `format`.
pub fn number_of(format: NumberFormat, real: f64) -> i64 {
    format.raw_from_f32(real as f32).into()
}

/// The real value of a number in a memory of `format`.
pub fn real_of(format: NumberFormat, number: i64) -> f64 {
    // A number of a format has 32 bits at most.
    format.raw_to_f32(number as i32).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_numbers() {
        let memory = |bits, is_signed| BenchMemory { name: "m".into(), depth: 1, lanes: 1, bits, is_signed };
        for (bits, is_signed, pattern, number) in [
            (16, true, 0xffff, Some(-1)),
            (16, true, 0x7fff, Some(0x7fff)),
            (16, true, 0x1_0000, None),
            (16, false, 0xffff, Some(0xffff)),
            (64, true, u64::MAX, Some(-1)),
            (32, true, 0x8000_0000, Some(-0x8000_0000)),
        ] {
            let memory = memory(bits, is_signed);
            assert_eq!(memory.of_pattern(pattern), number, "{bits} {pattern:x}");
            if let Some(number) = number {
                assert_eq!(memory.pattern(number), pattern);
            }
        }
        assert_eq!(memory(4, true).range(), (-8, 7));
        assert_eq!(memory(64, false).range(), (0, u64::MAX.into()));
    }
}
