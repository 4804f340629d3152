//! [`stand_in`]: seeded inputs for networks without typical samples.

use npukit_numeric::Tensor;

use crate::zoo::random::Random;

/// Standard deviation of the elements: training inputs are usually near 0 and below 1.
const DEVIATION: f64 = 0.3;

/// Returns a tensor in -1 to 1 for an input called `name`.
///
/// A tensor with four axes is an image with the statistics of photographs: neighbors are similar,
/// each finer structure has half the amplitude of the coarser one, colors are mostly similar, and
/// each image has its own brightness and contrast. Any other tensor is noise.
///
/// The channels of an image are its last axis if that is shorter than the second. `None` if the
/// shape has more elements than fit in memory.
pub fn stand_in(name: &str, shape: &[usize], seed: u64) -> Option<Tensor> {
    let mut random = Random::new(seed, name);
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    let values = match *shape {
        [n, h, w, c] if c < h => images(&mut random, [n, h, w, c], |place| place, [n, h, w, c]),
        [n, c, h, w] => images(&mut random, [n, h, w, c], |[n, y, x, c]| [n, c, y, x], [n, c, h, w]),
        _ => (0..count).map(|_| random.normal() * DEVIATION).collect(),
    };
    let values = values.into_iter().map(|x| x.clamp(-1.0, 1.0) as f32).collect();
    Tensor::from_f32(shape.to_vec(), values).ok()
}

/// Returns images `[n, h, w, c]`; `place` maps each element to its position in the tensor of
/// `shape`.
fn images(
    random: &mut Random,
    [n, h, w, c]: [usize; 4],
    place: impl Fn([usize; 4]) -> [usize; 4],
    shape: [usize; 4],
) -> Vec<f64> {
    let mut values = vec![0.0; n * h * w * c];
    for image in 0..n {
        let (brightness, contrast) = (0.6 * random.normal(), random.uniform(0.5, 1.2));
        let light = plane(random, h, w);
        for channel in 0..c {
            let color = plane(random, h, w);
            let tint = 0.3 * random.normal();
            for (index, (light, color)) in light.iter().zip(&color).enumerate() {
                let at = place([image, index / w, index % w, channel]);
                let offset = at.iter().zip(shape).fold(0, |offset, (&at, size)| offset * size + at);
                let shade = contrast * (0.9 * light + 0.4 * color);
                values[offset] = DEVIATION * (brightness + tint + shade);
            }
        }
    }
    values
}

/// Returns noise of all scales, `[h, w]`: interpolated grids of 2 by 2 points, 4 by 4, up to one
/// point per element. Each has half the amplitude of the previous one.
fn plane(random: &mut Random, h: usize, w: usize) -> Vec<f64> {
    let mut values = vec![0.0; h * w];
    let (mut amplitude, mut points) = (0.85, 2usize);
    loop {
        let grid: Vec<f64> = (0..points * points).map(|_| random.normal()).collect();
        for (index, value) in values.iter_mut().enumerate() {
            *value += amplitude * between(&grid, points, [(index / w, h), (index % w, w)]);
        }
        if points >= h.max(w) {
            return values;
        }
        (amplitude, points) = (amplitude / 2.0, points * 2);
    }
}

/// Returns the interpolated value of a grid of `points` by `points` at a position given as index
/// and size along each axis.
fn between(grid: &[f64], points: usize, places: [(usize, usize); 2]) -> f64 {
    let [(y, above), (x, left)] = places.map(|(place, size)| {
        let at = place as f64 * (points - 1) as f64 / (size.max(2) - 1) as f64;
        let first = (at as usize).min(points - 2);
        (first, 1.0 - (at - first as f64))
    });
    let row = |y: usize| grid[y * points + x] * left + grid[y * points + x + 1] * (1.0 - left);
    row(y) * above + row(y + 1) * (1.0 - above)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn floats(shape: &[usize], seed: u64) -> Vec<f32> {
        stand_in("x", shape, seed).unwrap().as_f32().unwrap().to_vec()
    }

    #[test]
    fn neighbors_are_alike_in_either_order_of_axes() {
        for (shape, next) in [([8, 3, 32, 32], 1), ([8, 32, 32, 3], 3)] {
            let values = floats(&shape, 7);
            let power = values.iter().map(|x| x * x).sum::<f32>() / values.len() as f32;
            assert!((0.02..0.3).contains(&power), "{power}");
            let step = values.iter().zip(&values[next..]).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
            assert!(step / (values.len() as f32) < 0.2 * power, "{shape:?}");
        }
    }

    #[test]
    fn any_shape_has_one() {
        for shape in [&[][..], &[5], &[1, 1, 1, 1], &[2, 0, 3, 4], &[1, 1, 124, 129]] {
            let values = floats(shape, 1);
            assert_eq!(values.len(), shape.iter().product::<usize>());
            assert!(values.iter().all(|x| x.abs() <= 1.0));
            assert_eq!(values, floats(shape, 1));
        }
        assert!(stand_in("x", &[usize::MAX, 2], 1).is_none());
    }
}
