//! [`Cache`]: keys or values of the earlier tokens of a text, as weights of products. Source:
//! specification 5.5.

use npukit_graph::quantize::rows::{self, Int4Rows, RowsError};
use npukit_numeric::{BLOCK, nearest_code};

use crate::machine::weights::{WeightError, WeightImage, put, row_bytes};

/// Largest 8-bit code with a high part of -7 to 7 and a low part of -8 to 7, which have 4 bits
/// each.
pub const LARGEST_CODE: i8 = 119;
/// Factor of the high part of an 8-bit code.
pub const HIGH: f32 = 16.0;

/// Use of cached vectors in products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Each vector is a row of weights.
    Keys,
    /// Each vector is a column of weights.
    Values,
}

/// Form of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheForm {
    /// Use of the vectors.
    pub role: Role,
    /// Bits of a code: 4, or 8 in two parts.
    pub bits: u32,
    /// Number of latest vectors that are kept; `None` for all.
    pub window: Option<u32>,
}

impl CacheForm {
    /// Returns the number of 4-bit parts of a code.
    pub const fn parts(self) -> usize {
        self.bits as usize / 4
    }
}

/// Quantized vectors, one per token, with a scale each.
#[derive(Clone, Debug)]
pub struct Cache {
    form: CacheForm,
    features: usize,
    /// Number of vectors so far. If the window is full, the next one replaces the oldest one.
    count: usize,
    scales: Vec<f32>,
    /// Rows of weights of each part, the high part first. Rows of values have space for `room`
    /// tokens.
    parts: Vec<Vec<u8>>,
    room: usize,
}

impl Cache {
    /// Creates an empty cache of vectors of `features` values.
    pub fn new(form: CacheForm, features: usize) -> Self {
        let parts = vec![Vec::new(); form.parts()];
        Self { form, features, count: 0, scales: Vec::new(), parts, room: 0 }
    }

    /// Returns the form.
    pub const fn form(&self) -> CacheForm {
        self.form
    }

    /// Returns the scale of each vector.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Quantizes a vector, and appends it or replaces the oldest one.
    ///
    /// # Errors
    /// Another number of features, or values that are not finite.
    pub fn push(&mut self, vector: &[f32]) -> Result<(), RowsError> {
        let (scale, parts) = quantize(vector, self.features, self.form.bits)?;
        let window = self.form.window.map(|window| window as usize);
        let place = window.and_then(|window| self.count.checked_rem(window)).unwrap_or(self.count);
        if place == self.scales.len() {
            self.scales.push(scale);
        } else {
            self.scales[place] = scale;
        }
        self.count += 1;
        for (part, codes) in parts.into_iter().enumerate() {
            match self.form.role {
                Role::Keys => self.put_row(part, place, &codes),
                Role::Values => self.put_column(part, place, &codes),
            }
        }
        self.room = self.room.max(room_for(place + 1));
        Ok(())
    }

    /// Removes all vectors after the first `count`. Returns false, and changes nothing, if any of
    /// the first `count` vectors has been replaced.
    pub fn truncate(&mut self, count: usize) -> bool {
        if count >= self.count {
            return true;
        }
        if self.scales.len() < self.count {
            return false;
        }
        self.count = count;
        self.scales.truncate(count);
        for rows in &mut self.parts {
            match self.form.role {
                Role::Keys => rows.truncate(count * row_bytes(self.features)),
                // Weights after a row's last token must be 0.
                Role::Values => rows.chunks_exact_mut(row_bytes(self.room).max(1)).for_each(|row| {
                    (count..self.room).for_each(|place| put(row, place, 0));
                }),
            }
        }
        true
    }

    /// Appends the vectors to bytes, for [`Self::restored`].
    pub fn save(&self, bytes: &mut Vec<u8>) {
        let CacheForm { role, bits, window } = self.form;
        // 0 encodes the absence of a window.
        let [window, features] = [window.unwrap_or(0), self.features as u32];
        for number in [u32::from(role == Role::Values), bits, window, features, self.room as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.scales.iter().flat_map(|scale| scale.to_le_bytes()));
        bytes.extend(self.parts.iter().flatten());
    }

