//! [`Writer`]: converts a record to a tape.

use std::collections::HashMap;

use super::{Place, Step, Tape};
use crate::machine::Run;
use crate::machine::exec::traced::{Operation, Record, Traced, TracedOperation};

/// Writer of the tape of a record.
pub(super) struct Writer<'a> {
    record: &'a Record,
    /// Number of uses of each word of the record.
    uses: Vec<u32>,
    /// Tape positions of the words written so far.
    places: Vec<Place>,
    /// Tape positions of words from before the run.
    before: HashMap<Traced, Place>,
    /// Unfinished sums, by the record index of their last word.
    sums: Vec<Option<Sum>>,
    steps: Vec<Step>,
    factors: Vec<[Place; 2]>,
}

/// Unfinished sum.
struct Sum {
    start: Place,
    fraction_bits: u32,
    factors: Vec<[Place; 2]>,
}

impl<'a> Writer<'a> {
    /// Counts the uses of words by results.
    pub fn new(record: &'a Record, results: &[Vec<Traced>]) -> Self {
        let mut uses = vec![0; record.all().len()];
        let asked = results.iter().flatten().filter_map(|&word| record.place(word));
        asked.for_each(|place| uses[place] += 1);
        for place in (0..record.all().len()).rev() {
            if uses[place] > 0 {
                let own = record.all()[place].of.map(|word| record.place(word));
                own.into_iter().flatten().for_each(|place| uses[place] += 1);
            }
        }
        let (places, before) = (vec![Place::ZERO; uses.len()], HashMap::new());
        let sums = uses.iter().map(|_| None).collect();
        Self { record, uses, places, before, sums, steps: Vec::new(), factors: Vec::new() }
    }

    pub fn written(mut self, results: &[Vec<Traced>], run: Run) -> Tape {
        self.order(results).into_iter().for_each(|place| self.write(place));
        let mut column = |column: &Vec<Traced>| column.iter().map(|&word| self.place(word)).collect();
        let results = results.iter().map(&mut column).collect();
        Tape { results, steps: self.steps, factors: self.factors, run }
    }

    /// Returns the words that the results need, operands first. The order depends only on the
    /// results, because columns that wait for each other compute words in a different order after
    /// other calls.
    fn order(&self, results: &[Vec<Traced>]) -> Vec<usize> {
        let (mut order, mut seen) = (Vec::new(), vec![false; self.uses.len()]);
        for &result in results.iter().flatten() {
            let mut stack: Vec<(usize, bool)> =
                self.record.place(result).map(|place| (place, false)).into_iter().collect();
            while let Some((place, is_ready)) = stack.pop() {
                if is_ready {
                    order.push(place);
                } else if !std::mem::replace(&mut seen[place], true) {
                    let operands = self.record.all()[place].of.iter().rev();
                    let operands = operands.filter_map(|&word| Some((self.record.place(word)?, false)));
                    stack.push((place, true));
                    stack.extend(operands);
                }
            }
        }
        order
    }

    fn push(&mut self, step: Step) -> Place {
        self.steps.push(step);
        Place(self.steps.len() as u32 | Place::MADE)
    }

    /// Returns the tape position of a word, and adds the word if needed.
    fn place(&mut self, word: Traced) -> Place {
        if word == Traced::default() {
            return Place::ZERO;
        }
        let Some(place) = self.record.place(word) else { return self.left(word) };
        if let Some(Sum { start, fraction_bits, factors }) = self.sums[place].take() {
            self.factors.extend(factors);
            let end = self.factors.len() as u32;
            self.places[place] = self.push(Step::Sum { start, end, fraction_bits });
        }
        self.places[place]
    }

    /// Returns the tape position of a word from before the run.
    fn left(&mut self, word: Traced) -> Place {
        if let Some(&place) = self.before.get(&word) {
            return place;
        }
        let place =
            self.push(Step::Made(TracedOperation { operation: Operation::Left, of: [Place::ZERO; 3] }));
        self.before.insert(word, place);
        place
    }

    /// Writes a word of the record. Words of a sum are written when the sum is needed.
    fn write(&mut self, place: usize) {
        let TracedOperation { operation, of: [first, a, b] } = self.record.all()[place];
        let fraction_bits = match operation {
            Operation::Input(number) => {
                self.places[place] = Place(number);
                return;
            }
            Operation::Mac(bits) => bits,
            Operation::ExactMac(_) => 0,
            _ => {
                let of = [first, a, b].map(|word| self.place(word));
                self.places[place] = self.push(Step::Made(TracedOperation { operation, of }));
                return;
            }
        };
        let factors = [a, b].map(|word| self.place(word));
        let mut sum = self.goes_on(first, fraction_bits).unwrap_or_else(|| Sum {
            // Default: a new sum begins.
            start: self.place(first),
            fraction_bits,
            factors: Vec::new(),
        });
        sum.factors.push(factors);
        self.sums[place] = Some(sum);
    }

    /// Returns the sum that a word ends, if nothing else needs the word.
    fn goes_on(&mut self, word: Traced, fraction_bits: u32) -> Option<Sum> {
        let place = self.record.place(word).filter(|&place| self.uses[place] == 1)?;
        self.sums[place].take_if(|sum| sum.fraction_bits == fraction_bits)
    }
}
