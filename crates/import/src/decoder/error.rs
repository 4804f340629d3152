//! [`DecoderFileError`].

use npukit_base::codes;
use npukit_graph::decoder::DecoderError;

/// Why a description or its weights make no decoder.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic, PartialEq)]
#[non_exhaustive]
pub enum DecoderFileError {
    /// A description is not text.
    #[error("byte {offset} of the description is not UTF-8 text")]
    NotText {
        /// Where text ends.
        offset: usize,
    },
    /// A description is not TOML, or has keys or values that mean nothing.
    #[error("line {line}, column {column} of the description: {message}")]
    Toml {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A value of a description that means nothing.
    #[error("`{key}` of the description is {found}; legal is {legal}")]
    Key {
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        legal: String,
    },
    /// A prompt has a character that is not a token.
    #[error("character {character:?} is not one of the model's alphabet {alphabet:?}")]
    Character {
        /// The character.
        character: char,
        /// Those there are.
        alphabet: String,
    },
    /// The weights cannot be read.
    #[error("cannot read the weights `{path}`: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The weights are not a safetensors file.
    #[error("`{path}` is not a safetensors file: {reason}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A tensor is missing.
    #[error("`{path}` has no tensor `{name}`, which is to have shape {expected:?}")]
    #[diagnostic(help("its tensors are {known}"))]
    Missing {
        /// The file.
        path: String,
        /// The tensor.
        name: String,
        /// Its shape.
        expected: Vec<usize>,
        /// Names there are.
        known: String,
    },
    /// A tensor has elements of a type that is not read.
    #[error("tensor `{name}` of `{path}` has elements of {found}; legal are F32, F16 and BF16")]
    Elements {
        /// The file.
        path: String,
        /// The tensor.
        name: String,
        /// Their type.
        found: String,
    },
    /// Tensors that no part of the model is made of.
    #[error("`{path}` has tensors that the description makes nothing of: {names}")]
    Unused {
        /// The file.
        path: String,
        /// Their names.
        names: String,
    },
    /// Sizes that make no decoder, or tensors of other shapes.
    #[error(transparent)]
    Model(#[from] DecoderError),
}

codes!(DecoderFileError {
    NotText = "description-not-text": "a language model's description is not UTF-8 text";
    Toml = "invalid-description": "a language model's description is not TOML, or has keys or values that mean nothing";
    Key = "description-value": "a value of a language model's description means nothing";
    Character = "unknown-character": "a prompt has a character that is no token of the model";
    File = "unreadable-weights": "a language model's weights cannot be read";
    Format = "invalid-weights": "a language model's weights are no safetensors file";
    Missing = "missing-tensor": "a language model's weights lack a tensor";
    Elements = "tensor-type": "a tensor of a language model has elements of a type that is not read";
    Unused = "unused-tensors": "a language model's weights have tensors that no part of it is made of";
    Model = "invalid-decoder": "sizes or tensors make no language model";
});
