//! Objects: runs of vectors stored in a memory, and references to single vectors.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use npukit_graph::{Graph, ValueId};
use npukit_numeric::NumberFormat;

/// Index of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// Reference to one vector of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VecRef {
    /// Object that contains the vector.
    pub object: ObjectId,
    /// Index of the vector in the object.
    pub index: u32,
}

impl VecRef {
    /// A vector of zeros that needs no storage.
    pub const ZERO: Self = Self { object: ObjectId(u32::MAX), index: 0 };

    /// Whether this is [`VecRef::ZERO`].
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

/// Consecutive vectors of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Object that contains the vectors.
    pub object: ObjectId,
    /// Index of the first vector.
    pub start: u32,
    /// One past the last vector.
    pub end: u32,
}

impl Span {
    /// Returns the number of vectors.
    pub fn length(&self) -> u64 {
        u64::from(self.end - self.start)
    }
}

/// Returns sorted, disjoint spans that cover `vectors`; zero vectors without storage are skipped.
pub fn spans(vectors: impl IntoIterator<Item = VecRef>) -> Vec<Span> {
    let mut pieces = Vec::new();
    add_pieces(&mut pieces, vectors);
    merge(pieces)
}

/// Appends spans that cover `vectors` in the given order; they may overlap. Zero vectors without
/// storage are skipped.
pub fn add_pieces(pieces: &mut Vec<Span>, vectors: impl IntoIterator<Item = VecRef>) {
    for vector in vectors.into_iter().filter(|vector| !vector.is_zero()) {
        match pieces.last_mut() {
            Some(last) if last.object == vector.object && last.end == vector.index => last.end += 1,
            _ => pieces.push(Span { object: vector.object, start: vector.index, end: vector.index + 1 }),
        }
    }
}

/// Sorts spans and joins overlapping and adjacent spans.
pub fn merge(mut pieces: Vec<Span>) -> Vec<Span> {
    // Pieces come in sorted runs, which a stable sort merges quickly. The order of equal keys does
    // not matter.
    pieces.sort_by_key(|piece| (u64::from(piece.object.0) << 32) | u64::from(piece.start));
    pieces.dedup_by(|next, last| {
        let joined = last.object == next.object && next.start <= last.end;
        if joined {
            last.end = last.end.max(next.end);
        }
        joined
    });
    pieces
}

/// Purpose of an object. Together with the strategy it decides where the object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// The host writes it to DRAM0 before the program runs.
    Input,
    /// The host reads it from DRAM0 after the program has run.
    Output,
    /// Written by one layer and read by others.
    Variable,
    /// Known at compile time.
    Constant,
}

/// A run of vectors.
#[derive(Clone, Debug)]
pub struct Object {
    /// Name in the model, or derived from one.
    pub name: String,
    /// Graph value that the object stores completely; `None` if the compiler added the object.
    pub value: Option<ValueId>,
    /// Purpose of the object.
    pub kind: ObjectKind,
    /// Number of vectors.
    pub vectors: u32,
    /// Raw scalars of a constant, `array_size` per vector; empty for other kinds.
    pub data: Vec<i32>,
}

/// All objects of a model.
#[derive(Clone, Debug)]
pub struct Objects {
    format: NumberFormat,
    array_size: usize,
    list: Vec<Object>,
    splats: HashMap<i32, ObjectId>,
    /// Constants by a hash of samples of their data.
    constants: HashMap<u64, Vec<ObjectId>>,
    saturated: u64,
    constant_vectors: u64,
}

impl Objects {
    /// Creates an empty set of objects, for vectors of `array_size` scalars in `format`.
    pub fn new(format: NumberFormat, array_size: usize) -> Self {
        Self {
            format,
            array_size,
            list: Vec::new(),
            splats: HashMap::new(),
            constants: HashMap::new(),
            saturated: 0,
            constant_vectors: 0,
        }
    }

    /// Returns the object `id`.
    pub fn get(&self, id: ObjectId) -> &Object {
        &self.list[id.0 as usize]
    }

    /// Returns all objects with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.list.iter().enumerate().map(|(i, object)| (ObjectId(i as u32), object))
    }

    /// Shortens a variable to `vectors` vectors.
    pub fn shorten(&mut self, id: ObjectId, vectors: u32) {
        self.list[id.0 as usize].vectors = vectors;
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the set has no object.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of constant elements that saturated when they were converted.
    pub fn saturated_constants(&self) -> u64 {
        self.saturated
    }

    /// Returns the number of vectors of all constants.
    pub fn constant_vectors(&self) -> u64 {
        self.constant_vectors
    }

    /// Adds an object without contents that is not a value of the graph.
    pub fn add(&mut self, name: String, kind: ObjectKind, vectors: usize) -> ObjectId {
        self.push(Object { name, value: None, kind, vectors: vectors as u32, data: Vec::new() })
    }

    /// Adds an object without contents for a value of the graph, under its name.
    pub fn add_value(&mut self, graph: &Graph, id: ValueId, kind: ObjectKind, vectors: usize) -> ObjectId {
        let name = graph.value(id).name.clone();
        self.push(Object { name, value: Some(id), kind, vectors: vectors as u32, data: Vec::new() })
    }

    /// Adds a constant; `data` holds whole vectors. Constants with equal data share one object.
    pub fn add_constant(&mut self, name: String, data: Vec<i32>) -> ObjectId {
        let hash = sampled_hash(&data);
        let alike = self.constants.get(&hash).into_iter().flatten();
        if let Some(known) = alike.copied().find(|&id| self.get(id).data == data) {
            return known;
        }
        let id = self.new_constant(name, data);
        self.constants.entry(hash).or_default().push(id);
        id
    }

    fn new_constant(&mut self, name: String, data: Vec<i32>) -> ObjectId {
        let vectors = (data.len() / self.array_size) as u32;
        self.constant_vectors += u64::from(vectors);
        self.push(Object { name, value: None, kind: ObjectKind::Constant, vectors, data })
    }

    /// Returns a constant vector with `value` in all lanes; one object per value.
    pub fn splat(&mut self, value: f32) -> VecRef {
        let raw = self.raw(value);
        let object = match self.splats.get(&raw) {
            Some(&id) => id,
            None => {
                let id = self.add_constant(format!("splat({value})"), vec![raw; self.array_size]);
                self.splats.insert(raw, id);
                id
            }
        };
        VecRef { object, index: 0 }
    }

    /// Converts a constant element and counts it if it saturates.
    pub fn raw(&mut self, value: f32) -> i32 {
        let (raw, saturates) = converted(self.format, value);
        self.saturated += u64::from(saturates);
        raw
    }

    /// Returns the number format.
    pub fn format(&self) -> NumberFormat {
        self.format
    }

    /// Adds `count` saturated elements that were converted elsewhere.
    pub fn count_saturated(&mut self, count: u64) {
        self.saturated += count;
    }

    fn push(&mut self, object: Object) -> ObjectId {
        let id = ObjectId(self.list.len() as u32);
        self.list.push(object);
        id
    }
}

