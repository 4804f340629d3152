//! Layout of image patches by the host: [`lay_out`].

use npukit_graph::op::Window;

/// Maximum number of values in patches: a gigabyte.
const MAX_VALUES: usize = 1 << 28;

/// Returns the patches of images `[n, h, w, c]`, with `row` values per patch: tap by tap, channel
/// by channel, with zeros outside the image and at the end of the row. `None` if the window does
/// not fit into the image, a row is too short, or there are too many values.
pub fn lay_out<T: Copy + Default>(
    values: &[T],
    [count, height, width, channels]: [usize; 4],
    window: &Window,
    row: usize,
) -> Option<Vec<T>> {
    let [rows, columns] = window.output([height, width]).ok()?;
    let taps = window.kernel[0].checked_mul(window.kernel[1])?;
    let seen = taps.checked_mul(channels)?;
    let all = count.checked_mul(rows)?.checked_mul(columns)?.checked_mul(row)?;
    if seen > row || all > MAX_VALUES {
        return None;
    }
    let mut out = vec![T::default(); all];
    for (pixel, out) in out.chunks_mut(row.max(1)).enumerate() {
        let image = pixel / (rows * columns);
        let down = window.span(0, pixel / columns % rows, height);
        let right = window.span(1, pixel % columns, width);
        for (i, ky) in down.taps.clone().enumerate() {
            let y = image * height + down.first + i * window.dilations[0];
            for (j, kx) in right.taps.clone().enumerate() {
                let from = (y * width + right.first + j * window.dilations[1]) * channels;
                let to = (ky * window.kernel[1] + kx) * channels;
                let pixel = values.get(from..)?.get(..channels)?;
                out.get_mut(to..)?.get_mut(..channels)?.copy_from_slice(pixel);
            }
        }
    }
    Some(out)
}
