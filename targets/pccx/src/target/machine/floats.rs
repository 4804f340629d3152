//! [`FloatShadow`]: a float reference that runs next to the machine, with the model's weights.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::Graph;
use npukit_numeric::Tensor;
use npukit_target::TargetError;

use crate::config::Config;
use crate::host::asm_run;
use crate::host::asm_run::Kind;
use crate::isa::op::{Banks, Values};
use crate::isa::usage::words_of;
use crate::lower::{Executable, Options, Weights, compile};
use crate::machine::Machine;
use crate::machine::arith::Arithmetic as _;
use crate::machine::arith::float::{RealImage, Reals};
use crate::program::Program;
use crate::program::runtime::{Moment, Session, SessionState};

/// Description of the float reference with the model's weights.
const EXACT: &str = "the same instructions and host steps in float, with the model's own weights, activations that keep \
                     all of their bits and no rounding to BF16; functions are the machine's";
/// Description of the float reference if no compilation of the model has the program's
/// instructions.
const ROUNDED: &str = "the same instructions and host steps in float, with the 4-bit weights of the program: no \
                       compilation of the model has these instructions";

/// Machine and host in float.
#[derive(Clone)]
pub(in crate::target) struct FloatShadow {
    machine: Box<Machine<Reals>>,
    kept: SessionState<Reals>,
    /// Description of its numbers.
    pub are: &'static str,
}

impl FloatShadow {
    /// Returns the float reference before the first step; the host has its inputs.
    ///
    /// # Errors
    /// Inputs that do not match; an instance that cannot be simulated.
    pub fn new(
        executable: &Executable,
        config: &Config,
        tensors: Vec<Tensor>,
        graph: &Graph,
    ) -> Result<Self, TargetError> {
        let Executable { program, host } = executable;
        // The machine needs no memory for the words of L2 that the program does not use.
        let reached = Config { l2_words: reached(program, config), ..config.clone() };
        let mut machine = Machine::<Reals>::filled(&reached, None).map_err(TargetError::failed)?;
        let mut session = Session::new(&mut machine, program, host).map_err(TargetError::failed)?;
        session.begin(tensors.into_iter().map(Arc::new).collect());
        let (images, are) = match exact(executable, config, graph) {
            Some(images) => (images, EXACT),
            None => (BTreeMap::new(), ROUNDED),
        };
        let kept = session.pause().knowing(images);
        Ok(Self { machine: Box::new(machine), kept, are })
    }

    /// Executes the machine's last event.
    ///
    /// # Errors
    /// The reason why floats are unknown from this event on.
    pub fn happen(&mut self, executable: &Executable, happens: Moment) -> Result<(), String> {
        let Executable { program, host } = executable;
        let mut session = Session::resume(&mut self.machine, program, host, std::mem::take(&mut self.kept));
        let done = session.happen(happens);
        self.kept = session.pause();
        done.map_err(|error| error.to_string())
    }

    /// Returns the numbers at `count` addresses of a memory; `None` if it has no floats.
    pub fn numbers(&self, kind: Kind, address: u64, count: u64) -> Option<Vec<f64>> {
        asm_run::floats(&self.machine, kind, address, count)
    }
}

/// Returns the number of L2 words up to the last one that the program uses.
fn reached(program: &Program, config: &Config) -> u32 {
    let mut banks = Banks::default();
    let mut last = 0;
    for op in &program.code {
        banks.step(op);
        let access = op.access(&banks);
        for Values { word, count } in access.reads.into_iter().chain([access.writes]).flatten() {
            last = last.max(u64::from(word) + words_of(count));
        }
    }
    // Default: more than 32 bits exceed any L2.
    u32::try_from(last).unwrap_or(u32::MAX).clamp(1, config.l2_words)
}

/// Returns the program's images with the model's weights, by number; `None` if no compilation of
/// the model gives the program.
fn exact(executable: &Executable, config: &Config, graph: &Graph) -> Option<BTreeMap<u32, Arc<RealImage>>> {
    let Executable { program, host } = executable;
    let options = Options::of_program(config, host).ok()?;
    let mut weights = Weights::keeping_exact();
    let twin = compile(config, graph, &options, &mut weights).ok()?.program;
    let is_same = (&twin.code, &twin.images, &twin.bindings, &twin.host_ops)
        == (&program.code, &program.images, &program.bindings, &program.host_ops);
    is_same.then(|| {
        let images = (0..).zip(&program.images).map(|(number, image)| {
            let codes = weights.exact(image);
            let exact = codes.map(|codes| Arc::new(RealImage::exact(image, codes)));
            // Default: weights made by the compiler, such as rotations, are taken from the program.
            (number, exact.unwrap_or_else(|| Reals::image(image)))
        });
        images.collect()
    })
}
