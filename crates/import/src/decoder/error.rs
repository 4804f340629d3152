//! Errors of decoder files: [`DecoderFileError`].

use npukit_base::codes;
use npukit_graph::decoder::DecoderError;

/// Reason why a description or its weights cannot be read as a decoder.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic, PartialEq)]
#[non_exhaustive]
pub enum DecoderFileError {
    /// A description is not text.
    #[error("byte {offset} of the description is not UTF-8 text")]
    NotText {
        /// Byte offset where the valid text ends.
        offset: usize,
    },
    /// A description is not TOML, or has unknown keys or invalid values.
    #[error("line {line}, column {column} of the description: {message}")]
    Toml {
        /// Line number, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// Message of the TOML parser.
        message: String,
    },
    /// A key of the description with an illegal value.
    #[error("`{key}` of the description is {found}; legal is {legal}")]
    Key {
        /// Name of the key.
        key: &'static str,
        /// Value found.
        found: String,
        /// Legal values.
        legal: String,
    },
    /// A prompt has a character that is not a token.
    #[error("character {character:?} is not one of the model's alphabet {alphabet:?}")]
    Character {
        /// The unknown character.
        character: char,
        /// Characters of the alphabet.
        alphabet: String,
    },
    /// The weights cannot be read.
    #[error("cannot read the weights `{path}`: {reason}")]
    File {
        /// Path of the file.
        path: String,
        /// Reason why the file cannot be read.
        reason: String,
    },
    /// The weights are not a safetensors file.
    #[error("`{path}` is not a safetensors file: {reason}")]
    Format {
        /// Path of the file.
        path: String,
        /// Defect of the file.
        reason: String,
    },
    /// A tensor is missing from the file.
    #[error("`{path}` has no tensor `{name}`; expected one of shape {expected:?}")]
    #[diagnostic(help("its tensors are {known}"))]
    Missing {
        /// Path of the file.
        path: String,
        /// Name of the missing tensor.
        name: String,
        /// Shape that the tensor must have.
        expected: Vec<usize>,
        /// Names of the tensors in the file.
        known: String,
    },
    /// A tensor has elements of an unsupported type.
    #[error("tensor `{name}` of `{path}` has elements of {found}; legal are F32, F16 and BF16")]
    Elements {
        /// Path of the file.
        path: String,
        /// Name of the tensor.
        name: String,
        /// Element type found.
        found: String,
    },
    /// Tensors that the model does not use.
    #[error("`{path}` has tensors that the description does not use: {names}")]
    Unused {
        /// Path of the file.
        path: String,
        /// Names of the unused tensors.
        names: String,
    },
    /// The sizes or the shapes of tensors do not fit a decoder.
    #[error(transparent)]
    Model(#[from] DecoderError),
}

codes!(DecoderFileError {
    NotText = "description-not-text": "a language model's description is not UTF-8 text";
    Toml = "invalid-description": "a language model's description is not TOML, or has keys or values that mean nothing";
    Key = "description-value": "a value of a language model's description means nothing";
    Character = "unknown-character": "a prompt has a character that is not a token of the model";
    File = "unreadable-weights": "a language model's weights cannot be read";
    Format = "invalid-weights": "a language model's weights are not a safetensors file";
    Missing = "missing-tensor": "a language model's weights lack a tensor";
    Elements = "tensor-type": "a tensor of a language model has elements of a type that is not read";
    Unused = "unused-tensors": "a language model's weights have tensors that it does not use";
    Model = "invalid-decoder": "sizes or shapes of tensors do not fit a language model";
});
