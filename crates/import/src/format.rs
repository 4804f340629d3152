//! [`Format`]: the kinds of model files.

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
