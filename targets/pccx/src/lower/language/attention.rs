//! Attention of new tokens to all tokens so far, with keys and values from the host's caches.
//! Source: specification 5.4 and 5.5.

use std::sync::Arc;

use npukit_graph::ValueId;
use npukit_graph::op::{Unary, UnaryKind};
use npukit_numeric::BLOCK;

use super::emit::Emitter;
use super::layout::HeadLayout;
use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, CvoFunc, MacFlags};
use crate::lower::LowerError;
use crate::lower::code::Place;
use crate::lower::extent::{CVO_LENGTH, Extent, PART};
use crate::lower::limits::LARGEST;
use crate::lower::macros::Macros;
use crate::lower::memory::Region;
use crate::machine::weights::WeightImage;
use crate::program::host::{CacheForm, HostStep, Role};

/// Part of L2 that probabilities may use, as a divisor.
const SHARE: usize = 4;

/// Number that is less than all scores.
const LOWEST: f32 = -3e38;

/// Weights of the keys and values that a row sees, for one head.
struct Sight {
    /// Images of each product, and for each of them of each part of the codes, the high part first.
    keys: Vec<Vec<u32>>,
    values: Vec<Vec<u32>>,
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
        let last = self.extent(layer, self.tokens - 1);
        let finds_maximum = last.is_divided() && of.attention_cap.is_none();
        let most = last.most().next_multiple_of(if finds_maximum { BLOCK } else { WORD_LANES });
        let sizes = Sizes { layer, key, value, most };
        let sights = self.sights(&sizes, keys, values)?;
        let context = self.allocate(self.tokens * of.heads * value)?;
        let scores = [self.allocate(most)?, self.allocate(most)?];
        // Ranges of rows and heads whose probabilities fit L2 at the same time.
        let room = self.l2_values() / SHARE / most;
        let all: Vec<[usize; 2]> =
            (0..self.tokens).flat_map(|row| (0..of.heads).map(move |head| [row, head])).collect();
        let group = room.clamp(1, all.len());
        let shares = self.allocate(group * most)?;
        // The host, and functions that process all values, also read the values after the last
        // token.
        let read_whole = match of.attention_cap {
            Some(_) => vec![shares, scores[0], scores[1]],
            None if !self.has_mul() => vec![shares],
            None => Vec::new(),
        };
        for region in read_whole {
            let zeros = self.constant("zeros", vec![region.values], vec![0.0; region.values])?;
            self.code.send_first(zeros, region);
        }
        if finds_maximum {
            scores.into_iter().try_for_each(|region| self.fill(region, last.last_part()))?;
        }
        for heads in all.chunks(group) {
            for (index, &[row, head]) in heads.iter().enumerate() {
                let query = queries.at((row * of.heads + head) * key);
                let sight = &sights[self.seen_by([row, head])];
                let extent = self.extent(layer, row);
                let to = Region { base: shares.at(index * most), values: most };
                let from = scores[index % 2];
                self.scores(&sizes, extent, &sight.keys, [query, from.base]);
                if finds_maximum {
                    self.find_maximum(from)?;
                }
                if of.attention_cap.is_none() {
                    self.softmax(from, to, true)?;
                    continue;
                }
                for first in extent.parts() {
                    self.code.select(extent, first, [key, value]);
                    self.code.copy_tokens(from.at(first), to.at(first));
                }
            }
            if let Some(cap) = of.attention_cap {
                self.capped(&sizes, heads, shares, cap)?;
            }
            self.weigh(&sizes, &sights, heads, shares)?;
            for (index, &[row, head]) in heads.iter().enumerate() {
                let sight = &sights[self.seen_by([row, head])];
                let extent = self.extent(layer, row);
                let to = context.at((row * of.heads + head) * value);
                for (first, images) in extent.parts().zip(&sight.values) {
                    self.code.select(extent, first, [key, value]);
                    for (part, &image) in images.iter().rev().enumerate() {
                        let accm = first > 0 || part > 0;
                        let flags = MacFlags { accm, w_scale: true, ..MacFlags::default() };
                        self.code.product_with_values(image, shares.at(index * most + first), to, flags);
                    }
                }
            }
        }
        scores.into_iter().chain([shares]).for_each(|region| self.release(region));
        self.count(2 * all.len() * most * value);
        Ok(context)
    }

    /// Returns the tokens that a row of a layer sees. All rows have the same products.
    fn extent(&self, layer: usize, row: usize) -> Extent {
        let [row, last] = [row, self.tokens - 1].map(|row| if self.in_texts { 0 } else { row });
        let window = self.of().layers[layer].window;
        let of_row = |row, part| Extent { row, window, room: self.room, part };
        let is_divided = of_row(last, LARGEST).is_divided();
        of_row(row, if is_divided { PART } else { LARGEST })
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
        let of_text = 2 * of.layers.len() * of.kv_heads;
        let cache = |text: usize, role: Role, head: usize| {
            (text * of_text + (2 * sizes.layer + role as usize) * of.kv_heads + head) as u32
        };
        let parts = CacheForm { role: Role::Keys, bits, window }.parts();
        let extent = self.extent(sizes.layer, self.tokens - 1);
        let mut sights = Vec::new();
        for row in 0..self.tokens {
            let text = if self.in_texts { row } else { 0 };
            for (role, slot) in slots {
                let form = CacheForm { role, bits, window };
                let cache = cache(text, role, 0);
                let step = HostStep::Append { slot, row: row as u32, cache, vectors, form };
                self.code.step(step);
            }
            for head in 0..of.kv_heads {
                let mut made = |role: Role, factor: f32| -> Result<Vec<Vec<u32>>, LowerError> {
                    let of_product = |first: usize| -> Result<Vec<u32>, LowerError> {
                        let size = match role {
                            Role::Keys => [extent.in_part(first, extent.room), sizes.key],
                            Role::Values => [sizes.value, extent.in_part(first, extent.room)],
                        };
                        let cache = cache(text, role, head);
                        (0..parts).map(|part| self.cached(cache, size, part, factor)).collect()
                    };
                    extent.parts().map(of_product).collect()
                };
                let keys = made(Role::Keys, of.attention_scale)?;
                let values = made(Role::Values, 1.0)?;
                let scales = self.slot("scales of values", vec![sizes.most]);
                self.code
                    .step(HostStep::CachedScales { cache: cache(text, Role::Values, head), slot: scales });
                let place = self.code.reserve_to_l2(sizes.most);
                if self.has_mul() {
                    self.code.write(scales, place);
                }
                sights.push(Sight { keys, values, scales, place });
            }
        }
        Ok(sights)
    }

    /// Adds an image that the host makes of a cache. The host does not divide a cache: a program
    /// with several products is only timed.
    fn cached(&mut self, cache: u32, size: [usize; 2], part: usize, factor: f32) -> Result<u32, LowerError> {
        let image = self.blank(size)?;
        let image = self.code.image(image);
        self.code.step(HostStep::Cached { cache, part: part as u32, image, factor });
        Ok(image)
    }

    /// Emits the scores of a query at word `to`. The maximum must cover all parts of the codes;
    /// with several products, each product would find only its own maximum.
    fn scores(&mut self, sizes: &Sizes, extent: Extent, keys: &[Vec<u32>], [query, to]: [u32; 2]) {
        let findemax = !extent.is_divided();
        for (first, images) in extent.parts().zip(keys) {
            self.code.select(extent, first, [sizes.key, sizes.value]);
            let to = to + (first / WORD_LANES) as u32;
            for (part, &image) in images.iter().rev().enumerate() {
                let flags = MacFlags { findemax, accm: part > 0, w_scale: true };
                self.code.product_with_keys(image, query, to, sizes.key, flags);
            }
        }
    }

    /// Finds the maximum of scores that several products computed: a product with zeros is added to
    /// all of them, which changes none.
    fn find_maximum(&mut self, scores: Region) -> Result<(), LowerError> {
        let rows = scores.values / BLOCK;
        let zeros = self.keep(&format!("{rows} zeros"), || vec![0.0; rows])?;
        let image = self.blank([BLOCK, 1])?;
        let image = self.code.image(image);
        let flags = MacFlags { findemax: true, accm: true, w_scale: true };
        self.code.product(image, zeros.base, scores.base, [rows, 1, BLOCK], flags);
        Ok(())
    }

    /// Fills values starting at `first` with the lowest number, so that [`Self::find_maximum`] does
    /// not find old values after the last token.
    fn fill(&mut self, scores: Region, first: usize) -> Result<(), LowerError> {
        let rest = Region { base: scores.at(first), values: scores.values - first };
        let lowest = self.constant("lowest numbers", vec![rest.values], vec![LOWEST; rest.values])?;
        self.code.send_first(lowest, rest);
        Ok(())
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
            self.code.select(self.extent(sizes.layer, row), 0, [sizes.key, sizes.value]);
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
            if last.replace(sight.scales) != Some(sight.scales) {
                let extent = self.extent(sizes.layer, row);
                for first in extent.parts() {
                    self.code.select(extent, first, [sizes.key, sizes.value]);
                    self.code.fetch_tokens(sight.place, first / WORD_LANES, scales.base);
                }
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
