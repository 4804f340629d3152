//! Detection of the [`Format`] of a file by its content.

use crate::format::Format;
use crate::protobuf_fields::{self, Field};
use crate::tflite;

impl Format {
    /// Detects the format of a file called `path` that holds `bytes`. The content takes precedence,
    /// as some ONNX models are called `.pb`. The extension only decides if the content is
    /// ambiguous. A file with an unknown extension must be a valid protobuf up to its last byte.
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
}
