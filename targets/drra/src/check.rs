//! Static checks of programs: [`findings`] lists illegal instructions ([`crate::isa::refusal`]) and
//! likely mistakes ([`lints`]).

mod circuit;
mod finding;
mod idle;
mod lint;
pub(crate) mod lints;
mod memory;
mod pasm;
mod text;
mod timing;

pub(crate) use finding::{ELSEWHERE, findings, findings_with, message};
pub use lint::Lint;
pub(crate) use memory::memory;
pub use pasm::{Mistake, mistakes};
pub use text::lints;
