//! [`Kind`]: the category of an error.

use npukit_target::TargetError;

use super::Error;

/// Category of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The command line or a setting is invalid.
    Usage,
    /// A file cannot be read or written.
    File,
    /// The model is invalid.
    Model,
    /// The model is valid, but the target does not support it.
    Refused,
    /// Inputs for the network are invalid.
    Input,
    /// The program could not be proved correct.
    NotProved,
    /// The program or its target failed.
    Program,
}

impl Kind {
    /// Returns the name, such as `refused`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::File => "file",
            Self::Model => "model",
            Self::Refused => "refused",
            Self::Input => "input",
            Self::NotProved => "not-proved",
            Self::Program => "program",
        }
    }
}

impl Error {
    /// Returns the category of the error.
    pub fn kind(&self) -> Kind {
        match self {
            error if error.is_usage() => Kind::Usage,
            Self::Read(_) | Self::Write(_) => Kind::File,
            Self::Refused { .. } => Kind::Refused,
            Self::NotProved { .. } => Kind::NotProved,
            Self::UnknownFile { .. }
            | Self::ForeignModel { .. }
            | Self::NotModel { .. }
            | Self::Import { .. }
            | Self::OpenDimensions { .. }
            | Self::Description { .. }
            | Self::Checkpoint { .. }
            | Self::NotCheckpoint { .. }
            | Self::Simplify { .. }
            | Self::Eval(_)
            | Self::UnfitArtifact { .. }
            | Self::Operations { .. }
            | Self::Memory { .. }
            | Self::Constants { .. } => Kind::Model,
            Self::Array(_)
            | Self::UnknownInput { .. }
            | Self::NotFinite { .. }
            | Self::NoMedia { .. }
            | Self::Media { .. }
            | Self::PictureSize { .. }
            | Self::SoundLength { .. }
            | Self::NotForMedia { .. }
            | Self::Labels { .. }
            | Self::State { .. }
            | Self::Prompt { .. }
            | Self::ShortText { .. }
            | Self::KeptText { .. }
            | Self::LongText { .. }
            | Self::Port(_) => Kind::Input,
            _ => Kind::Program,
        }
    }

    /// Whether the command line caused the error (exit status 2), rather than an input (1).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::UnknownTarget { .. }
            | Self::NoTarget
            | Self::NeedlessTarget { .. }
            | Self::Sampling(_)
            | Self::OtherTokens { .. }
            | Self::EmptyStop
            | Self::NeedlessOption { .. }
            | Self::Inapplicable { .. }
            | Self::NeedlessModel { .. }
            | Self::NotComparable { .. }
            | Self::UnfitOption { .. }
            | Self::NotAssembly { .. }
            | Self::OnlyAssembly { .. }
            | Self::NoMotion { .. }
            | Self::AssemblyInput { .. }
            | Self::NoBest { .. }
            | Self::UnknownDump { .. }
            | Self::MemoryFile(_)
            | Self::NoCalibration
            | Self::Preprocess { .. }
            | Self::NothingToPrepare
            | Self::Folder { .. }
            | Self::TraceRange { .. }
            | Self::TraceExtension { .. }
            | Self::UnknownName { .. }
            | Self::UnknownTerm { .. }
            | Self::UnknownFinding { .. } => true,
            Self::Port(error) => error.is_usage(),
            Self::Target(TargetError::Option { .. } | TargetError::Unsupported { .. }) => true,
            _ => false,
        }
    }
}
