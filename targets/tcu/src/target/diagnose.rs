//! Codes and places of this target's errors.

use npukit_asm::AsmError;
use npukit_base::{Coded, codes};
use npukit_target::{Diagnose, Diagnosis, ErrorKind, ErrorLocation, Fault, failure};

use crate::circuit::cosim::CosimError;
use crate::clock::samples::SamplesError;
use crate::config::json_fields::KeyError;
use crate::config::{ClockError, ConfigError, ConfigErrors};
use crate::isa::codec::{DecodeErrors, EncodeErrors};
use crate::lower::LowerError;
use crate::program::artifact::ArtifactError;
use crate::program::csv::CsvError;
use crate::program::run::RunError;

/// One entry per error type.
pub static ERRORS: &[ErrorKind] = &[
    ErrorKind::of_text::<AsmError>(),
    ErrorKind::of::<ArtifactError>(),
    ErrorKind::of::<ClockError>(),
    ErrorKind::of::<ConfigErrors>(),
    ErrorKind::of::<CosimError>(),
    ErrorKind::of::<CsvError>(),
    ErrorKind::of::<DecodeErrors>(),
    ErrorKind::of::<EncodeErrors>(),
    ErrorKind::of::<KeyError>(),
    ErrorKind::of::<LowerError>(),
    ErrorKind::of::<RunError>(),
    ErrorKind::of::<SamplesError>(),
];

codes!(ArtifactError: failure::ARTIFACT, carries { Read.0 });
codes!(ClockError: failure::TIME);
codes!(ConfigErrors: failure::INSTANCE);
codes!(CosimError: failure::COSIM);
codes!(CsvError: failure::INPUTS);
codes!(KeyError: failure::ARTIFACT);
codes!(LowerError: failure::COMPILE);
codes!(RunError: failure::RUN);
codes!(SamplesError: failure::TIME);

impl Diagnose for ClockError {}
impl Diagnose for CosimError {}
impl Diagnose for LowerError {}
impl Diagnose for RunError {}
impl Diagnose for SamplesError {}

impl Diagnose for ArtifactError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Json { file, source } => {
                ErrorLocation::text(source.line(), source.column()).in_file(Some(file))
            }
            Self::Config { file, .. }
            | Self::Range { file, .. }
            | Self::Length { file, .. }
            | Self::Scalars { file, .. }
            | Self::Decode { file, .. }
            | Self::Encode { file, .. } => ErrorLocation::file(file),
            Self::Key(error) => error.diagnosis().place,
            Self::Read(error) => error.diagnosis().place,
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for ConfigErrors {
    fn diagnosis(&self) -> Diagnosis {
        let place = |error: &ConfigError| match error {
            ConfigError::Json { line, column, .. } => ErrorLocation::text(*line, *column),
            _ => ErrorLocation::default(),
        };
        let fault = |error: &ConfigError| Fault {
            code: self.code(),
            message: error.to_string(),
            place: place(error),
        };
        Diagnosis::several(self, self.0.iter().map(fault).collect())
    }
}

impl Diagnose for CsvError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Text { file, offset } => ErrorLocation::offset(*offset).in_file(Some(file)),
            Self::Width { file, line, .. } | Self::Number { file, line, .. } => {
                ErrorLocation::line(*line).in_file(Some(file))
            }
            Self::Empty { file } => ErrorLocation::file(file),
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for KeyError {
    fn diagnosis(&self) -> Diagnosis {
        let place = ErrorLocation::file(&self.file);
        Diagnosis::at(self, place)
    }
}
