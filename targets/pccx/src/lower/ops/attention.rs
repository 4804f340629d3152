//! Attention: scores, softmax and context row by row, with keys and values as 4-bit weights
//! (specification 5.4, 5.5).

mod find;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use npukit_graph::ValueId;
use npukit_numeric::Tensor;

pub use find::{Context, Unfit, find, number};

use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, CvoFunc, MacFlags};
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::macros::Macros;
use crate::lower::memory::Region;
use crate::lower::steps::Layers;
use crate::lower::work::Attention;
use crate::machine::weights::WeightImage;
use crate::program::host::{HostStep, Tokens};

/// Maximum number of probabilities in L2 at a time: a quarter of the published L2.
const MAX_CHANCES: usize = 114_688 * WORD_LANES / 4;

/// Weights of keys and values that a row sees.
#[derive(Clone, Copy)]
struct Sight {
    keys: u32,
    values: u32,
    /// Slot of the values' scales, and their region in L2 if the machine multiplies by them.
    scales: ValueId,
}

/// Indices of the matrices of keys and values, and the tokens in them.
type Seen = ([usize; 2], Rc<Tokens>);

impl Lowering<'_> {
    /// Computes scores, softmax and context, in groups of rows that fit into L2.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn attend(
        &mut self,
        attention: &Attention,
        layers: &Layers,
        result: ValueId,
    ) -> Result<(), LowerError> {
        let rows = attention.seen.len();
        let counts: Vec<usize> = attention.seen.iter().map(|tokens| count(tokens)).collect();
        let most = counts.iter().max().expect("an attention has rows").next_multiple_of(WORD_LANES);
        let sights = self.sights(attention)?;
        let queries = self.fetch(attention.queries)?;
        let [features, wide] = attention.features;
        let (scores, region) = (self.allocate(most)?, self.allocate(rows * wide)?);
        let group = (MAX_CHANCES / most.max(1)).clamp(1, rows);
        let chances = self.allocate(group * most)?;
        let bias = self.bias(attention, most)?;
        let rows: Vec<(usize, (Sight, usize))> = sights.into_iter().zip(counts).enumerate().collect();
        for (chunk, rows) in rows.chunks(group).enumerate() {
            let added = bias.map(|bias| self.part_of(bias, chunk * group * most, rows.len() * most));
            let added = added.transpose()?;
            for (place, &(row, (sight, count))) in rows.iter().enumerate() {
                // Scores are initialized with their bias.
                if let Some(added) = added {
                    self.code.copy(added.at(place * most), scores.base, count);
                }
                let flags = MacFlags { findemax: true, accm: added.is_some(), w_scale: true };
                let query = queries.at(row * features);
                self.multiply(&[vec![sight.keys]], [query, scores.base], [1, features, count], flags)?;
                match attention.cap {
                    None => self.softmax(scores, chances.at(place * most), count)?,
                    Some(cap) => self.capped_softmax(scores, cap, chances.at(place * most), count)?,
                }
            }
            added.into_iter().for_each(|region| self.release(region));
            let seen: Vec<(Sight, usize)> = rows.iter().map(|(_, seen)| *seen).collect();
            self.weigh(layers.extensions, &seen, chances, most)?;
            for (place, &(row, (sight, count))) in rows.iter().enumerate() {
                let (from, to) = (chances.at(place * most), region.at(row * wide));
                self.multiply(&[vec![sight.values]], [from, to], [1, count, wide], MacFlags::default())?;
            }
        }
        self.release(scores);
        self.release(chances);
        self.place(result, region);
        Ok(())
    }

    /// Computes the softmax of the last product's results, with their maximum subtracted.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn softmax(&mut self, scores: Region, dst: u32, count: usize) -> Result<(), LowerError> {
        let shifted = CvoFlags { sub_emax: true, ..CvoFlags::PLAIN };
        self.code.cvo(CvoFunc::Exp, scores.base, scores.base, count, shifted);
        self.shares(scores, dst, count)
    }

    /// Computes the softmax of `cap * tanh(scores)`. The cap limits the values, so no maximum is
    /// subtracted.
    fn capped_softmax(&mut self, scores: Region, cap: f32, dst: u32, count: usize) -> Result<(), LowerError> {
        let scalar = self.scalar(cap)?;
        self.code.cvo(CvoFunc::Tanh, scores.base, scores.base, count, CvoFlags::PLAIN);
        self.scale([scores.base, scalar, scores.base], true, count, CvoFlags::PLAIN)?;
        self.code.cvo(CvoFunc::Exp, scores.base, scores.base, count, CvoFlags::PLAIN);
        self.shares(scores, dst, count)
    }

    /// Divides exponentials by their sum.
    fn shares(&mut self, scores: Region, dst: u32, count: usize) -> Result<(), LowerError> {
        self.code.cvo(CvoFunc::ReduceSum, scores.base, scores.head(), count, CvoFlags::PLAIN);
        let share = CvoFlags { recip_scale: true, ..CvoFlags::PLAIN };
        self.scale([scores.base, scores.head(), dst], true, count, share)
    }

    /// Returns a constant with the bias of the scores that each row sees, `most` per row; `None` if
    /// the attention has no bias.
    fn bias(&mut self, attention: &Attention, most: usize) -> Result<Option<ValueId>, LowerError> {
        if attention.bias.is_empty() {
            return Ok(None);
        }
        let tokens = attention.bias.len() / attention.seen.len();
        let row = |(seen, bias): (&Rc<Tokens>, &[f32])| {
            let seen =
                seen.iter().flat_map(|run| bias.iter().take(run.end as usize).skip(run.start as usize));
            seen.copied().chain(std::iter::repeat(0.0)).take(most).collect::<Vec<_>>()
        };
        let values: Vec<f32> =
            attention.seen.iter().zip(attention.bias.chunks_exact(tokens)).flat_map(row).collect();
        let name = format!("{} added to scores", self.graph.values.len());
        let tensor = Tensor::from_f32(vec![attention.seen.len(), most], values);
        Ok(Some(self.graph.add_constant(name, tensor.map_err(|_| LowerError::Fault("a bias"))?)))
    }

    /// Sends part of a slot, starting at `start`, to L2; the caller releases the region.
    fn part_of(&mut self, slot: ValueId, start: usize, values: usize) -> Result<Region, LowerError> {
        let region = self.allocate(values)?;
        self.code.send_part(slot, start, region);
        Ok(region)
    }

    /// Makes weights of keys and values at the host; rows that see the same tokens share them.
    fn sights(&mut self, attention: &Attention) -> Result<Vec<Sight>, LowerError> {
        self.bring_to_host(attention.keys);
        self.bring_to_host(attention.values);
        let mut known: HashMap<Seen, Sight> = HashMap::new();
        let mut sights = Vec::new();
        for (row, tokens) in attention.seen.iter().enumerate() {
            let matrices = attention.rows.map(|rows| row / rows.max(1));
            let seen = (matrices, Rc::clone(tokens));
            let sight = match known.get(&seen) {
                Some(&sight) => sight,
                None => self.sight(attention, matrices, tokens)?,
            };
            known.insert(seen, sight);
            sights.push(sight);
        }
        Ok(sights)
    }

    fn sight(
        &mut self,
        attention: &Attention,
        matrices: [usize; 2],
        tokens: &Tokens,
    ) -> Result<Sight, LowerError> {
        let ([features, wide], count) = (attention.features, count(tokens));
        let keys = self.blank([count, features], Some(vec![0.0; count]))?;
        let values = self.blank([wide, count], None)?;
        let scales = self.slot("scales of values", vec![count]);
        let tokens = tokens.clone();
        let [key_matrix, value_matrix] = matrices.map(|matrix| matrix as u32);
        let factor = attention.factor;
        let step = HostStep::Keys {
            slot: attention.keys,
            matrix: key_matrix,
            image: keys,
            factor,
            tokens: tokens.clone(),
        };
        self.code.step(step);
        let (slot, matrix) = (attention.values, value_matrix);
        self.code.step(HostStep::Values { slot, matrix, image: values, scales, tokens });
        self.filled(scales);
        Ok(Sight { keys, values, scales })
    }

    /// Adds weights of zeros, which the host replaces. Images of equal size and kind share memory.
    ///
    /// # Errors
    /// A size that weights cannot have.
    pub(super) fn blank(&mut self, [n, k]: [usize; 2], scales: Option<Vec<f32>>) -> Result<u32, LowerError> {
        let key = (n, k, scales.is_some());
        let image = match self.blanks.get(&key) {
            Some(image) => Arc::clone(image),
            None => {
                let image = WeightImage::new(n, k, &vec![0; n * k], scales);
                Arc::new(image.map_err(|_| LowerError::Fault("weights of keys"))?)
            }
        };
        self.blanks.insert(key, Arc::clone(&image));
        Ok(self.code.image(image))
    }

    /// Multiplies each row's probabilities by the scales of their values.
    fn weigh(
        &mut self,
        extensions: bool,
        rows: &[(Sight, usize)],
        chances: Region,
        most: usize,
    ) -> Result<(), LowerError> {
        if extensions {
            for (row, &(sight, count)) in rows.iter().enumerate() {
                let scales = self.fetch(sight.scales)?;
                self.code.cvo(CvoFunc::Mul, scales.base, chances.at(row * most), count, CvoFlags::PLAIN);
            }
            rows.iter().for_each(|(sight, _)| self.forget(sight.scales));
            return Ok(());
        }
        let slot = self.slot("chances", vec![chances.values]);
        let place = self.code.store(chances);
        self.code.receive(slot, place);
        for (row, (sight, _)) in rows.iter().enumerate() {
            let start = (row * most) as u32;
            self.code.step(HostStep::Weigh { slot, start, scales: sight.scales });
        }
        self.code.send(slot, chances);
        Ok(())
    }
}

fn count(tokens: &Tokens) -> usize {
    tokens.iter().map(|run| run.len()).sum()
}
