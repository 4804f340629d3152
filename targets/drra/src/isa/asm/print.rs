//! [`disassemble`]: words to text that assembles to the same words.

use npukit_asm::{ListedWord, ListingLine};
use npukit_isa::Field;

use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric};
use crate::isa::program::{At, Program};
use crate::isa::{Instruction, Isa, value_of};

/// Style of instructions in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// Names instead of numbers, fields in table order, defaults omitted.
    #[default]
    Named,
    /// Upstream's style: numbers, all fields in alphabetical order, `port` in every resource
    /// instruction.
    Upstream,
}

/// Program as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Lines of the text.
    pub lines: Vec<ListingLine>,
    /// Words that are not instructions. They appear in the text as `word(bits=...)`.
    pub problems: Vec<String>,
}

impl Listed {
    /// Returns the text.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }
}

/// Disassembles a program for a fabric.
pub fn disassemble(fabric: &Fabric, program: &Program, listing: Listing) -> Listed {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for (&place, words) in &program.cells {
        lines.push(ListingLine { text: format!("cell (row={}, col={})", place.row, place.col), word: None });
        let cell = fabric.cell(place);
        if cell.is_none() {
            problems.push(format!(
                "cell {place} is outside the fabric, which has {} rows and {} columns",
                fabric.rows, fabric.cols
            ));
        }
        let component_at = |slot| cell.and_then(|cell: &Cell| cell.component_at(slot));
        let isa = Isa::read_by(fabric.options);
        let decode = |word: &u32| isa.decode(*word, component_at);
        for (pc, &word) in words.iter().enumerate() {
            let next = words.get(pc + 1).and_then(|next| decode(next).ok());
            let text = match decode(&word) {
                // The assembler would refuse this instruction, so it is printed as a word.
                Ok(instruction) if instruction.repeats_nothing(fabric, next.as_ref()) => {
                    format!("word(bits={word:#010x}) # {}", instruction.text(isa, listing))
                }
                Ok(instruction) => instruction.text(isa, listing),
                Err(error) => {
                    problems.push(format!("{}: {error}", At { place, pc }));
                    format!("word(bits={word:#010x}) # {error}")
                }
            };
            let address = format!("{},{} {pc:04x}", place.row, place.col);
            lines.push(ListingLine { text, word: Some(ListedWord { address, bits: format!("{word:08x}") }) });
        }
    }
    Listed { lines, problems }
}

impl Instruction {
    /// Whether it is a `rep` with `iter=0` to which the next instruction adds nothing. The ISA
    /// document has 0 as the default of `iter`, so fabrics that follow it have no such case.
    pub(super) fn repeats_nothing(&self, fabric: &Fabric, next: Option<&Self>) -> bool {
        let adds = |next: &Self| {
            next.get("slot") == self.get("slot") && next.times("repx").is_some_and(|iter| iter > 0)
        };
        !fabric.options.revision.is_seed() && self.times("rep") == Some(0) && !next.is_some_and(adds)
    }

    /// Field `iter` of an instruction with this name.
    fn times(&self, name: &str) -> Option<u32> {
        if self.spec().name == name { self.get("iter") } else { None }
    }

    /// Returns the instruction as text, with the names of a table.
    pub fn text(&self, isa: &'static Isa, listing: Listing) -> String {
        let fields = || isa.rows(self.component)[self.row].fields.iter().zip(self.values.iter().copied());
        let mut written: Vec<(&str, String)> = match listing {
            Listing::Named => {
                let said = fields().filter(|(field, bits)| is_said(field, *bits));
                said.map(|(field, bits)| (field.name.as_str(), named(field, bits))).collect()
            }
            Listing::Upstream => {
                let number = |(field, bits): (&'static Field, u32)| {
                    (field.name.as_str(), value_of(field, bits).to_string())
                };
                fields().map(number).collect()
            }
        };
        if listing == Listing::Upstream {
            if self.component != Component::Sequencer && self.get("port").is_none() {
                written.push(("port", "0".to_owned()));
            }
            written.sort_unstable();
        }
        let written: Vec<String> = written.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}({})", self.spec().name, written.join(", "))
    }
}

/// Whether a listing prints a field: the slot, and fields that differ from their default.
fn is_said(field: &Field, bits: u32) -> bool {
    matches!(field.name.as_str(), "slot" | "port") || field.value(bits.into()) != field.default_value()
}

fn named(field: &Field, bits: u32) -> String {
    field.name_of(bits.into()).map_or_else(|| value_of(field, bits).to_string(), str::to_owned)
}
