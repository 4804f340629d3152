//! The header of an `.npy`: magic, version, and a Python dictionary with three keys.

use crate::npy::descr::Element;
use crate::npy::{At, NpyErrorKind};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Content of a header.
#[derive(Debug)]
pub(super) struct Header {
    pub element: Element,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

impl Header {
    /// Parses a header, and returns it with the bytes after it.
    ///
    /// # Errors
    ///
    /// The offset and the kind of the error: the magic, the version, a truncated header, a header
    /// that is not a dictionary of `descr`, `fortran_order` and `shape`, or an unsupported type.
    pub fn parse(bytes: &[u8]) -> At<(Self, &[u8])> {
        let rest = bytes.strip_prefix(MAGIC).ok_or((0, NpyErrorKind::Magic))?;
        let cut = |needed| (bytes.len(), NpyErrorKind::HeaderCut { needed, present: bytes.len() });
        let (&[major, minor], rest) = rest.split_first_chunk().ok_or(cut(10))?;
        let (length, rest) = match (major, minor) {
            (1, 0) => {
                let (length, rest) = rest.split_first_chunk().ok_or(cut(10))?;
                (usize::from(u16::from_le_bytes(*length)), rest)
            }
            (2 | 3, 0) => {
                let (length, rest) = rest.split_first_chunk().ok_or(cut(12))?;
                (u32::from_le_bytes(*length) as usize, rest)
            }
            _ => return Err((MAGIC.len(), NpyErrorKind::Version { major, minor })),
        };
        let start = bytes.len() - rest.len();
        let (text, values) = rest.split_at_checked(length).ok_or(cut(start.saturating_add(length)))?;
        let header = Dictionary { text, at: 0 }.header();
        header.map(|header| (header, values)).map_err(|(offset, kind)| (start + offset, kind))
    }

    /// Returns the number of elements; `None` on overflow.
    pub fn count(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size))
    }

    /// Returns the bytes of all elements; `None` on overflow.
    pub fn value_bytes(&self) -> Option<usize> {
        self.count()?.checked_mul(self.element.bytes())
    }
}

/// A parser of the dictionary; `at` never exceeds the end.
struct Dictionary<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Dictionary<'a> {
    fn header(mut self) -> At<Header> {
        let (mut element, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{', "{")?;
        while !self.eat(b'}') {
            let key = self.string()?;
            self.expect(b':', ":")?;
            match key {
                b"descr" => element = Some(self.element()?),
                b"fortran_order" => fortran_order = Some(self.truth()?),
                b"shape" => shape = Some(self.tuple()?),
                _ => return self.error("only the keys 'descr', 'fortran_order' and 'shape'"),
            }
            if !self.eat(b',') {
                self.expect(b'}', ", or }")?;
                break;
            }
        }
        match (element, fortran_order, shape) {
            (Some(element), Some(fortran_order), Some(shape)) => Ok(Header { element, fortran_order, shape }),
            _ => self.error("the keys 'descr', 'fortran_order' and 'shape'"),
        }
    }

    fn error<T>(&self, expected: &'static str) -> At<T> {
        Err((self.at, NpyErrorKind::Header { expected }))
    }

    /// Skips blanks, and returns the remaining text.
    fn rest(&mut self) -> &'a [u8] {
        let blanks = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += blanks;
        &self.text[self.at..]
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.rest().first() == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> At<()> {
        if self.eat(byte) { Ok(()) } else { self.error(expected) }
    }

    /// Returns the characters for which `holds` is true, up to the first other one.
    fn run(&mut self, holds: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|&&byte| holds(byte)).count();
        self.at += length;
        &rest[..length]
    }

    fn string(&mut self) -> At<&'a [u8]> {
        let quote = match self.rest().first() {
            Some(&quote @ (b'\'' | b'"')) => quote,
            _ => return self.error("a string"),
        };
        self.at += 1;
        let string = self.run(|byte| byte != quote);
        self.expect(quote, "the end of a string")?;
        Ok(string)
    }

    fn element(&mut self) -> At<Element> {
        self.rest();
        let at = self.at;
        let descr = match self.rest().first() {
            // A structured type is a list, which need not be parsed further.
            Some(b'[') => self.run(|byte| byte != b']'),
            _ => self.string()?,
        };
        let unknown = || NpyErrorKind::Descr { descr: String::from_utf8_lossy(descr).into_owned() };
        Element::parse(descr).ok_or_else(|| (at, unknown()))
    }

    fn truth(&mut self) -> At<bool> {
        self.rest();
        match self.run(|byte| byte.is_ascii_alphabetic()) {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => self.error("True or False"),
        }
    }

    fn tuple(&mut self) -> At<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect(b'(', "(")?;
        while !self.eat(b')') {
            shape.push(self.number()?);
            if !self.eat(b',') {
                self.expect(b')', ", or )")?;
                break;
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> At<usize> {
        self.rest();
        let digits = self.run(|byte| byte.is_ascii_digit());
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        // Python 2 wrote long numbers with an L.
        self.eat(b'L');
        number.map_or_else(|| self.error("a size of at most 64 bits"), Ok)
    }
}
