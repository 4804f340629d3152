//! Everything that is wrong with a program, or probably a mistake ([`findings`]): what an instruction may do and should not
//! ([`lints`]), beside what none may ([`crate::isa::refusal`]).

mod circuit;
mod finding;
mod idle;
mod lint;
pub(crate) mod lints;
mod memory;
mod pasm;
mod text;
mod timing;

pub(crate) use finding::{ELSEWHERE, findings, findings_with, told};
pub use lint::Lint;
pub(crate) use memory::memory;
pub use pasm::{Mistake, mistakes};
pub use text::lints;
