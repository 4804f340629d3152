//! A program that a person wrote: its memories filled as its text says, then run on the circuit.

use std::ops::ControlFlow;

use npukit_target::{Meaning, ProgramText};

use super::Done;
use crate::Context;
use crate::error::Error;
use crate::model::program::Program;
use crate::verbs::run::{self, filled_by_hand};

impl Done<'_> {
    /// Runs it, and compares; also gives the program and what was taken for granted.
    pub(super) fn run_by_hand(&mut self, context: Context<'_>) -> Result<(Program, Vec<String>), Error> {
        let request = run::Request {
            source: self.request.source.clone(),
            inputs: self.request.inputs.clone(),
            preprocess: self.request.preprocess.clone(),
            // The circuit is the released one or does what the instructions say: the machine beside it is like it.
            meaning: if self.request.is_released { Meaning::Hardware } else { Meaning::Sequential },
            ..run::Request::default()
        };
        let (mut bench, text, notes) = filled_by_hand(&request, context)?;
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

    /// Says in which line of the text the first difference is.
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
