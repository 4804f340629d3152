//! RFC 4648 base64, with padding.

/// The bytes of a text; none when it is no base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    for (index, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|&&letter| letter == b'=').count();
        if padding > 2 || (padding > 0 && index + 1 < groups.len()) {
            return None;
        }
        let mut bits = 0u32;
        for &letter in &group[..4 - padding] {
            bits = bits << 6 | value(letter)?;
        }
        bits <<= 6 * padding;
        let [_, three @ ..] = bits.to_be_bytes();
        bytes.extend(three.iter().take(3 - padding));
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn texts_of_the_standard() {
        let cases = [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmE=", "fooba")];
        for (text, bytes) in cases {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for text in ["Zg", "Z===", "Zg==Zg==", "Zm9-", "====", "Z=g="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
