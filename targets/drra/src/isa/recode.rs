//! [`recode`]: converts the words of a program to another encoding.
//!
//! Each instruction keeps its index, since each takes a cycle. A `rep` and the `repx` after it form
//! one repetition, whose values are split into parts of the encoding's field widths.

use npukit_base::BitRange;
use npukit_isa::coding::{Coding, Number, Signed};
use npukit_isa::{Field, FieldKind, Radix};
use thiserror::Error;

use super::{DecodeError, Instruction, Isa};
use crate::config::encoding::Encoding;
use crate::config::fabric::{Cell, Fabric};
use crate::isa::program::{At, Program};

/// Reason why a program cannot be converted to an encoding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecodeError {
    /// A word is not an instruction.
    #[error("{at}: {reason}")]
    Word {
        /// Position of the word.
        at: At,
        /// Reason.
        reason: DecodeError,
    },
    /// A value is too large for the encoding.
    #[error(
        "{at}: {value} does not fit field `{field}` of {instruction}, which has {bits} bits in that encoding"
    )]
    Value {
        /// Position of the instruction.
        at: At,
        /// Mnemonic.
        instruction: &'static str,
        /// Field name.
        field: &'static str,
        /// Value found.
        value: i64,
        /// Bits of the field, including the bits of `repx` if there is one.
        bits: u32,
    },
}

/// Converts the words of a program for a fabric to another encoding. Cells that the fabric does not
/// have stay unchanged.
///
/// # Errors
///
/// A word is not an instruction, or a value does not fit.
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
    /// Converts a program from the released encoding to the fabric's file encoding.
    ///
    /// # Errors
    ///
    /// The errors of [`recode`].
    pub fn encoded(&self, program: &Program) -> Result<Program, RecodeError> {
        recode(self, program, Encoding::Released, self.options.encoding)
    }

    /// Converts a program from the fabric's file encoding to the released encoding.
    ///
    /// # Errors
    ///
    /// The errors of [`recode`].
    pub fn decoded(&self, program: &Program) -> Result<Program, RecodeError> {
        recode(self, program, self.options.encoding, Encoding::Released)
    }
}

/// Conversion of a cell's words from one table to another.
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

    /// Whether the second instruction is the `repx` of the first.
    fn extends(&self, first: &Instruction, second: &Instruction) -> bool {
        let port = |of: &Instruction| (of.get("slot"), of.get("port"));
        (first.spec().name.as_str(), second.spec().name.as_str()) == ("rep", "repx")
            && port(first) == port(second)
    }

    /// Returns the words of an instruction, or of a `rep` and its `repx`.
    fn repetition(&self, parts: &[&Instruction], at: At) -> Result<Vec<u32>, RecodeError> {
        let mut recoded: Vec<Instruction> = parts.iter().map(|&part| part.clone()).collect();
        let row = |isa: &'static Isa| &isa.rows(parts[0].component)[parts[0].row];
        let (from, to) = (row(self.from), row(self.to));
        for (index, (old, new)) in from.fields.iter().zip(&to.fields).enumerate() {
            // Each part keeps the slot and the port. Values of the other fields are split among the
            // parts.
            let is_shared = matches!(old.name.as_str(), "slot" | "port");
            let count = if is_shared { 1 } else { parts.len() };
            let value = joined(old, parts.iter().take(count).map(|part| part.values[index]));
            let whole = wide(new, count);
            if !whole.allows(value) {
                let (instruction, field) = (to.name.as_str(), new.name.as_str());
                let (value, bits) = (value.cast_signed(), whole.bits.width);
                return Err(RecodeError::Value { at, instruction, field, value, bits });
            }
            let all = whole.stored(value);
            for (number, part) in recoded.iter_mut().enumerate() {
                let number = if is_shared { 0 } else { number as u32 };
                part.values[index] = (all >> (number * new.bits.width) & new.bits.max()) as u32;
            }
        }
        Ok(recoded.iter().map(|instruction| self.to.encode(instruction)).collect())
    }
}

/// Returns the value of a field that is split among instructions, low part first.
fn joined(field: &Field, parts: impl Iterator<Item = u32>) -> u64 {
    let (mut bits, mut count) = (0, 0);
    for part in parts {
        bits |= u64::from(part) << (count as u32 * field.bits.width);
        count += 1;
    }
    wide(field, count).value(bits)
}

/// Returns a field that is `parts` times as wide.
fn wide(field: &Field, parts: usize) -> Field {
    let bits = BitRange::new(0, field.bits.width * parts as u32);
    let kind = match field.kind {
        FieldKind::Signed { .. } => Signed::all(bits).kind(),
        _ => Number::all(bits, Radix::Decimal).kind(),
    };
    Field { bits, kind, ..field.clone() }
}
