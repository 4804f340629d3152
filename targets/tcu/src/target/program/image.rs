//! Content of a board's memory after a run, and the instruction that wrote it.

use npukit_target::{Instance, Output, TargetError, Writer};

use super::TcuProgram;
use crate::isa::codec::encode_program;
use crate::isa::op::{Memory, Op, Register};
use crate::program::artifact::{raw_from_bytes, raw_to_bytes};
use crate::program::run::RunError;
use crate::program::{Binding, Piece};

/// The memory that drivers share with the unit, as named in `npu run --mem`.
const DRAM0: &str = "dram0";

impl TcuProgram {
    /// Returns the outputs in an image of DRAM0, and the inputs that the program does not
    /// overwrite.
    pub(super) fn image(&self, memory: &str, image: &[u8]) -> Result<Vec<Output>, TargetError> {
        if !memory.eq_ignore_ascii_case(DRAM0) {
            let reason = format!("inputs and outputs of this target are in `{DRAM0}`");
            return Err(TargetError::option("memory", memory, reason));
        }
        let kept = self.program.inputs.iter().filter(|binding| !self.is_overwritten(binding));
        let read = |(binding, is_input): (&Binding, bool)| {
            let vectors = self.vectors_of(binding, image).map_err(TargetError::failed)?;
            if is_input { self.raw_output(binding, vectors) } else { self.output_of(binding, vectors) }
        };
        let inputs = kept.map(|binding| (binding, true));
        inputs.chain(self.program.outputs.iter().map(|binding| (binding, false))).map(read).collect()
    }

    /// Returns the raw vectors of an input or output.
    fn vectors_of(&self, binding: &Binding, image: &[u8]) -> Result<Vec<i32>, RunError> {
        let data_type = self.program.config.data_type;
        let bytes = (raw_to_bytes(data_type, &[0]).len() * self.lanes()) as u64;
        let mut raw = Vec::new();
        for &Piece { base, size } in &binding.pieces {
            let end = base.saturating_add(size).saturating_mul(bytes);
            let range = usize::try_from(base.saturating_mul(bytes)).ok().zip(usize::try_from(end).ok());
            let part = range.and_then(|(start, end)| image.get(start..end));
            // A whole vector consists of whole scalars, so the conversion loses no bytes.
            let part = part.and_then(|part| raw_from_bytes(data_type, part).ok());
            let short = || RunError::Image { name: binding.name.clone(), actual: image.len(), expected: end };
            raw.extend(part.ok_or_else(short)?);
        }
        Ok(raw)
    }

    /// Returns whether an instruction overwrites the input.
    fn is_overwritten(&self, binding: &Binding) -> bool {
        binding.pieces.iter().any(|&Piece { base, size }| {
            let vectors = base..base.saturating_add(size);
            self.program
                .instructions
                .iter()
                .any(|op| op.flow().writes(Memory::Dram0, vectors.clone()).is_some())
        })
    }

    /// Returns the last instruction that writes an element of an output, in the model's order of
    /// elements.
    ///
    /// `None` for an output with host steps, and if the program moves the window of DRAM0.
    pub(super) fn last_writer(&self, output: &str, element: usize) -> Option<Writer> {
        let binding = self.program.outputs.iter().find(|binding| binding.name == output)?;
        let moves = |op: &Op| matches!(op, Op::Configure { register, .. } if *register == Register::Dram0Offset as u8);
        let instructions = &self.program.instructions;
        if self.program.host_steps.iter().any(|step| step.output == output) || instructions.iter().any(moves)
        {
            return None;
        }
        let (vector, _) = binding.place(element, self.lanes())?;
        let writes = |op: &Op| op.flow().writes(Memory::Dram0, vector..vector.saturating_add(1)).is_some();
        let instruction = instructions.iter().rposition(writes)?;
        let words = encode_program(&self.program.config, &instructions[instruction..=instruction]).ok()?;
        let instance = self.instance();
        let text = instance.disassemble(&words, instance.info().listings.first()?).ok()?.text;
        Some(Writer { instruction, text: text.trim().to_owned() })
    }
}
