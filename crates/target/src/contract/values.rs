//! [`OwnValues`]: values in the forms of a target's own tools and memories.

use npukit_numeric::Tensor;

use crate::contract::output::Output;
use crate::error::TargetError;

/// The instruction that is the last to write something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Its place in the program, from 0.
    pub instruction: usize,
    /// The instruction as text.
    pub text: String,
}

/// Reads a text file, by its name, as input values.
type ReadText<'p> = dyn Fn(&str, &[u8]) -> Result<Tensor, TargetError> + 'p;
/// Reads an image of a memory, by the memory's name.
type ReadImage<'p> = dyn Fn(&str, &[u8]) -> Result<Vec<Output>, TargetError> + 'p;
/// Finds the instruction that writes an element of an output last.
type FindWriter<'p> = dyn Fn(&str, usize) -> Option<Writer> + 'p;
/// Brings a sample of an input, given as rows of vectors, to the model's shape.
type Unpack<'p> = dyn Fn(&str, &Tensor) -> Option<Tensor> + 'p;

/// Readers of values in a target's own forms, each where it has that form. The methods of [`Compiled`](crate::Compiled) of
/// these names say what they give.
#[derive(Default)]
pub struct OwnValues<'p> {
    /// Of text files.
    pub read_text: Option<Box<ReadText<'p>>>,
    /// Of memory after a run.
    pub read_image: Option<Box<ReadImage<'p>>>,
    /// Of what wrote an element.
    pub writer: Option<Box<FindWriter<'p>>>,
    /// Of rows of vectors.
    pub unpack: Option<Box<Unpack<'p>>>,
}