    /// Takes saved vectors of `count` tokens from the begin of bytes; `None` if they are damaged.
    pub fn restored(bytes: &mut &[u8], count: usize) -> Option<Self> {
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u32::from_le_bytes(*number))
        };
        let [role, bits, window, features, room] = [number()?, number()?, number()?, number()?, number()?];
        let role = [Role::Keys, Role::Values].into_iter().nth(role as usize)?;
        let form = CacheForm { role, bits, window: (window > 0).then_some(window) };
        let (features, room) = (features as usize, room as usize);
        let held = form.window.map_or(count, |window| count.min(window as usize));
        if !matches!(bits, 4 | 8) || (held > 0 && room < room_for(held)) {
            return None;
        }
        let mut take = |length: Option<usize>| -> Option<&[u8]> {
            let (taken, rest) = bytes.split_at_checked(length?)?;
            *bytes = rest;
            Some(taken)
        };
        let scales = take(held.checked_mul(size_of::<f32>()))?;
        let scales: Vec<f32> = scales.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        let [rows, columns] = match role {
            Role::Keys => [held, features],
            Role::Values => [features, room],
        };
        let length = rows.checked_mul(row_bytes(columns));
        let parts = (0..form.parts()).map(|_| take(length).map(<[u8]>::to_vec)).collect::<Option<_>>()?;
        let is_finite = scales.iter().all(|scale| scale.is_finite());
        is_finite.then_some(Self { form, features, count, scales, parts, room })
    }

    fn put_row(&mut self, part: usize, place: usize, codes: &[i8]) {
        let pitch = row_bytes(self.features);
        let rows = &mut self.parts[part];
        rows.resize(rows.len().max((place + 1) * pitch), 0);
        let row = &mut rows[place * pitch..][..pitch];
        row.fill(0);
        codes.iter().enumerate().for_each(|(column, &code)| put(row, column, code));
    }

    fn put_column(&mut self, part: usize, place: usize, codes: &[i8]) {
        let (old, room) = (row_bytes(self.room), room_for(place + 1).max(self.room));
        let pitch = row_bytes(room);
        if pitch > old {
            let mut rows = vec![0; self.features * pitch];
            for (row, content) in rows.chunks_exact_mut(pitch).zip(self.parts[part].chunks_exact(old.max(1)))
            {
                row[..old].copy_from_slice(content);
            }
            self.parts[part] = rows;
        }
        for (row, &code) in self.parts[part].chunks_exact_mut(pitch).zip(codes) {
            put(row, place, code);
        }
    }

    /// Returns a part, the high part first, as weights: keys `[tokens, features]` with their scales
    /// times `factor`, values `[features, tokens]` without the scales of the tokens.
    ///
    /// # Errors
    /// A number of tokens that weights cannot have, such as 0.
    pub fn image(&self, part: usize, factor: f32) -> Result<WeightImage, WeightError> {
        let tokens = self.scales.len();
        let own = if self.form.bits == 8 && part == 0 { HIGH } else { 1.0 };
        // Default: a part that the form does not have is empty, and so has a wrong number of bytes.
        let content = self.parts.get(part).map(Vec::as_slice).unwrap_or_default();
        match self.form.role {
            Role::Keys => {
                let scales = self.scales.iter().map(|scale| scale * factor * own).collect();
                WeightImage::with_rows(tokens, self.features, content.to_vec(), Some(scales))
            }
            Role::Values => {
                let (pitch, used) = (row_bytes(self.room), row_bytes(tokens));
                let mut rows = Vec::with_capacity(self.features * used);
                content.chunks_exact(pitch.max(1)).for_each(|row| rows.extend_from_slice(&row[..used]));
                let scales = vec![own * factor; self.features];
                WeightImage::with_rows(self.features, tokens, rows, Some(scales))
            }
        }
    }
}

