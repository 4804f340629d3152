//! [`SymbolicRun`]: a program on a machine with any arithmetic.

use npukit_numeric::Element;

use crate::isa::check::check;
use crate::isa::op::Memory;
use crate::machine::arith::Arithmetic;
use crate::machine::arith::field::{Modular, image};
use crate::machine::state::State;
use crate::machine::{exec, in_range, poison};
use crate::program::run::{RunError, access, place};
use crate::program::{Binding, Piece, Program};

/// A running program, started as its driver would.
pub(crate) struct SymbolicRun<'a, A: Arithmetic> {
    program: &'a Program,
    pub state: State<A>,
}

impl<'a, A: Arithmetic> SymbolicRun<'a, A> {
    /// Creates a machine with constants and inputs (whole vectors, in program order) in memory.
    ///
    /// # Errors
    ///
    /// Constants and inputs outside their memories.
    pub fn new(
        program: &'a Program,
        state: State<A>,
        constants: &[A::Scalar],
        inputs: &[Vec<A::Scalar>],
    ) -> Result<Self, RunError> {
        let mut run = Self { program, state };
        run.write(Memory::Dram1, 0, constants, "constants")?;
        if program.load_consts_to_local {
            run.write(Memory::Local, 0, constants, "constants")?;
        }
        for (binding, vectors) in program.inputs.iter().zip(inputs) {
            for (base, part) in binding.parts(vectors, run.state.lanes) {
                run.write(Memory::Dram0, base, part, &format!("input `{}`", binding.name))?;
            }
        }
        Ok(run)
    }

    fn write(
        &mut self,
        memory: Memory,
        base: u64,
        scalars: &[A::Scalar],
        what: &str,
    ) -> Result<(), RunError> {
        let vectors = (scalars.len() / self.state.lanes) as u64;
        in_range(&self.program.config, memory, base, vectors)
            .map_err(|source| access(what.to_owned(), source))?;
        self.state.write(memory, base, scalars);
        Ok(())
    }

    /// Executes the rest of the program; calls `observe` with the machine before each instruction.
    ///
    /// # Errors
    ///
    /// An instruction that cannot be executed.
    pub fn finish(&mut self, mut observe: impl FnMut(&mut State<A>, usize)) -> Result<(), RunError> {
        let Self { program, state } = self;
        npukit_target::sim::run(&program.instructions, &mut |_| (), |i, op| {
            check(&program.config, op)?;
            observe(state, i);
            exec::step(state, &program.config, op)
        })
        .map_err(|fault| place(program, fault))
    }

    /// Returns the vectors of an output, with its pieces concatenated.
    ///
    /// # Errors
    ///
    /// An output outside DRAM0.
    pub fn output(&self, binding: &Binding) -> Result<Vec<A::Scalar>, RunError> {
        let mut scalars = Vec::new();
        for &Piece { base, size } in &binding.pieces {
            in_range(&self.program.config, Memory::Dram0, base, size)
                .map_err(|source| access(format!("output `{}`", binding.name), source))?;
            let mut piece = vec![A::Scalar::default(); size as usize * self.state.lanes];
            self.state.read(Memory::Dram0, base, &mut piece);
            scalars.extend(piece);
        }
        Ok(scalars)
    }
}

impl<'a> SymbolicRun<'a, Modular> {
    /// Creates a machine over the prime field with constants and inputs (whole vectors, in program
    /// order) in memory. Unwritten memory holds pseudorandom elements.
    ///
    /// # Errors
    ///
    /// An instance that is too large to simulate; constants and inputs outside their memories.
    pub fn over_field(program: &'a Program, inputs: &[Vec<Element>], seed: u64) -> Result<Self, RunError> {
        let mut state = State::<Modular>::new(&program.config)?;
        let mut elements = Element::random(seed);
        poison::fill_with(&mut state, || elements.next().unwrap_or_default()); // Default: never used, the elements do not end.
        let format = program.config.data_type.format();
        let constant = |(index, &raw): (usize, &i32)| image(format, raw).ok_or(RunError::NoImage { index });
        let constants = program.constants.iter().enumerate().map(constant).collect::<Result<Vec<_>, _>>()?;
        Self::new(program, state, &constants, inputs)
    }
}
