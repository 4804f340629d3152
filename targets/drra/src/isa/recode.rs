//! [`recode`]: the words of a program in another encoding.
//!
//! Instructions stay where they are, since each takes a cycle. A `rep` and the `repx` behind it are one repetition,
//! whose parts are as long as the fields of the encoding.

use thiserror::Error;

use super::{DecodeError, Encoding, Field, Instruction, Isa};
use crate::fabric::{Cell, Fabric};
use crate::program::{At, Program};

/// Why a program has no words in an encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecodeError {
    /// A word that is no instruction.
    #[error("{at}: {reason}")]
    Word {
        /// Where.
        at: At,
        /// What is wrong.
        reason: DecodeError,
    },
    /// A value that is too large there.
    #[error(
        "{at}: {value} does not fit field `{field}` of {instruction}, which has {bits} bits in that encoding"
    )]
    Value {
        /// Where.
        at: At,
        /// The instruction.
        instruction: &'static str,
        /// The field.
        field: &'static str,
        /// The value.
        value: i64,
        /// Bits of the field, with those of `repx` if there is one.
        bits: u32,
    },
}

/// The words of a program for a fabric in another encoding. Cells that the fabric does not have stay as they are.
///
/// Errors: a word that is no instruction, a value that does not fit.
pub fn recode(
    fabric: &Fabric,
    program: &Program,
    from: Encoding,
    to: Encoding,
) -> Result<Program, RecodeError> {
    let mut recoded = program.clone();
    if from == to {
        return Ok(recoded);
    }
    for (&place, words) in &mut recoded.cells {
        if let Some(cell) = fabric.cell(place) {
            *words =
                Recoder { cell, from: Isa::of(from), to: Isa::of(to) }.words(words, |pc| At { place, pc })?;
        }
    }
    Ok(recoded)
}

impl Fabric {
    /// A program with the words of a file, from one as released.
    pub fn encoded(&self, program: &Program) -> Result<Program, RecodeError> {
        recode(self, program, Encoding::Released, self.options.encoding)
    }

    /// A program as released, from one with the words of a file.
    pub fn decoded(&self, program: &Program) -> Result<Program, RecodeError> {
        recode(self, program, self.options.encoding, Encoding::Released)
    }
}

/// From a table to another for a cell.
struct Recoder<'a> {
    cell: &'a Cell,
    from: &'static Isa,
    to: &'static Isa,
}

impl Recoder<'_> {
    fn words(&self, words: &[u32], at: impl Fn(usize) -> At) -> Result<Vec<u32>, RecodeError> {
        let decode = |(pc, &word): (usize, &u32)| {
            let found = self.from.decode(word, |slot| self.cell.component_at(slot));
            found.map_err(|reason| RecodeError::Word { at: at(pc), reason })
        };
        let list = words.iter().enumerate().map(decode).collect::<Result<Vec<_>, _>>()?;
        let (mut recoded, mut pc) = (Vec::new(), 0);
        while let Some(first) = list.get(pc) {
            let second = list.get(pc + 1).filter(|second| self.extends(first, second));
            let parts: Vec<&Instruction> = std::iter::once(first).chain(second).collect();
            recoded.extend(self.repetition(&parts, at(pc))?);
            pc += parts.len();
        }
        Ok(recoded)
    }

    /// Whether the second is a `repx` of the first.
    fn extends(&self, first: &Instruction, second: &Instruction) -> bool {
        let port = |of: &Instruction| {
            let row = self.from.row(of)?;
            Some((of.slot, *of.values.get(row.field("port")?)?))
        };
        let name = |of: &Instruction| self.from.row(of).map(|row| row.name);
        (name(first), name(second)) == (Some("rep"), Some("repx")) && port(first) == port(second)
    }

    /// The words of an instruction, or of a `rep` and its `repx`.
    fn repetition(&self, parts: &[&Instruction], at: At) -> Result<Vec<u32>, RecodeError> {
        let mut recoded: Vec<Instruction> = parts.iter().map(|&part| part.clone()).collect();
        let Some(row) = parts.first().and_then(|first| self.to.row(first)) else { return Ok(Vec::new()) };
        let old =
            parts.first().and_then(|first| self.from.row(first)).into_iter().flat_map(|row| &row.fields);
        for (index, (old, new)) in old.zip(&row.fields).enumerate() {
            let bits = |part: &&Instruction| part.values.get(index).copied().unwrap_or(0);
            let count = if old.name == "port" { 1 } else { parts.len() as u32 };
            let value = wide(old, parts.iter().take(count as usize).map(bits));
            let new_bits = wide_field(new, count);
            let all = new_bits.bits_of(value).ok_or(RecodeError::Value {
                at,
                instruction: row.name,
                field: new.name,
                value,
                bits: new_bits.bits.width,
            })?;
            for (part, number) in recoded.iter_mut().zip(0..) {
                let number = if count == 1 { 0 } else { number };
                let own = all >> (number * new.bits.width) & new.bits.max() as u32;
                part.values.iter_mut().skip(index).take(1).for_each(|value| *value = own);
            }
        }
        Ok(recoded.iter().map(|instruction| self.to.encode(instruction)).collect())
    }
}

/// The value of a field whose parts are in several instructions, the low one first.
fn wide(field: &Field, parts: impl Iterator<Item = u32>) -> i64 {
    let (mut bits, mut count) = (0_u32, 0);
    for part in parts {
        bits |= part << (count * field.bits.width);
        count += 1;
    }
    wide_field(field, count).value_of(bits)
}

/// A field of so many parts.
fn wide_field(field: &Field, parts: u32) -> Field {
    let bits = npukit_base::BitRange::new(0, field.bits.width * parts.max(1));
    Field { bits, ..*field }
}
