//! [`Decoder`]: a language model on the machine, token by token, with its cache at the host
//! (specification 5.5).

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::decoder::{DecoderError, DecoderModel};
use npukit_numeric::{Tensor, TensorData};
use npukit_target::UninitMemory;
use thiserror::Error;

use crate::clock;
use crate::config::Config;
use crate::lower::{Executable, LowerError, Options, Weights, compile};
use crate::machine::Machine;
use crate::program::runtime::{RunError, Session};

/// Reason why the next token cannot be computed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum GenerateError {
    /// The model rejects the tokens.
    #[error(transparent)]
    Model(#[from] DecoderError),
    /// A step of the model cannot be compiled.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// A compiled step fails on the machine.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Seed of the machine's memories before the first token.
pub(super) const GARBAGE: u64 = 0x706C;
/// Maximum number of cached programs.
const MAX_PROGRAMS: usize = 64;

/// A language model within a text. Each step is compiled for its position; weights are quantized
/// once.
pub struct Decoder {
    config: Config,
    /// Machine for all tokens. Its memories contain garbage at first, and then the data of the last
    /// program.
    machine: Machine,
    options: Options,
    model: DecoderModel,
    weights: Weights,
    /// Compiled steps with their cycles, by position and length; texts share them.
    programs: BTreeMap<(usize, usize), (Arc<Executable>, u64)>,
    /// Program of the last step.
    last: Option<Arc<Executable>>,
    capacity: usize,
    /// For each layer keys, then values, `[kv_heads, position, head]`, as computed by the machine.
    caches: Vec<Vec<f32>>,
    position: usize,
}

/// Result of a decoding step.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Logits after the last token.
    pub logits: Vec<f32>,
    /// Core cycles of all programs in the step.
    pub cycles: u64,
}

impl Decoder {
    /// Returns a decoder for an empty text of at most `capacity` tokens.
    ///
    /// # Errors
    /// [`DecoderError::TooLong`] if the capacity is 0 or exceeds the model's context;
    /// [`RunError::Machine`] if the simulator does not support so large an L2.
    pub fn new(
        config: &Config,
        options: Options,
        model: &DecoderModel,
        capacity: usize,
    ) -> Result<Self, GenerateError> {
        let limit = model.config().context;
        if capacity == 0 || capacity > limit {
            return Err(DecoderError::TooLong { position: 0, found: capacity, limit }.into());
        }
        let caches = vec![Vec::new(); 2 * model.config().layers];
        let machine = Machine::with(config, UninitMemory::Garbage(GARBAGE)).map_err(RunError::Machine)?;
        let (config, model) = (config.clone(), model.clone());
        let (weights, programs) = (Weights::default(), BTreeMap::new());
        let last = None;
        Ok(Self { config, machine, options, model, weights, programs, last, capacity, caches, position: 0 })
    }

    /// Returns the program of the last step.
    pub fn program(&self) -> Option<Arc<Executable>> {
        self.last.clone()
    }

    /// Removes all tokens, to begin a new text.
    pub fn reset(&mut self) {
        self.position = 0;
        self.caches.iter_mut().for_each(Vec::clear);
    }

    /// Processes tokens, in groups of the size that the options set.
    ///
    /// # Errors
    /// [`GenerateError::Model`] for an empty list, tokens outside the vocabulary or too many
    /// tokens: then none is processed. [`GenerateError::Lower`] if a step does not fit the
    /// instance, [`GenerateError::Run`] if it faults.
    pub fn take(&mut self, tokens: &[usize]) -> Result<Taken, GenerateError> {
        self.model.config().check_tokens(self.position, self.capacity, tokens)?;
        let mut taken = Err(DecoderError::NoTokens.into());
        let mut cycles = 0;
        for tokens in tokens.chunks(self.options.m_tile) {
            let part = self.take_tile(tokens)?;
            cycles += part.cycles;
            taken = Ok(Taken { cycles, ..part });
        }
        taken
    }

    fn take_tile(&mut self, tokens: &[usize]) -> Result<Taken, GenerateError> {
        let (executable, cycles) = self.compiled(tokens.len())?;
        let config = self.model.config();
        let numbers = TensorData::I64(tokens.iter().map(|&token| token as i64).collect());
        let shape = vec![config.kv_heads, self.position, config.head];
        let (layers, vocabulary) = (config.layers, config.vocabulary);
        let mut inputs = vec![tensor(vec![tokens.len()], numbers)?];
        if self.position > 0 {
            for cache in &self.caches {
                inputs.push(tensor(shape.clone(), TensorData::F32(cache.clone()))?);
            }
        }
        let results = Session::new(&mut self.machine, &executable.program, &executable.host)?.run(&inputs)?;
        let floats = |tensor: &Tensor| tensor.as_f32().expect("a decoder's graph gives floats").to_vec();
        let mut logits = floats(&results[0]);
        // Keeps only the logits of the last token.
        logits.drain(..logits.len() - vocabulary);
        let heads = self.model.config().kv_heads;
        for (cache, own) in self.caches.iter_mut().zip(results.iter().skip(1).take(2 * layers)) {
            *cache = appended(cache, &floats(own), heads);
        }
        self.position += tokens.len();
        self.last = Some(executable);
        Ok(Taken { logits, cycles })
    }

    /// Returns the program for the next `length` tokens, and its cycles.
    fn compiled(&mut self, length: usize) -> Result<(Arc<Executable>, u64), GenerateError> {
        let key = (self.position, length);
        if let Some((executable, cycles)) = self.programs.get(&key) {
            return Ok((Arc::clone(executable), *cycles));
        }
        let graph = self.model.extend(self.position, length)?;
        let executable = compile(&self.config, &graph, &self.options, &mut self.weights)?;
        let program = &executable.program;
        let cycles = clock::run_with_host(&self.config, &program.code, &program.syncs()).cycles;
        if self.programs.len() >= MAX_PROGRAMS {
            self.programs.pop_first();
        }
        let executable = Arc::new(executable);
        self.programs.insert(key, (Arc::clone(&executable), cycles));
        Ok((executable, cycles))
    }
}

fn tensor(shape: Vec<usize>, data: TensorData) -> Result<Tensor, DecoderError> {
    let (found, expected) = (vec![data.len()], shape.clone());
    Tensor::new(shape, data).map_err(|_| DecoderError::Shape { name: "cache".to_owned(), found, expected })
}

/// Appends rows of new tokens to a cache `[heads, position, head]`.
fn appended(cache: &[f32], own: &[f32], heads: usize) -> Vec<f32> {
    let (old, new) = (cache.len() / heads.max(1), own.len() / heads.max(1));
    let part = |head: usize| {
        let (before, after) = (&cache[head * old..][..old], &own[head * new..][..new]);
        before.iter().chain(after).copied()
    };
    (0..heads).flat_map(part).collect()
}
