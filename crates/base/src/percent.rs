//! Percent escapes of paths in URIs: [`percent_decoded`].

/// Decodes percent escapes such as `%41`. Bytes that are not UTF-8 become U+FFFD; what is not an
/// escape stays.
pub fn percent_decoded(text: &str) -> String {
    let (bytes, mut found, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let pair = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(value) => {
                found.push(value);
                at += 3;
            }
            None => {
                found.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&found).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_an_escape_stays() {
        assert_eq!(percent_decoded("/b%20c/%C3%A9.s"), "/b c/é.s");
        assert_eq!(percent_decoded("%é%4"), "%é%4");
    }
}
