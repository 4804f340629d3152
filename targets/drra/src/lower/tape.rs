//! [`Tapes`]: computations of kernels, recorded once on a fabric and replayed for every call.
//!
//! The recorder runs the calls of a plan in order on one fabric, with words that track only their
//! origin. A kernel whose computation depends on earlier calls is refused.

mod writer;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use npukit_numeric::Products;
use npukit_target::UninitMemory;
use npukit_target::sim::garbage;
use rayon::prelude::*;

use crate::config::fabric::ROW_WORDS;
use crate::config::revision::Revision;
use crate::machine::exec::field::FieldWord;
use crate::machine::exec::traced::{Operation, Record, Traced, TracedOperation};
use crate::machine::exec::word::Word;
use crate::machine::{Buffer, LoadError, Machine, Run};
use crate::program::call::Call;
use crate::program::driver::{Called, Filled, Kernels};
use crate::program::executable::{CallError, Executable, ExecuteError};
use writer::Writer;

/// Recorded computation of a kernel. It starts with the word 0; each word follows its operands.
#[derive(Clone, Debug, PartialEq)]
struct Tape {
    steps: Vec<Step>,
    /// Factors of all sums, one sum after the other.
    factors: Vec<[Place; 2]>,
    /// Results of each column.
    results: Vec<Vec<Place>>,
    run: Run,
}

/// Position of a word: its index in the input buffer or, with the highest bit set, among the
/// computed words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(u32);

impl Place {
    const MADE: u32 = 1 << 31;
    const ZERO: Self = Self(Self::MADE);

    #[inline]
    fn of(self, input: &[FieldWord], made: &[FieldWord]) -> FieldWord {
        let number = (self.0 & !Self::MADE) as usize;
        if self.0 & Self::MADE == 0 { input[number] } else { made[number] }
    }
}

/// Operation that computes a word from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Made(TracedOperation<Place>),
    /// `start` plus the products of the factors up to index `end`, which lose fraction bits.
    Sum {
        start: Place,
        end: u32,
        fraction_bits: u32,
    },
}

/// Key of a tape: the kernel, the rows of its inputs, and the results of each column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    kernel: usize,
    rows: usize,
    results: Vec<usize>,
}

impl Key {
    fn new(kernel: usize, call: &Call) -> Self {
        let results = call.results.iter().map(|results| results.count).collect();
        Self { kernel, rows: call.input_rows(), results }
    }
}

/// Recorded kernels of an executable.
#[derive(Debug)]
pub struct Tapes {
    tapes: HashMap<Key, Tape>,
    depth: usize,
}

/// Replays the kernels of an executable. Unwritten words are random, from a seed.
#[derive(Debug)]
pub struct Player<'a> {
    tapes: &'a Tapes,
    seed: u64,
    /// Buffers for reuse.
    free: Mutex<Vec<Words>>,
}

/// Words of a call.
#[derive(Debug)]
struct Words {
    input: Buffer<FieldWord>,
    made: Vec<FieldWord>,
}

/// Runs the calls of an executable on one fabric.
struct Recorder<'a> {
    executable: &'a Executable,
    machine: Machine<Traced>,
    /// Last kernel called, the fabric configuration that it left, and whether that equals the
    /// configuration before the call.
    last: Option<(usize, String, bool)>,
    tapes: HashMap<Key, Tape>,
}

impl Tapes {
    /// Records each kernel on a fabric of a revision.
    ///
    /// # Errors
    ///
    /// The machine refuses or faults, or a kernel depends on the state that earlier calls left.
    pub fn record(executable: &Executable, revision: Revision) -> Result<Self, ExecuteError> {
        let (tapes, depth) = (HashMap::new(), executable.fabric.input_depth);
        let mut calls = executable.numbered().peekable();
        let Some((_, first, _)) = calls.peek() else { return Ok(Self { tapes, depth }) };
        let of_step = |step: usize, error: CallError| error.of_step(&executable.plan.steps[step].name);
        let program = &executable.kernels[*first].compiled.program;
        let machine = Machine::of_words(&executable.fabric_of(revision), program);
        let mut machine = machine.map_err(|error| of_step(0, error.into()))?;
        machine.unset(UninitMemory::Garbage(0));
        let mut recorder = Recorder { executable, machine, last: None, tapes };
        for (step, kernel, call) in calls {
            recorder.call(kernel, call).map_err(|error| of_step(step, error))?;
        }
        Ok(Self { tapes: recorder.tapes, depth })
    }

    /// Returns a player with random unwritten words, from `seed`.
    pub const fn player(&self, seed: u64) -> Player<'_> {
        Player { tapes: self, seed, free: Mutex::new(Vec::new()) }
    }
}

impl Recorder<'_> {
    /// Calls a kernel, unless the call repeats one that left the configuration unchanged.
    fn call(&mut self, kernel: usize, call: &Call) -> Result<(), CallError> {
        let key = Key::new(kernel, call);
        let is_settled = matches!(&self.last, Some((last, _, true)) if *last == kernel);
        if is_settled && self.tapes.contains_key(&key) {
            return Ok(());
        }
        self.machine.reload(&self.executable.kernels[kernel].compiled.program)?;
        let tape = Tape::record(&mut self.machine, call)?;
        let setting = self.machine.setting().text();
        let is_settled = matches!(&self.last, Some((_, before, _)) if *before == setting);
        self.last = Some((kernel, setting, is_settled));
        if *self.tapes.entry(key).or_insert_with(|| tape.clone()) == tape {
            return Ok(());
        }
        Err(CallError::Left { kernel })
    }
}

