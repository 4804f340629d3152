//! Error types of this target with their codes and places.

use npukit_asm::AsmError;
use npukit_base::codes;
use npukit_target::{Diagnose, Diagnosis, ErrorKind, ErrorLocation, failure};

use crate::config::ConfigError;
use crate::host::asm_run::AsmRunError;
use crate::isa::codec::{DecodeErrors, EncodeErrors};
use crate::lower::LowerError;
use crate::lower::weight_bits::ChoiceError;
use crate::program::ProgramError;
use crate::program::artifact::{ArtifactError, TextError};
use crate::program::runtime::RunError;
use crate::target::generate::GenerateError;

/// Table of error types, one line per type.
pub static ERRORS: &[ErrorKind] = &[
    ErrorKind::of_text::<AsmError>(),
    ErrorKind::of::<ArtifactError>(),
    ErrorKind::of::<AsmRunError>(),
    ErrorKind::of::<ChoiceError>(),
    ErrorKind::of::<ConfigError>(),
    ErrorKind::of::<DecodeErrors>(),
    ErrorKind::of::<EncodeErrors>(),
    ErrorKind::of::<GenerateError>(),
    ErrorKind::of::<LowerError>(),
    ErrorKind::of::<ProgramError>(),
    ErrorKind::of::<RunError>(),
    ErrorKind::of::<TextError>(),
];

codes!(ArtifactError: failure::ARTIFACT);
codes!(ChoiceError: failure::COMPILE);
codes!(ConfigError: failure::INSTANCE);
codes!(GenerateError: failure::RUN);
codes!(LowerError: failure::COMPILE);
codes!(ProgramError: failure::ARTIFACT);
codes!(RunError: failure::RUN);
codes!(TextError: failure::ARTIFACT);

impl Diagnose for ChoiceError {}
impl Diagnose for GenerateError {}
impl Diagnose for LowerError {}
impl Diagnose for ProgramError {}
impl Diagnose for RunError {}

impl Diagnose for ArtifactError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Malformed { offset, .. } | Self::Short { offset, .. } | Self::Code { offset, .. } => {
                ErrorLocation::offset(*offset)
            }
            Self::Weights { .. } | Self::Program(_) | Self::Encode(_) | Self::TooLarge { .. } => {
                ErrorLocation::default()
            }
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for ConfigError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Syntax(message) => ErrorLocation::in_message(message),
            Self::Range { .. } => ErrorLocation::default(),
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for TextError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Manifest(message) => ErrorLocation::in_message(message),
            _ => ErrorLocation::default(),
        };
        Diagnosis::at(self, place)
    }
}
