//! [`Format`]: the kinds of model files, recognised by their content.

use crate::protobuf_fields::{self, Field};
use crate::tflite;

/// A kind of model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An ONNX model.
    Onnx,
    /// A frozen TensorFlow graph (`GraphDef`).
    TensorFlow,
    /// A TensorFlow Lite file.
    TensorFlowLite,
}

impl Format {
    /// All formats that are read.
    pub const ALL: [Self; 3] = [Self::Onnx, Self::TensorFlow, Self::TensorFlowLite];

    /// The usual ending of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::TensorFlow => "pb",
            Self::TensorFlowLite => "tflite",
        }
    }

    /// The format of a file called `path` that holds `bytes`. Its content decides, as ONNX models
    /// are called `.pb` at times, too; the ending, where the content says nothing. A file whose
    /// ending is not a format's must be a protobuf from its first to its last byte.
    pub fn of(path: &str, bytes: &[u8]) -> Option<Self> {
        let ends = |format: &Self| path.rsplit_once('.').is_some_and(|(_, end)| end == format.extension());
        if tflite::is_model(bytes) {
            return Some(Self::TensorFlowLite);
        }
        match Self::ALL.into_iter().find(ends) {
            Some(stated) => Some(Self::of_content(bytes).unwrap_or(stated)),
            None => Self::of_content(bytes).filter(|&format| protobuf_fields::check(bytes, format).is_ok()),
        }
    }

    /// Field 1 is a version number in ONNX models and the first node in TensorFlow graphs.
    fn of_content(bytes: &[u8]) -> Option<Self> {
        let first = protobuf_fields::fields(bytes).map_while(Result::ok).find(|field| field.number == 1);
        first.map(
            |Field { wire, .. }| if wire == protobuf_fields::LENGTH { Self::TensorFlow } else { Self::Onnx },
        )
    }

    /// What a user of the format can do about a file that breaks its rules.
    pub(crate) fn repair(self) -> &'static str {
        match self {
            Self::Onnx => "the file breaks the standard: onnx.checker shows where; export it again",
            Self::TensorFlow => {
                "TensorFlow writes no such graph: freeze it again (convert_variables_to_constants_v2)"
            }
            Self::TensorFlowLite => "TensorFlow Lite writes no such file: convert the network again",
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Onnx => "ONNX",
            Self::TensorFlow => "TensorFlow",
            Self::TensorFlowLite => "TensorFlow Lite",
        })
    }
}
