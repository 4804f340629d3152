//! Reader of FlatBuffers: [`Table`] reads the fields of a table by number. Every offset is checked
//! before it is followed.
//!
//! Source: "FlatBuffers internals". All numbers are little-endian. A table begins with the distance
//! back to its vtable. The vtable holds its own size, the size of the table, and for each field its
//! distance from the start of the table, or 0 if it is absent. Fields with strings, vectors and
//! tables hold distances from the field. A vector begins with its length.

/// Reason why bytes are not a valid FlatBuffer of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// Byte offset of the damage.
    pub(super) offset: usize,
    /// Description of the damage.
    pub(super) reason: &'static str,
}

/// A table in a file.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    start: usize,
    vtable: usize,
    vtable_bytes: usize,
}

/// Reads the `N` bytes at `at`.
fn read<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Damage> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or(Damage { offset: at, reason: "an offset leads beyond the end of the file" })
}

/// Offset to which the distance at `at` leads.
fn follow(bytes: &[u8], at: usize) -> Result<usize, Damage> {
    let distance = u32::from_le_bytes(read(bytes, at)?) as usize;
    let beyond = Damage { offset: at, reason: "an offset leads beyond the end of the file" };
    at.checked_add(distance).filter(|&target| target < bytes.len()).ok_or(beyond)
}

impl<'a> Table<'a> {
    /// Returns the outermost table of a file.
    pub(super) fn root(bytes: &'a [u8]) -> Result<Self, Damage> {
        Self::at(bytes, follow(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], start: usize) -> Result<Self, Damage> {
        let back = i64::from(i32::from_le_bytes(read(bytes, start)?));
        let beyond = Damage { offset: start, reason: "a table's vtable is outside the file" };
        let vtable = usize::try_from(start as i64 - back).map_err(|_| beyond)?;
        let vtable_bytes = usize::from(u16::from_le_bytes(read(bytes, vtable)?));
        if vtable_bytes < 4 || vtable_bytes % 2 != 0 || vtable + vtable_bytes > bytes.len() {
            return Err(Damage { offset: vtable, reason: "a vtable has an illegal size" });
        }
        Ok(Self { bytes, start, vtable, vtable_bytes })
    }

    /// Offset of a field, or `None` if it is absent.
    fn field(&self, field: usize) -> Result<Option<usize>, Damage> {
        let entry = 4 + 2 * field;
        if entry + 2 > self.vtable_bytes {
            return Ok(None);
        }
        let distance = usize::from(u16::from_le_bytes(read(self.bytes, self.vtable + entry)?));
        Ok((distance != 0).then_some(self.start + distance))
    }

    fn scalar<const N: usize>(&self, field: usize) -> Result<Option<[u8; N]>, Damage> {
        self.field(field)?.map(|at| read(self.bytes, at)).transpose()
    }

    /// Reads a signed byte. Here and below, `default` is the schema's value of an absent field.
    pub(super) fn i8(&self, field: usize, default: i8) -> Result<i8, Damage> {
        Ok(self.scalar(field)?.map_or(default, i8::from_le_bytes))
    }

    /// Reads a truth value; false if it is absent.
    pub(super) fn flag(&self, field: usize) -> Result<bool, Damage> {
        Ok(self.i8(field, 0)? != 0)
    }

    /// Reads a 32-bit integer.
    pub(super) fn i32(&self, field: usize, default: i32) -> Result<i32, Damage> {
        Ok(self.scalar(field)?.map_or(default, i32::from_le_bytes))
    }

    /// Reads an unsigned 32-bit integer; 0 if it is absent.
    pub(super) fn u32(&self, field: usize) -> Result<u32, Damage> {
        Ok(self.scalar(field)?.map_or(0, u32::from_le_bytes))
    }

    /// Reads an unsigned 64-bit integer; 0 if it is absent.
    pub(super) fn u64(&self, field: usize) -> Result<u64, Damage> {
        Ok(self.scalar(field)?.map_or(0, u64::from_le_bytes))
    }

    /// Reads a 32-bit float.
    pub(super) fn f32(&self, field: usize, default: f32) -> Result<f32, Damage> {
        Ok(self.scalar(field)?.map_or(default, f32::from_le_bytes))
    }

    /// Reads a nested table, or `None` if it is absent.
    pub(super) fn table(&self, field: usize) -> Result<Option<Self>, Damage> {
        let target = self.field(field)?.map(|at| follow(self.bytes, at)).transpose()?;
        target.map(|start| Self::at(self.bytes, start)).transpose()
    }

    /// Offset of a vector's first element, and its length. All its elements of `size` bytes are
    /// within the file.
    fn vector(&self, field: usize, size: usize) -> Result<Option<(usize, usize)>, Damage> {
        let Some(at) = self.field(field)? else { return Ok(None) };
        let start = follow(self.bytes, at)?;
        let length = u32::from_le_bytes(read(self.bytes, start)?) as usize;
        let end = length.checked_mul(size).and_then(|bytes| bytes.checked_add(start + 4));
        match end {
            Some(end) if end <= self.bytes.len() => Ok(Some((start + 4, length))),
            _ => Err(Damage { offset: start, reason: "a vector is longer than the file" }),
        }
    }

    /// Reads elements of `N` bytes; empty if the vector is absent.
    pub(super) fn elements<const N: usize>(&self, field: usize) -> Result<&'a [[u8; N]], Damage> {
        let Some((start, length)) = self.vector(field, N)? else { return Ok(&[]) };
        let elements = self.bytes.get(start..start + N * length).map(|bytes| bytes.as_chunks().0);
        elements.ok_or(Damage { offset: start, reason: "a vector is longer than the file" })
    }

    /// Reads bytes; empty if the vector is absent.
    pub(super) fn bytes(&self, field: usize) -> Result<&'a [u8], Damage> {
        Ok(self.elements::<1>(field)?.as_flattened())
    }

    /// Reads text; empty if it is absent.
    pub(super) fn text(&self, field: usize) -> Result<String, Damage> {
        Ok(String::from_utf8_lossy(self.bytes(field)?).into_owned())
    }

    /// Reads a vector of 32-bit integers.
    pub(super) fn integers(&self, field: usize) -> Result<Vec<i32>, Damage> {
        Ok(self.elements(field)?.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect())
    }

    /// Reads a vector of tables.
    pub(super) fn tables(&self, field: usize) -> Result<Vec<Self>, Damage> {
        let Some((start, length)) = self.vector(field, 4)? else { return Ok(Vec::new()) };
        (0..length).map(|i| Self::at(self.bytes, follow(self.bytes, start + 4 * i)?)).collect()
    }

    /// Bytes of the whole file.
    pub(super) fn file(&self) -> &'a [u8] {
        self.bytes
    }
}
