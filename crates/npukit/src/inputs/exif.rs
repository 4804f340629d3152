//! [`is_turned`]: the orientation of an image in its Exif data.

/// Tag of the orientation, type of its value (16 bits), and value of an image that is stored
/// upright.
const ORIENTATION: u16 = 0x112;
const SHORT: u16 = 3;
const UPRIGHT: u16 = 1;

/// Whether Exif data (a TIFF header and its first directory) asks viewers to rotate or mirror the
/// image. Damaged data is ignored.
pub(super) fn is_turned(exif: &[u8]) -> bool {
    orientation(exif).is_some_and(|value| (UPRIGHT + 1..=8).contains(&value))
}

fn orientation(exif: &[u8]) -> Option<u16> {
    let is_little = match exif.get(..4)? {
        [b'I', b'I', 42, 0] => true,
        [b'M', b'M', 0, 42] => false,
        _ => return None,
    };
    let short = |place: usize| {
        let bytes = *exif.get(place..)?.first_chunk()?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let bytes = *exif.get(4..)?.first_chunk()?;
    let offset = if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
    let directory = usize::try_from(offset).ok()?;
    let mut entries =
        (0..usize::from(short(directory)?)).map(|entry| directory.saturating_add(2 + 12 * entry));
    let is_orientation =
        |&entry: &usize| short(entry) == Some(ORIENTATION) && short(entry + 2) == Some(SHORT);
    short(entries.find(is_orientation)? + 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a directory of two entries. The second is the orientation, in either byte
    /// order.
    fn exif(value: u16, is_little: bool) -> Vec<u8> {
        let short = |value: u16| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut bytes = if is_little { b"II*\0\x08\0\0\0".to_vec() } else { b"MM\0*\0\0\0\x08".to_vec() };
        for word in [2, 0x10f, SHORT, 0, 1, 6, 0, ORIENTATION, SHORT, 0, 1, value, 0] {
            bytes.extend(short(word));
        }
        bytes
    }

    #[test]
    fn the_orientation_is_found_in_both_orders_of_bytes() {
        for is_little in [true, false] {
            assert!(!is_turned(&exif(1, is_little)));
            assert!((2..=8).all(|value| is_turned(&exif(value, is_little))));
            assert!(!is_turned(&exif(9, is_little)));
            for end in 0..exif(6, is_little).len() {
                let _ = is_turned(&exif(6, is_little)[..end]);
            }
        }
    }
}
