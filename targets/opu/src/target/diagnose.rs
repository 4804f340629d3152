//! Codes and places of this target's errors.

use npukit_asm::AsmError;
use npukit_base::codes;
use npukit_target::{Diagnose, Diagnosis, ErrorKind, ErrorLocation, TargetError, failure};

use crate::config::ConfigError;
use crate::isa::codec::ProgramError;
use crate::lower::LowerError;
use crate::program::artifact::ArtifactError;
use crate::program::run::RunError;

/// All error types, one line each.
pub static ERRORS: &[ErrorKind] = &[
    ErrorKind::of_text::<AsmError>(),
    ErrorKind::of::<ArtifactError>(),
    ErrorKind::of::<ConfigError>(),
    ErrorKind::of::<LowerError>(),
    ErrorKind::of::<ProgramError>(),
    ErrorKind::of::<RunError>(),
];

codes!(ArtifactError: failure::ARTIFACT, carries { Read.0 });
codes!(ConfigError: failure::INSTANCE);
codes!(LowerError: failure::COMPILE);
codes!(ProgramError: failure::WORDS);
codes!(RunError: failure::RUN);

impl Diagnose for LowerError {}
impl Diagnose for RunError {}

impl Diagnose for ArtifactError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Read(error) => error.diagnosis().place,
            Self::Manifest { file, message } => ErrorLocation::in_message(message).in_file(Some(file)),
            Self::Program { file, source } => source.diagnosis().place.in_file(Some(file)),
            Self::Invalid { file, .. }
            | Self::WordCount { file, .. }
            | Self::Segment { file, .. }
            | Self::Memory { file, .. } => ErrorLocation::file(file),
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for ConfigError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Toml(message) => ErrorLocation::in_message(message),
            Self::Range { .. } => ErrorLocation::default(),
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for ProgramError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Truncated { offset, .. } => ErrorLocation::offset(*offset),
            _ => ErrorLocation::default(),
        };
        Diagnosis::at(self, place)
    }
}

pub(super) fn lower_error(error: LowerError) -> TargetError {
    match error {
        LowerError::Unsupported { problems } => TargetError::Refused(problems),
        other => TargetError::failed(other),
    }
}
