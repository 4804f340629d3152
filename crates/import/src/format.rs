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
    /// All supported formats.
    pub const ALL: [Self; 3] = [Self::Onnx, Self::TensorFlow, Self::TensorFlowLite];

    /// Usual file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::TensorFlow => "pb",
            Self::TensorFlowLite => "tflite",
        }
    }

    /// Advice about a file that breaks the rules of the format.
    pub(crate) fn repair(self) -> &'static str {
        match self {
            Self::Onnx => "the file breaks the standard: onnx.checker shows where; export it again",
            Self::TensorFlow => {
                "TensorFlow does not write such graphs: freeze it again (convert_variables_to_constants_v2)"
            }
            Self::TensorFlowLite => "TensorFlow Lite does not write such files: convert the network again",
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
