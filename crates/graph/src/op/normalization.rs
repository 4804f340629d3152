//! What operators share that bring groups of elements to mean 0 and variance 1.

/// Mean and variance of a group; sums in order, in `f32`.
pub(super) fn moments(values: impl Iterator<Item = f32> + Clone) -> [f32; 2] {
    let count = values.clone().count() as f32;
    let mean = values.clone().fold(0.0, |sum, x| sum + x) / count;
    let squares = values.fold(0.0, |sum, x| sum + (x - mean) * (x - mean));
    [mean, squares / count]
}

/// Normalises `[n, .., c]` data of `pixels` positions per image: the channels of an image in `groups`
/// neighbouring parts, each over all positions, then scales and shifts by channel.
pub(super) fn normalise_groups(
    data: &mut [f32],
    [pixels, channels, groups]: [usize; 3],
    epsilon: f32,
    (scale, bias): (&[f32], &[f32]),
) {
    let width = channels / groups.max(1);
    for image in data.chunks_exact_mut((pixels * channels).max(1)) {
        for group in 0..groups {
            let part = group * width..(group + 1) * width;
            let rows = image.chunks_exact(channels);
            let [mean, variance] = moments(rows.flat_map(|row| row[part.clone()].iter().copied()));
            let deviation = (variance + epsilon).sqrt();
            for row in image.chunks_exact_mut(channels) {
                for c in part.clone() {
                    row[c] = (row[c] - mean) / deviation * scale[c] + bias[c];
                }
            }
        }
    }
}
