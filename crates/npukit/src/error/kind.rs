//! [`Kind`]: whose concern an error is.

use npukit_target::TargetError;

use super::Error;

/// Whose concern an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// What was asked for is not legal.
    Usage,
    /// A file cannot be read or written.
    File,
    /// The model.
    Model,
    /// The model, which is read and not taken by the target.
    Refused,
    /// What the network is to compute on.
    Input,
    /// A program that is not proved.
    NotProved,
    /// The program or its target.
    Program,
}

impl Kind {
    /// Its name, as `refused`.
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
    /// Whose concern it is.
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
            | Self::Port(_) => Kind::Input,
            _ => Kind::Program,
        }
    }

    /// Whether the command line is at fault (exit status 2), rather than an input (1).
    pub fn is_usage(&self) -> bool {
        match self {
            Self::UnknownTarget { .. }
            | Self::NoTarget
            | Self::NeedlessTarget { .. }
            | Self::NeedlessOption { .. }
            | Self::NeedlessLike { .. }
            | Self::NotComparable { .. }
            | Self::UnfitOption { .. }
            | Self::NotByHand { .. }
            | Self::OnlyByHand { .. }
            | Self::HandInput { .. }
            | Self::NoBest { .. }
            | Self::UnknownDump { .. }
            | Self::Hand(_)
            | Self::NoCalibration
            | Self::Preprocess { .. }
            | Self::NothingToPrepare
            | Self::TraceRange { .. }
            | Self::UnknownName { .. }
            | Self::UnknownTerm { .. }
            | Self::UnknownFinding { .. } => true,
            Self::Port(error) => error.is_usage(),
            Self::Target(TargetError::Option { .. } | TargetError::Unsupported { .. }) => true,
            _ => false,
        }
    }
}
