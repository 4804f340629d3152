//! [`Writer`]: the tape of a record.

use std::collections::HashMap;

use super::{Place, Step, Tape};
use crate::machine::Run;
use crate::machine::exec::traced::{Made, Operation, Record, Traced};

/// Writes the tape of a record.
pub(super) struct Writer<'a> {
    record: &'a Record,
    /// How often each word of the record is needed.
    uses: Vec<u32>,
    /// Places in the tape of those that are there.
    places: Vec<Place>,
    /// Those of words of before the run.
    before: HashMap<Traced, Place>,
    /// The sums on their way, by the place of their last word in the record.
    sums: Vec<Option<Sum>>,
    steps: Vec<Step>,
    factors: Vec<[Place; 2]>,
}

/// A sum on its way.
struct Sum {
    start: Place,
    fraction_bits: u32,
    factors: Vec<[Place; 2]>,
}

impl<'a> Writer<'a> {
    /// Finds what results need.
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

    /// What the results need, each after what it is made of: an order that goes by the results alone, as columns that wait
    /// for each other make words in another one after other calls.
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

    /// The place of a word in the tape, where it is from now on.
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

    /// The place of a word that was there before the run.
    fn left(&mut self, word: Traced) -> Place {
        if let Some(&place) = self.before.get(&word) {
            return place;
        }
        let place = self.push(Step::Made(Made { operation: Operation::Left, of: [Place::ZERO; 3] }));
        self.before.insert(word, place);
        place
    }

    /// Writes a word of the record; one of a sum when it is asked for.
    fn write(&mut self, place: usize) {
        let Made { operation, of: [first, a, b] } = self.record.all()[place];
        let fraction_bits = match operation {
            Operation::Input(number) => {
                self.places[place] = Place(number);
                return;
            }
            Operation::Mac(bits) => bits,
            Operation::ExactMac(_) => 0,
            _ => {
                let of = [first, a, b].map(|word| self.place(word));
                self.places[place] = self.push(Step::Made(Made { operation, of }));
                return;
            }
        };
        let factors = [a, b].map(|word| self.place(word));
        let mut sum = self.goes_on(first, fraction_bits).unwrap_or_else(|| Sum {
            // Default: another sum begins.
            start: self.place(first),
            fraction_bits,
            factors: Vec::new(),
        });
        sum.factors.push(factors);
        self.sums[place] = Some(sum);
    }

    /// The sum that a word ends, when nothing else needs it.
    fn goes_on(&mut self, word: Traced, fraction_bits: u32) -> Option<Sum> {
        let place = self.record.place(word).filter(|&place| self.uses[place] == 1)?;
        self.sums[place].take_if(|sum| sum.fraction_bits == fraction_bits)
    }
}
