//! [`Element`]: the element type in a header's `descr`.

use crate::element::ElementType;

/// Type of an element, and its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub element: ElementType,
    pub big_endian: bool,
}

impl Element {
    /// Parses a `descr` such as `<f4`.
    pub fn parse(descr: &[u8]) -> Option<Self> {
        let (order, kind) = match descr {
            [order @ (b'<' | b'>' | b'|' | b'='), kind @ ..] => (*order, kind),
            kind => (b'=', kind),
        };
        let element = match kind {
            b"b1" | b"?" => ElementType::Bool,
            b"i1" => ElementType::I8,
            b"i2" => ElementType::I16,
            b"i4" => ElementType::I32,
            b"i8" => ElementType::I64,
            b"u1" => ElementType::U8,
            b"u2" => ElementType::U16,
            b"u4" => ElementType::U32,
            b"u8" => ElementType::U64,
            b"f2" => ElementType::F16,
            b"f4" => ElementType::F32,
            b"f8" => ElementType::F64,
            _ => return None,
        };
        let big_endian = order == b'>' || (order == b'=' && cfg!(target_endian = "big"));
        Some(Self { element, big_endian })
    }

    /// Returns the bytes of an element.
    pub fn bytes(self) -> usize {
        self.element.bits() / 8
    }
}