impl Tape {
    /// Runs the machine's program and records it.
    fn record(machine: &mut Machine<Traced>, call: &Call) -> Result<Self, CallError> {
        Record::restart();
        let (depth, garbage) = (machine.fabric().input_depth, UninitMemory::Garbage(0));
        machine.input.unset(garbage);
        machine.output.unset(garbage);
        for row in 0..call.input_rows() {
            let word = |index: usize| Traced::input((row * ROW_WORDS + index) as u32);
            let written = machine.input.write(row, std::array::from_fn(word));
            written.map_err(|_| LoadError::Input { row: row as u32, depth })?;
        }
        let run = machine.run(call.kernel.limit(), &mut ())?;
        let results = call.taken(machine)?;
        Ok(Record::with(|record| Writer::new(record, &results).written(&results, run)))
    }

    /// Computes all words from the input buffer; `left` gives the words that were in the fabric
    /// before.
    fn play(&self, input: &[FieldWord], mut left: impl FnMut() -> FieldWord, made: &mut Vec<FieldWord>) {
        let mut first = 0;
        made.clear();
        made.push(FieldWord::default());
        for step in &self.steps {
            let word = |place: Place| place.of(input, made);
            let next = match *step {
                Step::Sum { start, end, fraction_bits } => {
                    let factors = self.factors[first..end as usize].iter();
                    let pairs = factors.map(|&[a, b]| (word(a).element, word(b).element));
                    first = end as usize;
                    let products = Products::of_pairs(pairs).scaled(-(fraction_bits as i32));
                    FieldWord::any(word(start).element + products)
                }
                Step::Made(TracedOperation { operation: Operation::Left, .. }) => left(),
                Step::Made(TracedOperation { operation, of }) => operation.of(of.map(word)),
            };
            made.push(next);
        }
    }
}

impl Kernels<FieldWord> for Player<'_> {
    fn calls(&self, calls: &[Filled<'_, FieldWord>]) -> Result<Vec<Called<FieldWord>>, CallError> {
        calls.par_iter().map(|call| self.call(call)).collect()
    }
}

impl Player<'_> {
    fn call(&self, filled: &Filled<'_, FieldWord>) -> Result<Called<FieldWord>, CallError> {
        let Filled { call, kernel, fill } = filled;
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // Default: more calls are in progress than ever before.
        let mut words =
            free.unwrap_or_else(|| Words { input: Buffer::new("input", self.tapes.depth), made: Vec::new() });
        fill(&mut words.input)?;
        let (tape, mut next) =
            (&self.tapes.tapes[&Key::new(*kernel, call)], garbage(self.seed.wrapping_add(*kernel as u64)));
        let Words { input, made, .. } = &mut words;
        tape.play(input.words(), || FieldWord::garbage(next()), made);
        let column = |column: &Vec<Place>| column.iter().map(|place| place.of(input.words(), made)).collect();
        let rows = tape.results.iter().map(column).collect();
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(words);
        Ok(Called { run: tape.run.clone(), rows })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::Element;

    use super::*;
    use crate::lower::example::{executable, without_one_instruction};
    use crate::program::driver::Runner;

    /// The reference is the fabric, simulated cycle by cycle.
    #[test]
    fn tapes_compute_what_the_fabric_does() {
        for executable in ["3x1", "3x2"].map(executable) {
            let revision = executable.fabric.options.revision;
            let tapes = Tapes::record(&executable, revision).unwrap();
            let mut random = Element::random(5).map(FieldWord::any);
            let inputs: Vec<Vec<_>> =
                executable.plan.inputs.iter().map(|_| random.by_ref().take(400).collect()).collect();
            let played = Runner::with(&executable, Box::new(tapes.player(3))).run(&inputs).unwrap();
            let ran = Runner::new(&executable, revision, UninitMemory::Garbage(3)).run(&inputs).unwrap();
            assert_eq!(played, ran);
            let made = executable.plan.outputs.iter().map(|&output| &played.values[output]);
            assert!(made.flatten().all(|word| *word != FieldWord::default()));
        }
    }

    /// With its instructions removed one by one, the last step's kernel runs first and last. It
    /// must be refused if it needs state that another kernel left.
    #[test]
    fn a_kernel_that_goes_by_what_was_left_is_refused() {
        let whole = executable("3x1");
        let last = whole.calls.last().unwrap().first().unwrap().clone();
        let number = last[0].1;
        let (mut refused, mut settled) = (0, 0);
        for mut executable in without_one_instruction(&whole, number) {
            executable.calls[0].insert(0, last.clone());
            match Tapes::record(&executable, executable.fabric.options.revision) {
                Ok(_) => settled += 1,
                Err(ExecuteError::Left { kernel, .. }) => refused += usize::from(kernel == number),
                Err(_) => {}
            }
        }
        assert!(refused > 0 && settled > 0, "{refused} refused, {settled} not");
    }
}
