//! Diagnoses of this target's errors, with codes and locations.

use npukit_asm::AsmError;
use npukit_base::codes;
use npukit_target::{Diagnose, Diagnosis, ErrorKind, ErrorLocation, failure};

use crate::config::ConfigError;
use crate::isa::RecodeError;
use crate::isa::pasm::PasmError;
use crate::isa::program::ProgramError;
use crate::machine::LoadError;
use crate::machine::fault::Fault;
use crate::program::artifact::ArtifactError;
use crate::program::binary::BinaryError;
use crate::program::executable::ExecuteError;

/// One entry per error type.
pub static ERRORS: &[ErrorKind] = &[
    ErrorKind::of_text::<AsmError>(),
    ErrorKind::of::<ArtifactError>(),
    ErrorKind::of::<BinaryError>(),
    ErrorKind::of::<ConfigError>(),
    ErrorKind::of::<ExecuteError>(),
    ErrorKind::of::<Fault>(),
    ErrorKind::of::<LoadError>(),
    ErrorKind::of_text::<PasmError>(),
    ErrorKind::of::<ProgramError>(),
    ErrorKind::of::<RecodeError>(),
];

codes!(ArtifactError: failure::ARTIFACT);
codes!(BinaryError: failure::WORDS);
codes!(ConfigError: failure::INSTANCE);
codes!(ExecuteError: failure::COMPILE);
codes!(Fault: failure::RUN);
codes!(LoadError: failure::RUN);
codes!(ProgramError: failure::WORDS);
codes!(RecodeError: failure::WORDS);

impl Diagnose for ExecuteError {}
impl Diagnose for Fault {}
impl Diagnose for LoadError {}
impl Diagnose for ProgramError {}
impl Diagnose for RecodeError {}

impl Diagnose for ArtifactError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::File { file, reason } => ErrorLocation::in_message(reason).in_file(Some(file)),
            Self::Rows { .. } | Self::Shared { .. } => ErrorLocation::default(),
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for BinaryError {
    fn diagnosis(&self) -> Diagnosis {
        let place = ErrorLocation::line(self.line);
        Diagnosis::at(self, place)
    }
}

impl Diagnose for ConfigError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Json(message) => ErrorLocation::in_message(message),
            _ => ErrorLocation::default(),
        };
        Diagnosis::at(self, place)
    }
}
