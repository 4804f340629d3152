//! [`Lane`]: compact storage of a track's events.
//!
//! Events are sequences of varints. A slice has its distance from the previous slice, its length,
//! the number of its name, the number of details, and for each detail its column and number. A
//! counter value has the cycles since the last value and the bits of the new one.

use std::io;

use prost::encoding::{decode_varint, encode_varint};

use super::texts::Texts;
use crate::model::{Interval, Role, Shown, Value};

/// Details that repeat the slice's times.
const TIMES: [&str; 2] = ["cycle", "cycles"];
/// Details that a recorder omits if they are all cycles, for work and for waits.
const ALL_CYCLES: [(Role, &str); 2] = [(Role::Unit, "busy"), (Role::Waits, "waited")];
/// Detail that a recorder omits if it is 0.
const NONE: &str = "bytes";

/// Events of a track.
#[derive(Debug)]
pub(super) struct Lane {
    pub name: String,
    pub role: Role,
    /// Index of the parent lane.
    pub parent: Option<usize>,
    /// Maximum number of characters of a slice's name.
    pub longest: usize,
    /// Details of its slices.
    pub columns: Vec<Column>,
    /// Whether all values of the counter are exact whole numbers.
    pub is_whole: bool,
    /// Largest value of the counter.
    pub most: f64,
    tape: Vec<u8>,
    /// Cycle of the last event.
    pub end: u64,
}

/// Detail of slices with a common key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub key: String,
    pub is_text: bool,
    /// Largest number, or maximum number of characters.
    pub most: u64,
}

impl Column {
    /// Returns the value for slices that do not have the detail, if it is known.
    pub fn unsaid(&self) -> Option<u64> {
        (self.key == NONE && !self.is_text).then_some(0)
    }
}

/// Slice, read from a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Played {
    pub start: u64,
    pub end: u64,
    pub name: u64,
    /// Details that the slice has, by column.
    pub values: Vec<(usize, u64)>,
}

impl Lane {
    pub fn new(shown: &Shown<'_>) -> Self {
        Self {
            name: shown.name.to_owned(),
            role: shown.role,
            parent: shown.parent.and_then(|track| track.0.checked_sub(1)),
            longest: 0,
            columns: Vec::new(),
            is_whole: true,
            most: 0.0,
            tape: Vec::new(),
            end: 0,
        }
    }

    /// Adds a slice. A slice of 0 cycles is never visible and is omitted.
    ///
    /// Errors: it begins before the previous one ends.
    pub fn slice(&mut self, interval: &Interval<'_>, texts: &mut Texts) -> io::Result<()> {
        let Some(cycles) = interval.end.checked_sub(interval.start).filter(|cycles| *cycles > 0) else {
            return Ok(());
        };
        let after = self.after(interval.start)?;
        self.end = interval.end;
        let (name, long) = texts.number(interval.name);
        self.longest = self.longest.max(long);
        let values = self.values(interval, texts);
        for number in [after, cycles, name, values.len() as u64] {
            encode_varint(number, &mut self.tape);
        }
        values.into_iter().flatten().for_each(|number| encode_varint(number, &mut self.tape));
        Ok(())
    }

    /// Adds a value of a counter.
    ///
    /// Errors: it is older than the previous one.
    pub fn count(&mut self, at: u64, value: f64) -> io::Result<()> {
        let after = self.after(at)?;
        self.end = at;
        self.is_whole &= value.fract() == 0.0 && (0.0..EXACT).contains(&value);
        self.most = self.most.max(value);
        encode_varint(after, &mut self.tape);
        self.tape.extend(value.to_bits().to_le_bytes());
        Ok(())
    }

    /// Returns the cycles since the last event.
    fn after(&self, cycle: u64) -> io::Result<u64> {
        let early = || {
            format!("the track `{}` has an event in cycle {cycle} after one in cycle {}", self.name, self.end)
        };
        cycle.checked_sub(self.end).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, early()))
    }

    /// Returns the column and the number of each detail.
    fn values(&mut self, interval: &Interval<'_>, texts: &mut Texts) -> Vec<[u64; 2]> {
        let says = |wanted: &str| interval.details.iter().find(|(key, _)| *key == wanted);
        let all = ALL_CYCLES.iter().find(|(role, key)| *role == self.role && says(key).is_none());
        let all = all.and_then(|(_, key)| Some((*key, says("cycles")?.1)));
        let shown = interval.details.iter().copied().filter(|(key, _)| !TIMES.contains(key));
        shown.chain(all).map(|(key, value)| self.value(key, value, texts)).collect()
    }

    fn value(&mut self, key: &str, value: Value<'_>, texts: &mut Texts) -> [u64; 2] {
        let (is_text, (number, most)) = match value {
            Value::Number(number) => (false, (number, number)),
            Value::Text(text) => {
                let (number, long) = texts.number(text);
                (true, (number, long as u64))
            }
        };
        let known = self.columns.iter().position(|column| column.key == key && column.is_text == is_text);
        let place = known.unwrap_or_else(|| {
            self.columns.push(Column { key: key.to_owned(), is_text, most: 0 });
            self.columns.len() - 1
        });
        if let Some(column) = self.columns.get_mut(place) {
            column.most = column.most.max(most);
        }
        [place as u64, number]
    }

    /// Returns a reader at the first event.
    pub fn reader(&self) -> Reader<'_> {
        Reader { tape: &self.tape, at: 0 }
    }
}

/// Whole numbers from this value are not all exact.
const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// Reader of a lane's events.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    tape: &'a [u8],
    at: u64,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        decode_varint(&mut self.tape).ok()
    }

    /// Returns the next slice.
    pub fn slice(&mut self) -> Option<Played> {
        let start = self.at + self.number()?;
        let end = start + self.number()?;
        self.at = end;
        let name = self.number()?;
        let values: Option<Vec<_>> =
            (0..self.number()?).map(|_| Some((self.number()? as usize, self.number()?))).collect();
        Some(Played { start, end, name, values: values? })
    }

    /// Returns the next value of a counter, with its cycle.
    pub fn count(&mut self) -> Option<(u64, f64)> {
        self.at += self.number()?;
        let (bits, rest) = self.tape.split_first_chunk()?;
        self.tape = rest;
        Some((self.at, f64::from_bits(u64::from_le_bytes(*bits))))
    }
}
