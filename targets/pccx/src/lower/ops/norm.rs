//! Norms, row by row (specification 5.4).

use npukit_graph::ValueId;

use super::LowerError;
use super::code::word;
use super::machine::Lowering;
use super::memory::Region;
use super::plan::Norm;
use crate::config::WORD_LANES;
use crate::op::{CvoFlags, CvoFunc};

/// Words of a norm's numbers: 1/N, a sum, 1, epsilon, and the root of their mean.
struct Numbers {
    /// 1 / N; sums go into the next word.
    share: u32,
    /// 1; epsilon is in the next word.
    one: u32,
    root: u32,
}

impl Lowering<'_> {
    pub(super) fn norm(&mut self, norm: &Norm, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let (source, row) = (self.fetch(x)?, norm.row);
        let numbers = self.numbers(norm)?;
        let gain = self.load(norm.gain)?;
        let bias = norm.bias.map(|bias| self.load(bias)).transpose()?;
        let squares = self.allocate(row)?;
        let region = match norm.centred {
            true => self.turn(x)?,
            false => self.like(x)?,
        };
        for start in (0..source.values).step_by(row.max(1)) {
            let (from, to) = (source.at(start), region.at(start));
            // What the square is taken of, and whether the word before it is free.
            let (from, owns) = match norm.centred {
                true => {
                    self.take_mean_off(&numbers, to, row)?;
                    (to, to == region.base)
                }
                false => (from, from == source.base),
            };
            self.code.copy(from, squares.base, row);
            self.code.cvo(CvoFunc::Mul, from, squares.base, row, CvoFlags::PLAIN);
            self.code.cvo(CvoFunc::ReduceSum, squares.base, numbers.share + 1, row, CvoFlags::PLAIN);
            self.code.cvo(CvoFunc::Scale, numbers.share, numbers.root, 1, CvoFlags::PLAIN);
            self.code.cvo(CvoFunc::Scale, numbers.one, numbers.root, 1, CvoFlags::ADD);
            let root = if owns { from - 1 } else { numbers.root };
            self.code.cvo(CvoFunc::Sqrt, numbers.root, root, 1, CvoFlags::PLAIN);
            self.scale([from, root, to], owns, row, CvoFlags { recip_scale: true, ..CvoFlags::PLAIN })?;
            self.code.cvo(CvoFunc::Mul, gain.base, to, row, CvoFlags::PLAIN);
            if let Some(bias) = bias {
                let one = self.scalar(1.0)?;
                self.scale([bias.base, one, to], true, row, CvoFlags::ADD)?;
            }
        }
        [Some(squares), Some(gain), bias].into_iter().flatten().for_each(|region| self.release(region));
        self.place(result, region);
        Ok(())
    }

    /// A gain or bias, for as long as the caller does not release it.
    fn load(&mut self, id: ValueId) -> Result<Region, LowerError> {
        if self.graph.constant(id).is_none() {
            let (source, region) = (self.fetch(id)?, self.allocate(self.values(id))?);
            self.code.copy(source.base, region.base, source.values);
            return Ok(region);
        }
        let region = self.allocate(self.values(id))?;
        self.send(id, region);
        Ok(region)
    }

    fn numbers(&mut self, norm: &Norm) -> Result<Numbers, LowerError> {
        let name = format!("numbers of a norm over {} with {}", norm.row, norm.epsilon);
        let share = 1.0 / norm.row as f32;
        let values = || [share, 0.0, 1.0, norm.epsilon, 0.0].map(word).concat();
        let base = self.keep(&name, values)?.base;
        Ok(Numbers { share: base, one: base + 2, root: base + 4 })
    }

    /// Takes its mean off a row, by adding ones times its negative.
    fn take_mean_off(&mut self, numbers: &Numbers, row: u32, length: usize) -> Result<(), LowerError> {
        let ones = self.keep(&format!("{length} ones"), || vec![1.0; length])?;
        let minus = self.scalar(-1.0)?;
        self.code.cvo(CvoFunc::ReduceSum, row, numbers.share + 1, length, CvoFlags::PLAIN);
        self.code.cvo(CvoFunc::Scale, numbers.share, numbers.root, 1, CvoFlags::PLAIN);
        let mean = self.allocate(WORD_LANES)?;
        self.code.copy(numbers.root, mean.base, 1);
        self.scale([mean.base, minus, mean.base], true, 1, CvoFlags::PLAIN)?;
        self.scale([ones.base, mean.base, row], true, length, CvoFlags::ADD)?;
        self.release(mean);
        Ok(())
    }
}
