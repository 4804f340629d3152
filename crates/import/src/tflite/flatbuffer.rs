//! FlatBuffers: [`Table`] reads the fields of a table by number. Every offset is checked before it is followed.
//!
//! Source: "FlatBuffers internals". All numbers are little-endian. A table begins with the distance back to its vtable:
//! the vtable's size, the table's, and for each field its distance from the table's start, 0 where it is left out.
//! Strings, vectors and tables in fields are distances from the field on; a vector begins with its length.

/// Bytes that are no FlatBuffer of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// Where.
    pub(super) offset: usize,
    /// What is wrong there.
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

/// The `N` bytes at `at`.
fn read<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Damage> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or(Damage { offset: at, reason: "an offset leads beyond the end of the file" })
}

/// Where the distance at `at` leads.
fn follow(bytes: &[u8], at: usize) -> Result<usize, Damage> {
    let distance = u32::from_le_bytes(read(bytes, at)?) as usize;
    let beyond = Damage { offset: at, reason: "an offset leads beyond the end of the file" };
    at.checked_add(distance).filter(|&target| target < bytes.len()).ok_or(beyond)
}

impl<'a> Table<'a> {
    /// The outermost table of a file.
    pub(super) fn root(bytes: &'a [u8]) -> Result<Self, Damage> {
        Self::at(bytes, follow(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], start: usize) -> Result<Self, Damage> {
        let back = i64::from(i32::from_le_bytes(read(bytes, start)?));
        let beyond = Damage { offset: start, reason: "a table's vtable lies outside the file" };
        let vtable = usize::try_from(start as i64 - back).map_err(|_| beyond)?;
        let vtable_bytes = usize::from(u16::from_le_bytes(read(bytes, vtable)?));
        if vtable_bytes < 4 || vtable_bytes % 2 != 0 || vtable + vtable_bytes > bytes.len() {
            return Err(Damage { offset: vtable, reason: "a vtable has no legal size" });
        }
        Ok(Self { bytes, start, vtable, vtable_bytes })
    }

    /// Where a field is; none when it is left out.
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

    /// A byte with a sign; `default` is what the schema says for a field that is left out, here and below.
    pub(super) fn i8(&self, field: usize, default: i8) -> Result<i8, Damage> {
        Ok(self.scalar(field)?.map_or(default, i8::from_le_bytes))
    }

    /// A truth value, false when left out.
    pub(super) fn flag(&self, field: usize) -> Result<bool, Damage> {
        Ok(self.i8(field, 0)? != 0)
    }

    /// An integer of 32 bits.
    pub(super) fn i32(&self, field: usize, default: i32) -> Result<i32, Damage> {
        Ok(self.scalar(field)?.map_or(default, i32::from_le_bytes))
    }

    /// An integer of 32 bits without a sign, 0 when left out.
    pub(super) fn u32(&self, field: usize) -> Result<u32, Damage> {
        Ok(self.scalar(field)?.map_or(0, u32::from_le_bytes))
    }

    /// An integer of 64 bits without a sign, 0 when left out.
    pub(super) fn u64(&self, field: usize) -> Result<u64, Damage> {
        Ok(self.scalar(field)?.map_or(0, u64::from_le_bytes))
    }

    /// A float.
    pub(super) fn f32(&self, field: usize, default: f32) -> Result<f32, Damage> {
        Ok(self.scalar(field)?.map_or(default, f32::from_le_bytes))
    }

    /// A table, when there is one.
    pub(super) fn table(&self, field: usize) -> Result<Option<Self>, Damage> {
        let target = self.field(field)?.map(|at| follow(self.bytes, at)).transpose()?;
        target.map(|start| Self::at(self.bytes, start)).transpose()
    }

    /// The place of a vector's first element and its length; its elements of `size` bytes are all in the file.
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

    /// Elements of `N` bytes, none when the vector is left out.
    pub(super) fn elements<const N: usize>(&self, field: usize) -> Result<&'a [[u8; N]], Damage> {
        let Some((start, length)) = self.vector(field, N)? else { return Ok(&[]) };
        let elements = self.bytes.get(start..start + N * length).map(|bytes| bytes.as_chunks().0);
        elements.ok_or(Damage { offset: start, reason: "a vector is longer than the file" })
    }

    /// Bytes, none when the vector is left out.
    pub(super) fn bytes(&self, field: usize) -> Result<&'a [u8], Damage> {
        Ok(self.elements::<1>(field)?.as_flattened())
    }

    /// Text, none when it is left out.
    pub(super) fn text(&self, field: usize) -> Result<String, Damage> {
        Ok(String::from_utf8_lossy(self.bytes(field)?).into_owned())
    }

    /// Integers of 32 bits.
    pub(super) fn integers(&self, field: usize) -> Result<Vec<i32>, Damage> {
        Ok(self.elements(field)?.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect())
    }

    /// Tables.
    pub(super) fn tables(&self, field: usize) -> Result<Vec<Self>, Damage> {
        let Some((start, length)) = self.vector(field, 4)? else { return Ok(Vec::new()) };
        (0..length).map(|i| Self::at(self.bytes, follow(self.bytes, start + 4 * i)?)).collect()
    }

    /// The whole file.
    pub(super) fn file(&self) -> &'a [u8] {
        self.bytes
    }
}
