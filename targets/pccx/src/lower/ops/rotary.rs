//! Rotation of pairs of features: `x cos + R x sin`, with `R` a matrix of -1, 0 and 1 (specification 5.4).

use std::sync::Arc;

use npukit_graph::ValueId;

use super::LowerError;
use super::machine::Lowering;
use super::memory::Region;
use super::plan::Rotary;
use crate::op::{CvoFlags, CvoFunc, MacFlags};
use crate::weights::WeightImage;

impl Lowering<'_> {
    pub(super) fn rotate(&mut self, rotary: &Rotary, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let head = rotary.head;
        let source = self.fetch(x)?;
        let [cosines, sines] = [rotary.cosines, rotary.sines].map(|table| self.table(table));
        let (cosines, sines) = (cosines?, sines?);
        let turned = self.allocate(source.values)?;
        let image = self.turning(rotary)?;
        let heads = rotary.positions.len();
        self.multiply(&[image], [source.base, turned.base], [heads, head, head], MacFlags::default())?;
        let region = self.turn(x)?;
        for (index, position) in rotary.positions.iter().enumerate() {
            let (start, at) = (index * head, position * head);
            self.code.cvo(CvoFunc::Mul, cosines.at(at), region.at(start), head, CvoFlags::PLAIN);
            self.code.cvo(CvoFunc::Mul, sines.at(at), turned.at(start), head, CvoFlags::PLAIN);
        }
        let one = self.scalar(1.0)?;
        self.scale([turned.base, one, region.base], true, source.values, CvoFlags::ADD)?;
        self.release(turned);
        self.place(result, region);
        Ok(())
    }

    /// A table that stays in L2 when it is the same in every run.
    fn table(&mut self, id: ValueId) -> Result<Region, LowerError> {
        if self.graph.constant(id).is_none() {
            return self.fetch(id);
        }
        let name = self.graph.value(id).name.clone();
        let values = self.graph.constant(id).and_then(|tensor| tensor.as_f32()).map(<[f32]>::to_vec);
        self.keep(&name, || values.unwrap_or_default())
    }

    /// The weights of `R`: of a pair `(a, b)`, `a` becomes `-b` and `b` becomes `a`; what stays becomes 0.
    fn turning(&mut self, rotary: &Rotary) -> Result<u32, LowerError> {
        let (head, size, half) = (rotary.head, rotary.op.size, rotary.op.size / 2);
        let key = format!("rotation of {size} of {head}, {}", rotary.op.interleaved);
        if let Some(&[image]) = self.images.get(&key).map(Vec::as_slice) {
            return Ok(image);
        }
        let mut weights = vec![0i8; head * head];
        for pair in 0..half {
            let [a, b] = if rotary.op.interleaved { [2 * pair, 2 * pair + 1] } else { [pair, pair + half] };
            weights[a * head + b] = -1;
            weights[b * head + a] = 1;
        }
        let image = WeightImage::new(head, head, &weights, None);
        let image = image.map_err(|error| LowerError::Weights { name: key.clone(), error })?;
        let image = self.code.image(Arc::new(image));
        self.images.insert(key, vec![image]);
        Ok(image)
    }
}
