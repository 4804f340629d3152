//! [`Macros`]: sequences of instructions from which operations are composed. Source: specification
//! 5.4.

use super::LowerError;
use super::code::{Code, word};
use super::memory::Region;
use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, CvoFunc};

/// Words of a norm's constants: 1/N, a sum, 1, epsilon, and the root of the mean.
pub struct Numbers {
    /// Word of 1 / N; sums are stored in the next word.
    pub share: u32,
    /// Word of 1; epsilon is in the next word.
    pub one: u32,
    /// Word of the root.
    pub root: u32,
}

/// Emission of code with room in L2.
pub trait Macros {
    /// Returns the code so far.
    fn code(&mut self) -> &mut Code;

    /// Allocates room in L2.
    ///
    /// # Errors
    /// Too little room in L2.
    fn allocate(&mut self, values: usize) -> Result<Region, LowerError>;

    /// Frees a region.
    fn release(&mut self, region: Region);

    /// Returns the region of a constant, and loads it on first use. It stays in L2 at least while
    /// the current operation is emitted.
    ///
    /// # Errors
    /// Too little room in L2.
    fn keep(&mut self, name: &str, values: impl FnOnce() -> Vec<f32>) -> Result<Region, LowerError>;

    /// Returns the word of a scalar that stays in L2.
    ///
    /// # Errors
    /// Too little room in L2.
    fn scalar(&mut self, value: f32) -> Result<u32, LowerError> {
        Ok(self.keep(&format!("the number {value}"), || word(value))?.base)
    }

    /// Stores `factor * vector` at `dst`, or adds it. The scalar is written to the word before the
    /// vector, which `owns` marks as free. Otherwise, and before each further part, that word is
    /// restored afterwards.
    ///
    /// # Errors
    /// Too little room in L2.
    fn scale(
        &mut self,
        [vector, scalar, dst]: [u32; 3],
        owns: bool,
        length: usize,
        flags: CvoFlags,
    ) -> Result<(), LowerError> {
        let one = WORD_LANES;
        for (words, part) in Code::parts(length).rev() {
            let (source, head) = (vector + words, vector + words - 1);
            let saved = if words == 0 && owns { None } else { Some(self.allocate(one)?) };
            if let Some(saved) = saved {
                self.code().copy(head, saved.base, one);
            }
            if scalar != head {
                self.code().copy(scalar, head, one);
            }
            self.code().cvo(CvoFunc::Scale, source - 1, dst + words, part, flags);
            if let Some(saved) = saved {
                self.code().copy(saved.base, head, one);
                self.release(saved);
            }
        }
        Ok(())
    }

    /// Emits `1 / (1 + e^(-alpha x))`.
    ///
    /// # Errors
    /// Too little room in L2.
    fn sigmoid_of(&mut self, src: u32, dst: u32, values: usize, alpha: f32) -> Result<(), LowerError> {
        let (minus, one) = (self.scalar(-alpha)?, self.scalar(1.0)?);
        let ones = self.keep(&format!("{values} ones"), || vec![1.0; values])?;
        self.scale([src, minus, dst], true, values, CvoFlags::PLAIN)?;
        self.code().cvo(CvoFunc::Exp, dst, dst, values, CvoFlags::PLAIN);
        self.scale([ones.base, one, dst], true, values, CvoFlags::ADD)?;
        self.code().cvo(CvoFunc::Recip, dst, dst, values, CvoFlags::PLAIN);
        Ok(())
    }

    /// Returns the constants of a norm over `row` values.
    ///
    /// # Errors
    /// Too little room in L2.
    fn numbers(&mut self, row: usize, epsilon: f32) -> Result<Numbers, LowerError> {
        let name = format!("numbers of a norm over {row} with {epsilon}");
        let share = 1.0 / row as f32;
        let values = || [share, 0.0, 1.0, epsilon, 0.0].map(word).concat();
        let base = self.keep(&name, values)?.base;
        Ok(Numbers { share: base, one: base + 2, root: base + 4 })
    }

    /// Stores the root of a row's mean square, computed with MUL, in a word.
    fn root(&mut self, numbers: &Numbers, squares: Region, from: u32, row: usize, root: u32) {
        self.code().copy(from, squares.base, row);
        self.code().cvo(CvoFunc::Mul, from, squares.base, row, CvoFlags::PLAIN);
        self.root_of(numbers, squares.base, row, root);
    }

    /// Stores the root of the mean of a row of squares in a word.
    fn root_of(&mut self, numbers: &Numbers, squares: u32, row: usize, root: u32) {
        self.code().cvo(CvoFunc::ReduceSum, squares, numbers.share + 1, row, CvoFlags::PLAIN);
        self.code().cvo(CvoFunc::Scale, numbers.share, numbers.root, 1, CvoFlags::PLAIN);
        self.code().cvo(CvoFunc::Scale, numbers.one, numbers.root, 1, CvoFlags::ADD);
        self.code().cvo(CvoFunc::Sqrt, numbers.root, root, 1, CvoFlags::PLAIN);
    }

    /// Subtracts the mean from a row: adds ones times its negative.
    ///
    /// # Errors
    /// Too little room in L2.
    fn take_mean_off(&mut self, numbers: &Numbers, row: u32, length: usize) -> Result<(), LowerError> {
        let ones = self.keep(&format!("{length} ones"), || vec![1.0; length])?;
        let minus = self.scalar(-1.0)?;
        self.code().cvo(CvoFunc::ReduceSum, row, numbers.share + 1, length, CvoFlags::PLAIN);
        self.code().cvo(CvoFunc::Scale, numbers.share, numbers.root, 1, CvoFlags::PLAIN);
        let mean = self.allocate(WORD_LANES)?;
        self.code().copy(numbers.root, mean.base, 1);
        self.scale([mean.base, minus, mean.base], true, 1, CvoFlags::PLAIN)?;
        self.scale([ones.base, mean.base, row], true, length, CvoFlags::ADD)?;
        self.release(mean);
        Ok(())
    }
}
