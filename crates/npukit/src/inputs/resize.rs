//! Resizing and cropping of decoded images, as Pillow and torchvision do it.

use super::pixels::Pixels;

/// Fraction bits of the weights, as in Pillow.
const FRACTION: u32 = 22;

/// Weights of the source pixels of one target pixel.
struct Taps {
    /// First source pixel.
    first: usize,
    weights: Vec<i64>,
}

/// Resizes an image from `from` to `to`, each width and height, by bilinear interpolation. When
/// an image shrinks, all source pixels count, as in Pillow's `BILINEAR`: results are equal.
pub(super) fn resized(pixels: Pixels, from: (usize, usize), to: (usize, usize)) -> Pixels {
    if from == to {
        return pixels;
    }
    let channels = pixels.channels;
    let wide = along(&pixels.bytes, [from.1, from.0, channels], to.0);
    // Rows are the middle axis if all pixels of a row are one group of channels.
    let bytes = along(&wide, [1, from.1, to.0 * channels], to.1);
    Pixels { bytes, ..pixels }
}

/// Cuts an image of size `from` to its center of size `to`, at most as large.
pub(super) fn cropped(pixels: Pixels, from: (usize, usize), to: (usize, usize)) -> Pixels {
    let each = pixels.channels;
    // Torchvision rounds half an odd margin to even.
    let margin = |from: usize, to: usize| ((from - to) as f64 / 2.0).round_ties_even() as usize;
    let (left, top) = (margin(from.0, to.0), margin(from.1, to.1));
    let rows = pixels.bytes.chunks_exact((from.0 * each).max(1)).skip(top).take(to.1);
    let bytes = rows.flat_map(|row| row[left * each..(left + to.0) * each].iter().copied()).collect();
    Pixels { bytes, ..pixels }
}

/// Resizes the middle of three axes to `size`.
fn along(bytes: &[u8], [outer, old, inner]: [usize; 3], size: usize) -> Vec<u8> {
    let all = taps(old, size);
    let mut resized = Vec::with_capacity(outer * size * inner);
    for block in bytes.chunks_exact((old * inner).max(1)).take(outer) {
        for Taps { first, weights } in &all {
            for place in 0..inner {
                let sum = weights
                    .iter()
                    .enumerate()
                    .map(|(at, weight)| weight * i64::from(block[(first + at) * inner + place]));
                let sum = (1 << (FRACTION - 1)) + sum.sum::<i64>();
                resized.push((sum >> FRACTION).clamp(0, 255) as u8);
            }
        }
    }
    resized
}

/// Returns the weights of a triangle filter, as wide as a target pixel is in the source.
fn taps(old: usize, size: usize) -> Vec<Taps> {
    let scale = old as f64 / size as f64;
    let support = scale.max(1.0);
    let one = |place: usize| {
        let center = (place as f64 + 0.5) * scale;
        let first = ((center - support + 0.5).max(0.0)) as usize;
        let end = ((center + support + 0.5) as usize).min(old);
        let weight = |at: usize| (1.0 - ((at as f64 - center + 0.5) / support).abs()).max(0.0);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        let fixed = |weight: &f64| (0.5 + weight / sum * f64::from(1u32 << FRACTION)) as i64;
        Taps { first, weights: weights.iter().map(fixed).collect() }
    };
    (0..size).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(channels: usize, bytes: Vec<u8>) -> Pixels {
        Pixels { channels, is_deep: false, is_turned: false, bytes }
    }

    /// Values of `Image.resize(size, Image.BILINEAR)` of Pillow 13.
    #[test]
    fn results_are_those_of_pillow() {
        let gray = |to| {
            let bytes = (0..24u32).map(|at| (at * 37 % 251) as u8).collect();
            resized(pixels(1, bytes), (6, 4), to).bytes
        };
        assert_eq!(gray((3, 2)), [82, 77, 138, 175, 94, 93]);
        assert_eq!(gray((4, 3)), [52, 57, 110, 162, 175, 64, 76, 128, 187, 169, 60, 93]);
        assert_eq!(gray((6, 2)), [123, 52, 53, 90, 127, 164, 185, 186, 115, 45, 82, 119]);
        assert_eq!(gray((1, 1)), [106]);
        let larger = [
            0, 19, 43, 68, 93, 117, 142, 167, 185, 155, 86, 23, 48, 73, 97, 122, 147, 165, 208, 164, 104, 46,
            50, 74, 99, 124, 142, 184, 203, 198, 106, 64, 50, 75, 100, 118, 164, 183, 207, 232, 131, 30, 55,
            80, 98,
        ];
        assert_eq!(gray((9, 5)), larger);
        let rgb = pixels(3, (0..60u32).map(|at| (at * 53 % 256) as u8).collect());
        let smaller = [97, 139, 87, 159, 107, 125, 124, 119, 120, 139, 134, 100, 151, 99, 152, 119, 103, 132];
        assert_eq!(resized(rgb, (5, 4), (2, 3)).bytes, smaller);
    }

    #[test]
    fn the_center_is_kept() {
        let gray = pixels(1, (0..12).collect());
        assert_eq!(cropped(gray, (4, 3), (2, 1)).bytes, [5, 6]);
        let rgb = pixels(3, (0..27).collect());
        assert_eq!(cropped(rgb, (3, 3), (1, 3)).bytes, [3, 4, 5, 12, 13, 14, 21, 22, 23]);
    }
}
