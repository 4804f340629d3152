//! [`OwnValues`]: readers of values in the formats of a target's own tools and memories.

use npukit_numeric::Tensor;

use crate::contract::output::Output;
use crate::error::TargetError;

/// The last instruction that writes an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Index of the instruction in the program, starting at 0.
    pub instruction: usize,
    /// The instruction as text.
    pub text: String,
}

/// Reads input values from a text file; the arguments are its name and content.
type ReadText<'p> = dyn Fn(&str, &[u8]) -> Result<Tensor, TargetError> + 'p;
/// Reads tensors from an image of a memory; the arguments are the memory's name and content.
type ReadImage<'p> = dyn Fn(&str, &[u8]) -> Result<Vec<Output>, TargetError> + 'p;
/// Finds the last instruction that writes an element of an output.
type FindWriter<'p> = dyn Fn(&str, usize) -> Option<Writer> + 'p;
/// Converts a sample of an input from rows of vectors to the model's shape.
type Unpack<'p> = dyn Fn(&str, &Tensor) -> Option<Tensor> + 'p;

/// Readers of values in a target's own formats; `None` for unsupported formats. The methods of the
/// same names of [`Compiled`](crate::Compiled) describe their results.
#[derive(Default)]
pub struct OwnValues<'p> {
    /// Reader of text files.
    pub read_text: Option<Box<ReadText<'p>>>,
    /// Reader of memory images.
    pub read_image: Option<Box<ReadImage<'p>>>,
    /// Finds the writer of an output element.
    pub writer: Option<Box<FindWriter<'p>>>,
    /// Converts rows of vectors to the model's shape.
    pub unpack: Option<Box<Unpack<'p>>>,
}