/// Returns the scale and the codes of each part of a vector, the high part first.
fn quantize(vector: &[f32], features: usize, bits: u32) -> Result<(f32, Vec<Vec<i8>>), RowsError> {
    if bits == 4 {
        let rows = Int4Rows::new(1, features, vector)?;
        return Ok((rows.scales()[0], vec![rows.codes().to_vec()]));
    }
    let (scale, codes) = eight_bits(features, vector)?;
    let [high, low] = split(&codes);
    Ok((scale, vec![high, low]))
}

/// Returns codes of -119 to 119 for a row of `columns` values, and their scale. Codes are rounded
/// to nearest, ties to even.
///
/// # Errors
/// Another number of values, or values that are not finite.
pub fn eight_bits(columns: usize, values: &[f32]) -> Result<(f32, Vec<i8>), RowsError> {
    rows::check(1, columns, values)?;
    let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / f32::from(LARGEST_CODE) } else { 1.0 };
    let limit = f32::from(LARGEST_CODE);
    let code = |value: &f32| nearest_code((value / scale).clamp(-limit, limit)) as i8;
    Ok((scale, values.iter().map(code).collect()))
}

/// Returns the high and the low part of codes: `16 * high + low`.
pub fn split(codes: &[i8]) -> [Vec<i8>; 2] {
    let high = |&code: &i8| ((i16::from(code) + 8) >> 4) as i8;
    let low = |&code: &i8| ((code as u8).wrapping_add(8) & 15) as i8 - 8;
    [codes.iter().map(high).collect(), codes.iter().map(low).collect()]
}