/// Converts a constant to a format and returns whether it saturates. Equal to
/// [`NumberFormat::raw_from_f32`], but faster for values in range.
pub fn converted(format: NumberFormat, value: f32) -> (i32, bool) {
    let NumberFormat::Fixed(fixed) = format else { return (format.raw_from_f32(value), false) };
    // The sum is exact: multiplying by a power of two is exact, and one half adds at most one bit.
    let scaled = f64::from(value) * fixed.one() as f64 + 0.5;
    if scaled.abs() < MAX_EXACT {
        let whole = scaled as i64;
        let floor = whole - i64::from(whole as f64 > scaled);
        if (fixed.min()..=fixed.max()).contains(&floor) {
            return (floor as i32, false);
        }
    }
    let saturates = scaled.floor() > fixed.max() as f64 || scaled.floor() < fixed.min() as f64;
    (format.raw_from_f32(value), saturates)
}

/// Bound of the fast integer conversion.
const MAX_EXACT: f64 = (1_u64 << 40) as f64;

/// Hashes the length and evenly spaced samples of the data. Callers compare the whole data if
/// hashes are equal.
fn sampled_hash(data: &[i32]) -> u64 {
    const SAMPLES: usize = 1 << 10;
    let mut hasher = DefaultHasher::new();
    data.len().hash(&mut hasher);
    data.iter().step_by((data.len() / SAMPLES).max(1)).for_each(|raw| raw.hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use npukit_numeric::FixedFormat;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn constants_that_leave_the_range_are_counted() {
        let format = NumberFormat::Fixed(FixedFormat { width: 8, binary_point: 4 });
        // Numbers range from -8 to 127/16. Values that round to an end of the range do not
        // saturate.
        for (value, raw, saturates) in [
            (7.9375, 127, 0),
            (7.96, 127, 0),
            (7.97, 127, 1),
            (100.0, 127, 1),
            (0.5, 8, 0),
            (-8.0, -128, 0),
            (-8.03, -128, 0),
            (-8.04, -128, 1),
            (-100.0, -128, 1),
        ] {
            let mut objects = Objects::new(format, 4);
            assert_eq!((objects.raw(value), objects.saturated_constants()), (raw, saturates), "{value}");
        }
        let mut floats = Objects::new(NumberFormat::Float32, 4);
        assert_eq!((floats.raw(1e30), floats.saturated_constants()), (1e30_f32.to_bits() as i32, 0));
    }

    proptest! {
        /// Numbers around every step of a format, far out of range, and arbitrary bit patterns.
        #[test]
        fn constants_are_converted_as_numbers_are(
            steps in -300..300_i32,
            beside in -3..=3_i32,
            bits: u32,
            (width, binary_point) in (2..=32_u32, 0..20_u32),
        ) {
            let fixed = FixedFormat { width, binary_point: binary_point.min(width - 1) };
            let format = NumberFormat::Fixed(fixed);
            let near = f32::from_bits((steps as f32 / 2.0 / fixed.one() as f32).to_bits().wrapping_add_signed(beside));
            for value in [near, f32::from_bits(bits), near * 1e6, f32::NAN, f32::INFINITY] {
                let scaled = (f64::from(value) * fixed.one() as f64 + 0.5).floor();
                let saturates = scaled > fixed.max() as f64 || scaled < fixed.min() as f64;
                prop_assert_eq!(converted(format, value), (format.raw_from_f32(value), saturates), "{}", value);
            }
        }
    }

    #[test]
    fn constants_of_the_same_data_are_one_object() {
        let mut objects = Objects::new(NumberFormat::Float32, 2);
        assert!(objects.is_empty());
        let first = objects.add_constant("first".to_owned(), vec![1, 2, 3, 4]);
        let second = objects.add_constant("second".to_owned(), vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(objects.add_constant("again".to_owned(), vec![1, 2, 3, 4]), first);
        let splat = objects.splat(0.0);
        assert_eq!(objects.splat(0.0), splat);
        objects.add("variable".to_owned(), ObjectKind::Variable, 7);
        assert_ne!(first, second);
        assert_eq!((objects.len(), objects.is_empty(), objects.constant_vectors()), (4, false, 2 + 3 + 1));
    }
}
