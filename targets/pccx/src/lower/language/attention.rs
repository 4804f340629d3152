//! Attention of new tokens to all tokens so far, with keys and values from the host's caches.
//! Source: specification 5.4 and 5.5.

use std::sync::Arc;

use npukit_graph::ValueId;
use npukit_graph::op::{Unary, UnaryKind};

use super::emit::Emitter;
use super::layout::HeadLayout;
use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, CvoFunc, MacFlags};
use crate::lower::LowerError;
use crate::lower::code::Place;
use crate::lower::extent::{CVO_LENGTH, Extent};
use crate::lower::macros::Macros;
use crate::lower::memory::Region;
use crate::machine::weights::WeightImage;
use crate::program::host::{CacheForm, HostStep, Role};

/// Part of L2 that probabilities may use, as a divisor.
const SHARE: usize = 4;

/// Weights of the keys and values that a row sees, for one head.
struct Sight {
    /// Images of each part of the codes, the high part first.
    keys: Vec<u32>,
    values: Vec<u32>,
    /// Scales of the values at the host, and their place in a window.
    scales: ValueId,
    place: Place,
}

/// Sizes of an attention.
struct Sizes {
    layer: usize,
    /// Places of a key and of a value in L2.
    key: usize,
    value: usize,
    /// Largest number of tokens that a row sees, in whole words.
    most: usize,
}

