//! NumPy broadcasting, element by element.

/// Returns the index of the element of a tensor of shape `from` that is broadcast to element
/// `index` of shape `to`.
pub fn broadcast(index: usize, to: &[usize], from: &[usize]) -> usize {
    let skipped = to.len() - from.len();
    let (mut rest, mut scale, mut at) = (index, 1, 0);
    for (axis, &size) in to.iter().enumerate().rev() {
        let position = rest % size;
        rest /= size;
        if let Some(&own) = axis.checked_sub(skipped).and_then(|axis| from.get(axis)) {
            at += if own == 1 { 0 } else { position * scale };
            scale *= own;
        }
    }
    at
}
