//! Products in passes: of weights of 8 bits, and of activations of 16, of which what the engines' bits leave is multiplied
//! as well.

use std::sync::Arc;

use npukit_numeric::BLOCK;

use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, MacFlags};
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::memory::Region;
use crate::machine::weights::WeightImage;

impl Lowering<'_> {
    /// Rows from word `source` on, times the weights of the images of each pass. With activations of 16 bits, what 8 bits
    /// leave of them comes first, as the remainder of weights is the first pass: large parts are added to small ones,
    /// and rounded last.
    ///
    /// # Errors
    ///
    /// Too little room in L2.
    pub(in crate::lower::ops) fn multiply(
        &mut self,
        passes: &[Vec<u32>],
        [source, dst]: [u32; 2],
        size: [usize; 3],
        mut flags: MacFlags,
    ) -> Result<(), LowerError> {
        let [m, k, _] = size;
        if self.two_byte_activations && (m == 1 || k.is_multiple_of(WORD_LANES)) {
            let rest = self.rest(source, [m, k])?;
            self.multiply_each(passes, [rest.base, dst], size, &mut flags);
            self.release(rest);
        }
        self.multiply_each(passes, [source, dst], size, &mut flags);
        Ok(())
    }

    /// The passes of one source; whatever follows is added to them. The maximum is that of the whole: each pass overwrites
    /// what the one before has found.
    fn multiply_each(
        &mut self,
        passes: &[Vec<u32>],
        places: [u32; 2],
        size: [usize; 3],
        flags: &mut MacFlags,
    ) {
        for images in passes {
            self.multiply_once(images, places, size, *flags);
            flags.accm = true;
        }
    }

    /// What 8 bits leave of `m` rows of `k` values: a product of each block with ones gives what they keep.
    fn rest(&mut self, source: u32, [m, k]: [usize; 2]) -> Result<Region, LowerError> {
        let (rounded, rest) = (self.allocate(m * k)?, self.allocate(m * k)?);
        // Blocks begin anew with each row.
        let (rows, length) = if k.is_multiple_of(BLOCK) { (1, m * k) } else { (m, k) };
        for row in 0..rows {
            let blocks = length / BLOCK;
            for (start, blocks, width) in [(0, blocks, BLOCK), (blocks * BLOCK, 1, length % BLOCK)] {
                if blocks * width > 0 {
                    let (ones, start) = (self.ones(width)?, row * length + start);
                    let places = [source + (start / WORD_LANES) as u32, rounded.at(start)];
                    self.multiply_once(&[ones], places, [blocks, width, width], MacFlags::default());
                }
            }
        }
        self.code.copy(source, rest.base, m * k);
        let minus = self.scalar(-1.0)?;
        self.scale([rounded.base, minus, rest.base], true, m * k, CvoFlags::ADD)?;
        self.release(rounded);
        Ok(rest)
    }

    /// Weights that give every value as it is taken in.
    ///
    /// # Errors
    ///
    /// More values than weights have rows.
    pub(in crate::lower::ops) fn ones(&mut self, width: usize) -> Result<u32, LowerError> {
        let key = format!("ones for {width} values");
        if let Some(&[image]) = self.images.get(&key).map(Vec::as_slice) {
            return Ok(image);
        }
        let weights: Vec<i8> = (0..width * width).map(|i| i8::from(i % (width + 1) == 0)).collect();
        let image = WeightImage::new(width, width, &weights, None);
        let image = image.map_err(|error| LowerError::Weights { name: key.clone(), error })?;
        let image = self.code.image(Arc::new(image));
        self.images.insert(key, vec![image]);
        Ok(image)
    }
}
