//! Matrix products within a tile: loads inputs and weights, in parts if they do not fit at once.

use std::ops::Range;

use super::{Tile, TileError};
use crate::isa::op::{Op, Strided};
use crate::lower::issue::lir::{Progression, Run, roll, roll_progressions};
use crate::lower::layers::hir::{Bias, MatMul, Rows, WeightSet};
use crate::lower::memory::arena::Placed;
use crate::lower::memory::object::{Span, VecRef, add_pieces, merge, spans};

impl Tile<'_> {
    /// Fills the grid with a matrix product.
    ///
    /// # Errors
    ///
    /// Fails if weights and inputs do not fit in local memory.
    pub fn matmul(&mut self, matmul: &MatMul) -> Result<(), TileError> {
        let written = WrittenAccumulators::new(self.blocks.len(), self.grid.pixels.len(), self.resumed);
        let mut product = Product { matmul, written };
        let mut pieces = Vec::new();
        let terms = (0..matmul.terms.len()).filter(|&term| self.concerns(matmul, term));
        let terms: Vec<Needed> = terms.map(|term| self.needed(matmul, term, &mut pieces)).collect();
        self.terms(&mut product, &terms, &pieces)?;
        self.fill_unwritten(&product);
        Ok(())
    }

    /// Whether a term has an input in this tile, or a bias for pixels without one.
    fn concerns(&self, matmul: &MatMul, term: usize) -> bool {
        let inputs = &matmul.terms[term].inputs;
        let all = |block| matmul.set(term, block).is_some_and(|set| set.bias == Bias::All);
        self.grid.pixels.iter().any(|&pixel| !inputs[pixel as usize].is_zero())
            || self.blocks.clone().any(all)
    }

    /// Computes terms with inputs among `pieces`: at once if inputs and weights fit, otherwise in
    /// two halves.
    fn terms(
        &mut self,
        product: &mut Product<'_>,
        terms: &[Needed],
        pieces: &[Span],
    ) -> Result<(), TileError> {
        let needed = match terms {
            [first, .., last] => first.pieces.start..last.pieces.end,
            [only] => only.pieces.clone(),
            [] => 0..0,
        };
        let mut spans = pieces[needed].to_vec();
        self.add_weights(product.matmul, terms, &mut spans);
        match (self.load(&merge(spans)), terms) {
            (Ok(()), _) => {
                self.compute(product, terms);
                Ok(())
            }
            (Err(error), [] | [_]) => Err(error),
            (Err(_), _) => {
                let (first, second) = terms.split_at(terms.len() / 2);
                self.terms(product, first, pieces)?;
                self.terms(product, second, pieces)
            }
        }
    }

    /// Returns the inputs of a term for this tile, which are added to `pieces`.
    fn needed(&self, matmul: &MatMul, term: usize, pieces: &mut Vec<Span>) -> Needed {
        let (inputs, first) = (&matmul.terms[term].inputs, pieces.len());
        let vector = |&pixel: &u32| inputs[pixel as usize];
        // A new span begins here, so that the last span of the previous term does not grow.
        let mut own = self.grid.pixels.iter().map(vector).filter(|vector| !vector.is_zero());
        if let Some(VecRef { object, index }) = own.next() {
            pieces.push(Span { object, start: index, end: index + 1 });
        }
        add_pieces(pieces, own);
        Needed { term, pieces: first..pieces.len() }
    }

    /// Adds the weights of terms for this tile. Weights of one block are contiguous, term by term.
    fn add_weights(&self, matmul: &MatMul, terms: &[Needed], all: &mut Vec<Span>) {
        for block in self.blocks.clone() {
            for set in terms.iter().filter_map(|needed| matmul.set(needed.term, block)) {
                match &set.rows {
                    Rows::Constant(first) => {
                        let rows = self.rows_from(*first, set.bias);
                        match all.last_mut() {
                            Some(last) if last.object == rows.object && last.end == rows.start => {
                                last.end = rows.end;
                            }
                            _ => all.push(rows),
                        }
                    }
                    Rows::Variable(rows) => all.extend(spans(rows.iter().copied())),
                }
            }
        }
    }

    /// Returns the rows of a constant for one array full of weights.
    fn rows_from(&self, first: VecRef, bias: Bias) -> Span {
        let rows = self.context.config.array_size as u32 + u32::from(bias != Bias::None);
        Span { object: first.object, start: first.index, end: first.index + rows }
    }

    fn compute(&mut self, product: &mut Product, terms: &[Needed]) {
        let matmul = product.matmul;
        let met: Vec<Met> = terms.iter().map(|needed| self.meet(&matmul.terms[needed.term].inputs)).collect();
        for (b, block) in self.blocks.clone().enumerate() {
            for (needed, met) in terms.iter().zip(&met) {
                let Some(set) = matmul.set(needed.term, block) else { continue };
                if met.inputs.is_empty() && set.bias != Bias::All {
                    continue;
                }
                self.load_weights(set);
                self.multiply(product, b, met);
                if set.bias == Bias::All {
                    self.multiply_zeroes(product, b, &met.padding);
                }
            }
        }
    }

    fn load_weights(&mut self, set: &WeightSet) {
        match &set.rows {
            Rows::Constant(first) => self.load_constant(*first, set.bias),
            Rows::Variable(rows) => {
                let zeroes = self.context.config.array_size - rows.len();
                let rows: Vec<u64> = self.local(rows.iter().copied()).collect();
                self.state.lir.load_rows(rows, zeroes as u64);
            }
        }
    }

    /// Loads a constant's rows unless the array holds them. They are mostly contiguous in local
    /// memory.
    fn load_constant(&mut self, first: VecRef, bias: Bias) {
        let Span { object, start, end } = self.rows_from(first, bias);
        let key = (u64::from(object.0) << 32) | u64::from(start);
        if self.state.lir.has_weights(key) {
            return;
        }
        let placed = self.state.arena.locate(first, self.context.plan);
        let runs = match placed.filter(|placed| end <= placed.span.end) {
            Some(Placed { span, local }) => {
                let local = local + u64::from(start - span.start);
                let all = Progression { local, step: 1, other: 0, count: u64::from(end - start) };
                roll_progressions(&[all], self.context.config)
            }
            None => {
                let vectors = (start..end).map(|index| VecRef { object, index });
                self.state.lir.roll_rows(self.local(vectors))
            }
        };
        self.state.lir.load_weights(key, &runs, bias != Bias::None);
    }

    /// Returns the tile's pixels that have an input, with their addresses, and the pixels in the
    /// padding.
    fn meet(&self, inputs: &[VecRef]) -> Met {
        let mut met = Met::default();
        let mut evenly: Vec<Evenly> = Vec::new();
        for (i, &pixel) in self.grid.pixels.iter().enumerate() {
            let input = inputs[pixel as usize];
            if input.is_zero() {
                met.padding.push(i);
            } else if !evenly.last_mut().is_some_and(|last| last.take(input, i)) {
                evenly.push(Evenly { first: input, step: 0, at: i, count: 1 });
            }
        }
        evenly.into_iter().for_each(|inputs| self.locate(inputs, &mut met.inputs));
        met.runs = roll_progressions(&met.inputs, self.context.config);
        met
    }

    /// Adds the addresses of loaded inputs, one progression for each contiguous piece of local
    /// memory.
    fn locate(&self, inputs: Evenly, progressions: &mut Vec<Progression>) {
        let Evenly { first, step, at, count } = inputs;
        let mut done = 0;
        while done < count {
            let index = first.index + done * step;
            let placed = self.state.arena.locate(VecRef { index, ..first }, self.context.plan);
            let Placed { span, local } = placed.expect("the inputs of a tile have been loaded");
            // The step of a single input does not matter.
            let there = (span.end - index).div_ceil(step.max(1));
            let count = there.min(count - done);
            let local = local + u64::from(index - span.start);
            let other = at as u64 + u64::from(done);
            progressions.push(Progression { local, step: step.into(), other, count: count.into() });
            done += count;
        }
    }

    fn multiply(&mut self, product: &mut Product, block: usize, met: &Met) {
        match product.written.state(block, met.pixels()) {
            Some(accumulate) => {
                let first = self.accumulator(block, 0);
                for &run in &met.runs {
                    self.push_matmul(accumulate, run.shifted(first));
                }
            }
            None => {
                for accumulate in [false, true] {
                    let pairs = met.inputs.iter().flat_map(|all| all.pairs());
                    let pairs = pairs.map(|(local, i)| (local, i as usize));
                    let part = pairs.filter(|&(_, i)| product.written.is(block, i) == accumulate);
                    let pairs: Vec<(u64, u64)> =
                        part.map(|(local, i)| (local, self.accumulator(block, i))).collect();
                    for run in roll(pairs, self.context.config) {
                        self.push_matmul(accumulate, run);
                    }
                }
            }
        }
        met.inputs
            .iter()
            .for_each(|all| product.written.mark_all(block, all.other as usize, all.count as usize));
    }

    fn push_matmul(&mut self, accumulate: bool, run: Run) {
        let Run { local, other: accumulator, size } = run;
        self.state.lir.push(Op::MatMul { accumulate, zeroes: false, local, accumulator, size });
    }

    /// Adds the bias in the array to pixels without an input.
    fn multiply_zeroes(&mut self, product: &mut Product, block: usize, pixels: &[usize]) {
        for accumulate in [false, true] {
            let part = pixels.iter().copied().filter(|&i| product.written.is(block, i) == accumulate);
            self.push_zeroes(accumulate, block, part);
        }
        product.written.mark(block, pixels.iter().copied());
    }

    /// Fills pixels that no weights apply to with zeros.
    fn fill_unwritten(&mut self, product: &Product) {
        for block in 0..self.blocks.len() {
            let unwritten: Vec<usize> =
                (0..self.grid.pixels.len()).filter(|&i| !product.written.is(block, i)).collect();
            if !unwritten.is_empty() {
                self.state.lir.load_zero_bias();
                self.push_zeroes(false, block, unwritten);
            }
        }
    }

    /// Multiplies zeros for pixels of the tile.
    fn push_zeroes(&mut self, accumulate: bool, block: usize, pixels: impl IntoIterator<Item = usize>) {
        // Both operands use the same steps, so that only the accumulators determine the runs.
        let pairs: Vec<(u64, u64)> =
            pixels.into_iter().map(|i| (i as u64, self.accumulator(block, i))).collect();
        for Run { other: accumulator, size, .. } in roll(pairs, self.context.config) {
            let local = Strided::default();
            self.state.lir.push(Op::MatMul { accumulate, zeroes: true, local, accumulator, size });
        }
    }
}

