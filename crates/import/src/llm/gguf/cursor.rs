//! [`Cursor`]: numbers and texts of a file, one after the other.

/// Reason why reading stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// The file is longer than the bytes in memory, and is needed up to this offset.
    More(u64),
    /// The file is invalid.
    Wrong {
        /// Offset in bytes.
        offset: u64,
        /// Defect of the file.
        reason: String,
    },
}

impl Stop {
    /// Returns the error for what is at `offset`.
    pub(super) fn wrong(offset: u64, reason: impl Into<String>) -> Self {
        Self::Wrong { offset, reason: reason.into() }
    }
}

/// Position in a file. The bytes in memory are the beginning of the file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    file_bytes: u64,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the begin of a file of `file_bytes` bytes.
    pub(super) fn new(bytes: &'a [u8], file_bytes: u64) -> Self {
        Self { bytes, at: 0, file_bytes: file_bytes.max(bytes.len() as u64) }
    }

    /// Offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.at as u64
    }

    /// Size of the file in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Reads `count` bytes of something called `what`.
    pub(super) fn bytes(&mut self, count: u64, what: &str) -> Result<&'a [u8], Stop> {
        let end = self.offset().checked_add(count).filter(|&end| end <= self.file_bytes);
        let Some(end) = end else {
            let (at, size) = (self.offset(), self.file_bytes);
            let reason = format!("{count} bytes of {what} are not within the file of {size} bytes");
            return Err(Stop::wrong(at, reason));
        };
        let found = usize::try_from(end).ok().and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or(Stop::More(end))?;
        self.at += found.len();
        Ok(found)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Stop> {
        let bytes = self.bytes(N as u64, what)?;
        Ok(std::array::from_fn(|index| bytes[index]))
    }

    /// Reads a number of 32 bits.
    pub(super) fn u32(&mut self, what: &str) -> Result<u32, Stop> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// Reads a number of 64 bits.
    pub(super) fn u64(&mut self, what: &str) -> Result<u64, Stop> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// Reads a length of 64 bits and a text of that many bytes.
    pub(super) fn string(&mut self, what: &str) -> Result<String, Stop> {
        let length = self.u64(what)?;
        let at = self.offset();
        let bytes = self.bytes(length, what)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
            Stop::wrong(at + error.valid_up_to() as u64, format!("{what} is not UTF-8 text"))
        })
    }

    /// Checks that the rest of the file can have `count` things of at least `least` bytes each. The
    /// count is at `offset`.
    pub(super) fn check_count(&self, offset: u64, count: u64, least: u64, what: &str) -> Result<(), Stop> {
        let rest = self.file_bytes - self.offset();
        let fits = count.checked_mul(least).is_some_and(|bytes| bytes <= rest);
        let reason = || format!("{count} {what} do not fit in the {rest} bytes that follow");
        if fits { Ok(()) } else { Err(Stop::wrong(offset, reason())) }
    }
}