impl Emitter<'_> {
    /// Emits attention; returns `[tokens, heads * value]` results.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn attend(
        &mut self,
        layer: usize,
        [queries, keys, values]: [Region; 3],
        key: usize,
    ) -> Result<Region, LowerError> {
        let of = self.of();
        let value = HeadLayout::plain(of.head).width();
        let most = self.extent(layer, self.tokens - 1).most().next_multiple_of(WORD_LANES);
        let sizes = Sizes { layer, key, value, most };
        let sights = self.sights(&sizes, keys, values)?;
        let context = self.allocate(self.tokens * of.heads * value)?;
        let scores = [self.allocate(most)?, self.allocate(most)?];
        // Rows and heads whose probabilities are in L2 at a time.
        let room = self.l2_values() / SHARE / most;
        let all: Vec<[usize; 2]> =
            (0..self.tokens).flat_map(|row| (0..of.heads).map(move |head| [row, head])).collect();
        let group = room.clamp(1, all.len());
        let shares = self.allocate(group * most)?;
        // The host and functions of all values also read those after the last token.
        let read_whole = match of.attention_cap {
            Some(_) => vec![shares, scores[0], scores[1]],
            None if !self.has_mul() => vec![shares],
            None => Vec::new(),
        };
        for region in read_whole {
            let zeros = self.constant("zeros", vec![region.values], vec![0.0; region.values])?;
            self.code.send_first(zeros, region);
        }
        for heads in all.chunks(group) {
            for (index, &[row, head]) in heads.iter().enumerate() {
                let query = queries.at((row * of.heads + head) * key);
                let sight = &sights[self.seen_by([row, head])];
                self.code.select(self.extent(layer, row), [key, value]);
                let to = Region { base: shares.at(index * most), values: most };
                self.scores(sight, query, scores[index % 2], key);
                match of.attention_cap {
                    None => self.softmax(scores[index % 2], to, true)?,
                    Some(_) => self.code.copy_tokens(scores[index % 2].base, to.base),
                }
            }
            if let Some(cap) = of.attention_cap {
                self.capped(&sizes, heads, shares, cap)?;
            }
            self.weigh(&sizes, &sights, heads, shares)?;
            for (index, &[row, head]) in heads.iter().enumerate() {
                let sight = &sights[self.seen_by([row, head])];
                self.code.select(self.extent(layer, row), [key, value]);
                let to = context.at((row * of.heads + head) * value);
                for (part, &image) in sight.values.iter().rev().enumerate() {
                    let flags = MacFlags { accm: part > 0, w_scale: true, ..MacFlags::default() };
                    self.code.product_with_values(image, shares.at(index * most), to, flags);
                }
            }
        }
        scores.into_iter().chain([shares]).for_each(|region| self.release(region));
        self.count(2 * all.len() * most * value);
        Ok(context)
    }

    /// Returns the tokens that a row of a layer sees.
    fn extent(&self, layer: usize, row: usize) -> Extent {
        Extent { row, window: self.of().layers[layer].window, room: self.room }
    }

    /// Returns the index of the weights that a row and query head see.
    fn seen_by(&self, [row, head]: [usize; 2]) -> usize {
        row * self.of().kv_heads + head / self.of().group()
    }

    /// Moves keys and values to the caches of the host, row by row, which makes the weights that
    /// each row sees.
    fn sights(&mut self, sizes: &Sizes, keys: Region, values: Region) -> Result<Vec<Sight>, LowerError> {
        let (of, bits) = (self.of(), self.language.options().kv_bits);
        let window = of.layers[sizes.layer].window.map(|window| window as u32);
        let roles = [(Role::Keys, keys, sizes.key), (Role::Values, values, sizes.value)];
        let slots = roles.map(|(role, region, width)| {
            let slot = self.received(region, vec![self.tokens, of.kv_heads * width]);
            (role, slot)
        });
        let vectors = of.kv_heads as u32;
        let cache = |role: Role, head: usize| ((2 * sizes.layer + role as usize) * of.kv_heads + head) as u32;
        let parts = CacheForm { role: Role::Keys, bits, window }.parts();
        let mut sights = Vec::new();
        for row in 0..self.tokens {
            for (role, slot) in slots {
                let form = CacheForm { role, bits, window };
                let step = HostStep::Append { slot, row: row as u32, cache: cache(role, 0), vectors, form };
                self.code.step(step);
            }
            for head in 0..of.kv_heads {
                let mut made = |role, factor| -> Result<Vec<u32>, LowerError> {
                    (0..parts).map(|part| self.cached(sizes, cache(role, head), role, part, factor)).collect()
                };
                let keys = made(Role::Keys, of.attention_scale)?;
                let values = made(Role::Values, 1.0)?;
                let scales = self.slot("scales of values", vec![sizes.most]);
                self.code.step(HostStep::CachedScales { cache: cache(Role::Values, head), slot: scales });
                let place = self.code.reserve_to_l2(sizes.most);
                if self.has_mul() {
                    self.code.write(scales, place);
                }
                sights.push(Sight { keys, values, scales, place });
            }
        }
        Ok(sights)
    }

    /// Adds an image that the host makes of a cache.
    fn cached(
        &mut self,
        sizes: &Sizes,
        cache: u32,
        role: Role,
        part: usize,
        factor: f32,
    ) -> Result<u32, LowerError> {
        let most = self.extent(sizes.layer, self.tokens - 1).most();
        let [n, k] = match role {
            Role::Keys => [most, sizes.key],
            Role::Values => [sizes.value, most],
        };
        let image = self.blank([n, k])?;
        let image = self.code.image(image);
        self.code.step(HostStep::Cached { cache, part: part as u32, image, factor });
        Ok(image)
    }

    /// Emits the scores of a query; the maximum is that of all parts.
    fn scores(&mut self, sight: &Sight, query: u32, scores: Region, key: usize) {
        for (part, &image) in sight.keys.iter().rev().enumerate() {
            let flags = MacFlags { findemax: true, accm: part > 0, w_scale: true };
            self.code.product_with_keys(image, query, scores.base, key, flags);
        }
    }

    /// Emits the softmax of the selected tokens' scores. The word before the scores is overwritten.
    fn softmax(&mut self, scores: Region, to: Region, less_maximum: bool) -> Result<(), LowerError> {
        let flags = CvoFlags { sub_emax: less_maximum, ..CvoFlags::PLAIN };
        self.code.cvo_of_tokens(CvoFunc::Exp, scores.base, scores.base, flags);
        self.code.cvo_of_tokens(CvoFunc::ReduceSum, scores.base, scores.head(), CvoFlags::PLAIN);
        let divided = CvoFlags { recip_scale: true, ..CvoFlags::PLAIN };
        for start in (0..scores.values).step_by(CVO_LENGTH).rev() {
            let head = scores.at(start) - 1;
            if start == 0 {
                self.code.scale_of_tokens(head, to.base, 0, divided);
                continue;
            }
            let saved = self.allocate(WORD_LANES)?;
            self.code.copy(head, saved.base, WORD_LANES);
            self.code.copy(scores.head(), head, WORD_LANES);
            self.code.scale_of_tokens(head, to.at(start), start, divided);
            self.code.copy(saved.base, head, WORD_LANES);
            self.release(saved);
        }
        Ok(())
    }

    /// Computes the softmax of `cap * tanh(scores / cap)`. The cap limits the values, so no maximum
    /// is subtracted.
    fn capped(
        &mut self,
        sizes: &Sizes,
        heads: &[[usize; 2]],
        shares: Region,
        cap: f32,
    ) -> Result<(), LowerError> {
        let (factor, bound) = (self.scalar(1.0 / cap)?, self.scalar(cap)?);
        let all = Region { values: heads.len() * sizes.most, ..shares };
        self.scale([all.base, factor, all.base], true, all.values, CvoFlags::PLAIN)?;
        if self.has_mul() {
            self.code.cvo(CvoFunc::Tanh, all.base, all.base, all.values, CvoFlags::PLAIN);
        } else {
            self.on_host(Unary { kind: UnaryKind::Tanh }.into(), all, &[], &[all.values]);
        }
        self.scale([all.base, bound, all.base], true, all.values, CvoFlags::PLAIN)?;
        let own = self.allocate(sizes.most)?;
        for (index, &[row, _]) in heads.iter().enumerate() {
            let to = Region { base: shares.at(index * sizes.most), values: sizes.most };
            self.code.select(self.extent(sizes.layer, row), [sizes.key, sizes.value]);
            self.code.copy(to.base, own.base, sizes.most);
            self.softmax(own, to, false)?;
        }
        self.release(own);
        Ok(())
    }

    /// Multiplies the probabilities of rows and heads by the scales of the values.
    fn weigh(
        &mut self,
        sizes: &Sizes,
        sights: &[Sight],
        heads: &[[usize; 2]],
        shares: Region,
    ) -> Result<(), LowerError> {
        let most = sizes.most;
        if !self.has_mul() {
            let all = Region { values: heads.len() * most, ..shares };
            let slot = self.received(all, vec![heads.len(), most]);
            for (index, &head) in heads.iter().enumerate() {
                let (start, scales) = ((index * most) as u32, sights[self.seen_by(head)].scales);
                self.code.step(HostStep::Weigh { slot, start, scales });
            }
            self.code.send(slot, all);
            return Ok(());
        }
        let scales = self.allocate(most)?;
        let mut last = None;
        for (index, &[row, head]) in heads.iter().enumerate() {
            let sight = &sights[self.seen_by([row, head])];
            self.code.select(self.extent(sizes.layer, row), [sizes.key, sizes.value]);
            if last.replace(sight.scales) != Some(sight.scales) {
                self.code.fetch_tokens(sight.place, scales.base);
            }
            let to = shares.at(index * most);
            self.code.cvo_of_tokens(CvoFunc::Mul, scales.base, to, CvoFlags::PLAIN);
        }
        self.release(scales);
        Ok(())
    }

    /// Returns weights of zeros, which the host replaces.
    fn blank(&mut self, [n, k]: [usize; 2]) -> Result<Arc<WeightImage>, LowerError> {
        if let Some(image) = self.blanks.get(&[n, k]) {
            return Ok(Arc::clone(image));
        }
        let image = WeightImage::zeros(n, k).map(|image| image.with_scales(vec![0.0; n]));
        let image = image.map_err(|error| LowerError::Weights { name: "a cache".to_owned(), error })?;
        let image = Arc::new(image);
        self.blanks.insert([n, k], Arc::clone(&image));
        Ok(image)
    }
}
