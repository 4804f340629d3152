//! Assembly programs: fills the memories as the text specifies, then runs the program on the
//! circuit.

use std::ops::ControlFlow;

use npukit_target::{HazardMode, ProgramText};

use super::Done;
use crate::Context;
use crate::error::Error;
use crate::model::program::Program;
use crate::verbs::run::{self, asm_machine};

impl Done<'_> {
    /// Runs the program and compares; also returns it, with notes.
    pub(super) fn run_asm(&mut self, context: Context<'_>) -> Result<(Program, Vec<String>), Error> {
        let request = run::Request {
            source: self.request.source.clone(),
            inputs: self.request.inputs.clone(),
            preprocess: self.request.preprocess.clone(),
            // The machine matches the circuit: the released one has hazards, otherwise instructions
            // execute sequentially.
            meaning: if self.request.is_released { HazardMode::Hardware } else { HazardMode::Sequential },
            ..run::Request::default()
        };
        let (mut bench, text, notes) = asm_machine(&request, context)?;
        let program = self.request.source.program(context)?;
        self.samples += 1;
        let mut judged = Ok(());
        let ran = bench.cosim(&self.options(), &mut |cosim| {
            judged = self.judge(cosim);
            ControlFlow::Break(())
        });
        ran.ok_or_else(|| program.compiled.info().unsupported("cosim"))??;
        judged?;
        self.name_line(&text);
        Ok((program, notes))
    }

    /// Adds the source line of the first difference.
    fn name_line(&mut self, text: &ProgramText) {
        let difference = self.judgements.last_mut().and_then(|judgement| judgement.difference.as_mut());
        let Some(difference) = difference else { return };
        let place = difference.instruction.and_then(|index| text.places.get(usize::try_from(index).ok()?));
        if let Some(&place) = place {
            let (file, line, _) = text.sources.position_of(place);
            difference.message = format!("{file}, line {line}: {}", difference.message);
        }
    }
}
