//! Products in passes: for 8-bit weights, and for 16-bit activations. A further pass multiplies the
//! part of the activations that exceeds the engines' 8 bits.

use std::sync::Arc;

use npukit_numeric::BLOCK;

use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, MacFlags};
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::macros::Macros;
use crate::lower::memory::Region;
use crate::machine::weights::WeightImage;

impl Lowering<'_> {
    /// Emits products of rows, starting at word `source`, with the weights of the images of each
    /// pass. Small parts come first, so that they are not lost in rounding: the residual of 16-bit
    /// activations, and the residual of weights, which is the first pass.
    ///
    /// # Errors
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

    /// Emits the passes for one source. Later results are added to earlier results. Each pass
    /// overwrites the maximum, so the last pass finds the maximum of the total.
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

    /// Returns the residual of `m` rows of `k` values beyond 8 bits. A product of each block with
    /// ones gives the part that 8 bits can hold.
    fn rest(&mut self, source: u32, [m, k]: [usize; 2]) -> Result<Region, LowerError> {
        let (rounded, rest) = (self.allocate(m * k)?, self.allocate(m * k)?);
        // If a row is not whole blocks, the blocks begin again with each row.
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

    /// Returns weights that reproduce each value as the engine quantizes it.
    ///
    /// # Errors
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
