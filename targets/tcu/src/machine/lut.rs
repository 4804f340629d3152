//! [`Tables`]: lookup tables, npukit's extension based on the instruction set specification.
//!
//! The specification names LoadLUT and the Lookup operation, but no layout. npukit's layout,
//! disabled unless `lookup_tables` is above 0:
//!
//! * Table 0 is the index: the keys. Tables 1 to `lookup_tables` are values.
//! * LoadLUT replaces a table. Its entries are the scalars of the loaded vectors, in order of
//!   vector and lane: entry `e` is lane `e mod N` of vector `e / N`. All lanes share the tables. An
//!   incomplete last vector is filled by repeating its last entry.
//! * Lookup finds for each lane the key closest to the argument, the first loaded of two that are
//!   equally close. Its first result, to the output and register `d`, is `argument - key`,
//!   saturated; the value of table `t` goes to register `d + t`. With `d = 0` the difference goes
//!   only to the output, and the values to the registers starting at 1.

use std::collections::BTreeMap;

use npukit_numeric::{Number, NumberFormat, Saturations};

use crate::isa::fault::FaultKind;

/// The loaded tables, by number.
#[derive(Clone, Debug)]
pub(crate) struct Tables<T>(BTreeMap<u64, Vec<T>>);

impl<T> Default for Tables<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// Result of a lookup in one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LookupResult {
    /// `argument - key`, saturated, raw.
    pub difference: i32,
    /// Entry of the key.
    pub entry: usize,
}

impl<T: Clone> Tables<T> {
    /// Replaces table `table`.
    pub fn load(&mut self, table: u64, entries: Vec<T>) {
        self.0.insert(table, entries);
    }

    /// Returns the entries of a table; empty if it was never loaded.
    pub fn entries(&self, table: u64) -> &[T] {
        self.0.get(&table).map_or(&[][..], |entries| entries)
    }

    /// Returns entry `entry` of value table `table`.
    ///
    /// # Errors
    ///
    /// [`FaultKind::EntryMissing`] if the table is shorter, or was never loaded.
    pub fn value(&self, table: usize, entry: usize) -> Result<T, FaultKind> {
        let values = self.entries(table as u64);
        let missing = FaultKind::EntryMissing { table, entry, entries: values.len() };
        values.get(entry).cloned().ok_or(missing)
    }
}

impl<T: Copy> Tables<T> {
    /// Returns the key closest to `argument`.
    ///
    /// # Errors
    ///
    /// [`FaultKind::IndexEmpty`] if no key was loaded.
    pub fn find<F: Number<Raw = T>>(
        &self,
        argument: T,
        saturations: &mut Saturations,
    ) -> Result<LookupResult, FaultKind> {
        let keys = self.entries(0);
        let argument = F::to_raw(argument);
        let distance = |&key: &T| distance(F::FORMAT, argument, F::to_raw(key));
        // `min_by` returns the first of equal keys.
        let closest = keys.iter().enumerate().min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
        let (entry, &key) = closest.ok_or(FaultKind::IndexEmpty)?;
        Ok(LookupResult { difference: F::FORMAT.sub(argument, F::to_raw(key), saturations), entry })
    }
}

/// Returns the distance between two raw values. It is exact for fixed-point formats because their
/// differences fit in 33 bits.
fn distance(format: NumberFormat, a: i32, b: i32) -> f64 {
    match format {
        NumberFormat::Fixed(_) => (f64::from(a) - f64::from(b)).abs(),
        NumberFormat::Float32 => (f64::from(format.raw_to_f32(a)) - f64::from(format.raw_to_f32(b))).abs(),
    }
}