/// State of a matrix product.
struct Product<'a> {
    matmul: &'a MatMul,
    written: WrittenAccumulators,
}

/// A term, and the pieces that it needs in local memory.
struct Needed {
    term: usize,
    pieces: Range<usize>,
}

/// Evenly spaced inputs of adjacent pixels of the tile.
struct Evenly {
    first: VecRef,
    /// Distance between adjacent inputs; 0 for a single one.
    step: u32,
    /// First pixel of the tile.
    at: usize,
    count: u32,
}

impl Evenly {
    /// Appends the input of pixel `i` if it continues the sequence; returns whether it does.
    fn take(&mut self, input: VecRef, i: usize) -> bool {
        if input.object != self.first.object || i != self.at + self.count as usize {
            return false;
        }
        let Some(from_first) = input.index.checked_sub(self.first.index) else { return false };
        if self.count == 1 && from_first > 0 {
            self.step = from_first;
        }
        let is_next = self.step > 0 && from_first == self.step * self.count;
        self.count += u32::from(is_next);
        is_next
    }
}

/// Inputs of a term within the tile.
#[derive(Default)]
struct Met {
    /// Local addresses, and pixels of the tile.
    inputs: Vec<Progression>,
    /// The inputs as runs, with pixels instead of accumulators.
    runs: Vec<Run>,
    /// Pixels of the tile without an input.
    padding: Vec<usize>,
}