/// Returns the number of tokens for which space is reserved, at least `tokens`.
fn room_for(tokens: usize) -> usize {
    tokens.next_power_of_two().max(BLOCK)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    /// Returns the values that a cache represents, `[tokens, features]`.
    fn values_of(cache: &Cache) -> Vec<f32> {
        let tokens = cache.scales().len();
        let images: Vec<WeightImage> =
            (0..cache.form.parts()).map(|part| cache.image(part, 1.0).unwrap()).collect();
        let value = |token: usize, feature: usize| -> f32 {
            let weight = |image: &WeightImage| match cache.form.role {
                Role::Keys => {
                    f32::from(image.weight(token, feature).unwrap()) * image.scales().unwrap()[token]
                }
                Role::Values => {
                    let code = f32::from(image.weight(feature, token).unwrap());
                    code * image.scales().unwrap()[feature] * cache.scales()[token]
                }
            };
            images.iter().map(weight).sum()
        };
        (0..tokens)
            .flat_map(|token| (0..cache.features).map(move |feature| (token, feature)))
            .map(|(token, feature)| value(token, feature))
            .collect()
    }

    proptest! {
        /// The latest vectors are kept, each within half a step.
        #[test]
        fn caches_hold_the_latest_vectors(
            vectors in prop::collection::vec(prop::collection::vec(-4f32..4.0, 24), 1..80),
            is_keys: bool,
            is_wide: bool,
            window in prop::option::of(1u32..40),
        ) {
            let role = if is_keys { Role::Keys } else { Role::Values };
            let form = CacheForm { role, bits: if is_wide { 8 } else { 4 }, window };
            let mut cache = Cache::new(form, 24);
            vectors.iter().for_each(|vector| cache.push(vector).unwrap());
            let kept = window.map_or(vectors.len(), |window| vectors.len().min(window as usize));
            let found = values_of(&cache);
            prop_assert_eq!(found.len(), kept * 24);
            for (age, vector) in vectors.iter().rev().take(kept).enumerate() {
                let place = (vectors.len() - 1 - age) % window.map_or(vectors.len(), |window| window as usize);
                let largest = vector.iter().fold(0f32, |largest, value| largest.max(value.abs()));
                let step = largest / if is_wide { 119.0 } else { 7.0 };
                for (value, found) in vector.iter().zip(&found[24 * place..]) {
                    prop_assert!((value - found).abs() <= 0.5001 * step, "{} {} {}", value, found, step);
                }
            }
        }
    }

    proptest! {
        /// A shortened cache equals a cache that never had the removed vectors.
        #[test]
        fn shortened_caches_hold_the_first_vectors(
            vectors in prop::collection::vec(prop::collection::vec(-4f32..4.0, 24), 2..80),
            is_keys: bool,
            is_wide: bool,
            window in prop::option::of(1u32..100),
            kept in 1usize..80,
            others in 0usize..80,
        ) {
            let (kept, others) = (kept.min(vectors.len()), others.min(vectors.len()));
            let role = if is_keys { Role::Keys } else { Role::Values };
            let form = CacheForm { role, bits: if is_wide { 8 } else { 4 }, window };
            let [mut long, mut short] = [Cache::new(form, 24), Cache::new(form, 24)];
            vectors.iter().for_each(|vector| long.push(vector).unwrap());
            let is_lost = kept < vectors.len() && window.is_some_and(|window| vectors.len() > window as usize);
            prop_assert_eq!(long.truncate(kept), !is_lost);
            if !is_lost {
                vectors[..kept].iter().chain(&vectors[..others]).for_each(|vector| short.push(vector).unwrap());
                vectors[..others].iter().for_each(|vector| long.push(vector).unwrap());
                for part in 0..form.parts() {
                    prop_assert_eq!(long.image(part, 1.0).unwrap(), short.image(part, 1.0).unwrap());
                }
                prop_assert_eq!(long.scales(), short.scales());
            }
        }
    }

    proptest! {
        /// Saved vectors are the same when they are restored; no part of them is.
        #[test]
        fn saved_caches_are_restored(
            count in 0usize..80,
            is_keys: bool,
            is_wide: bool,
            window in prop::option::of(1u32..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let role = if is_keys { Role::Keys } else { Role::Values };
            let mut cache = Cache::new(CacheForm { role, bits: if is_wide { 8 } else { 4 }, window }, 24);
            let vector = |token: usize| -> Vec<f32> { (0..24).map(|k| ((token * 31 + k * 7) % 19) as f32 - 9.0).collect() };
            (0..count).for_each(|token| cache.push(&vector(token)).unwrap());
            let mut saved = Vec::new();
            cache.save(&mut saved);
            let mut bytes = &saved[..];
            let mut restored = Cache::restored(&mut bytes, count).unwrap();
            prop_assert!(bytes.is_empty());
            for cache in [&mut cache, &mut restored] {
                cache.push(&vector(count)).unwrap();
            }
            for part in 0..cache.form.parts() {
                prop_assert_eq!(cache.image(part, 1.0).unwrap(), restored.image(part, 1.0).unwrap());
            }
            prop_assert_eq!(cache.scales(), restored.scales());
            prop_assert!(Cache::restored(&mut &saved[..cut.index(saved.len())], count).is_none());
        }
    }

    #[test]
    fn codes_of_eight_bits_have_two_parts_of_four() {
        let codes: Vec<i8> = (-LARGEST_CODE..=LARGEST_CODE).collect();
        let [high, low] = split(&codes);
        for (code, (high, low)) in codes.iter().zip(high.into_iter().zip(low)) {
            assert!((-7..=7).contains(&high) && (-8..=7).contains(&low), "{code}");
            assert_eq!(16 * i16::from(high) + i16::from(low), i16::from(*code));
        }
    }

    #[test]
    fn values_that_are_not_finite_are_refused() {
        let form = CacheForm { role: Role::Keys, bits: 8, window: None };
        assert!(Cache::new(form, 2).push(&[1.0, f32::NAN]).is_err());
        assert!(Cache::new(form, 2).push(&[1.0]).is_err());
        assert!(Cache::new(form, 2).image(0, 1.0).is_err());
    }
}