impl Met {
    /// Returns the pixels of the tile that have an input.
    fn pixels(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().flat_map(|all| all.other as usize..(all.other + all.count) as usize)
    }
}

/// Accumulators of the tile that have been written.
struct WrittenAccumulators {
    pixels: usize,
    flags: Vec<bool>,
    counts: Vec<usize>,
}

impl WrittenAccumulators {
    fn new(blocks: usize, pixels: usize, all: bool) -> Self {
        let count = if all { pixels } else { 0 };
        Self { pixels, flags: vec![all; blocks * pixels], counts: vec![count; blocks] }
    }

    fn is(&self, block: usize, pixel: usize) -> bool {
        self.flags[block * self.pixels + pixel]
    }

    /// Whether all of `pixels` are written (`true`) or unwritten (`false`); `None` if they differ.
    fn state(&self, block: usize, mut pixels: impl Iterator<Item = usize>) -> Option<bool> {
        match self.counts[block] {
            0 => Some(false),
            count if count == self.pixels => Some(true),
            _ => {
                let first = pixels.next().is_some_and(|i| self.is(block, i));
                pixels.all(|i| self.is(block, i) == first).then_some(first)
            }
        }
    }

    /// Marks `count` pixels as written, starting at `first`.
    fn mark_all(&mut self, block: usize, first: usize, count: usize) {
        if self.counts[block] == self.pixels {
            return;
        }
        let flags = &mut self.flags[block * self.pixels..][first..first + count];
        self.counts[block] += flags.iter().filter(|is_written| !**is_written).count();
        flags.fill(true);
    }

    fn mark(&mut self, block: usize, pixels: impl Iterator<Item = usize>) {
        if self.counts[block] == self.pixels {
            return;
        }
        for i in pixels {
            let flag = &mut self.flags[block * self.pixels + i];
            self.counts[block] += usize::from(!std::mem::replace(flag, true));
        }
    }
}
