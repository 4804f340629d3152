//! Errors of language models in files: [`LlmError`].

use npukit_base::codes;
use npukit_graph::language::DecoderError;

/// Reason why a GGUF file or a folder cannot be read as a language model.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic, PartialEq)]
#[non_exhaustive]
pub enum LlmError {
    /// A file cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    File {
        /// Path of the file.
        path: String,
        /// Reason why the file cannot be read.
        reason: String,
    },
    /// A GGUF file is invalid.
    #[error("`{path}` is not a valid GGUF file: byte {offset}: {reason}")]
    Gguf {
        /// Path of the file.
        path: String,
        /// Offset of the defect in bytes.
        offset: u64,
        /// Defect of the file.
        reason: String,
    },
    /// A JSON file is invalid.
    #[error("`{path}`, line {line}, column {column}: {message}")]
    Json {
        /// Path of the file.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// Column in bytes, from 1; 0 if unknown.
        column: usize,
        /// Message of the parser.
        message: String,
    },
    /// A file of weights is not a safetensors file.
    #[error("`{path}` is not a safetensors file: {reason}")]
    SafeTensors {
        /// Path of the file.
        path: String,
        /// Defect of the file.
        reason: String,
    },
    /// A file of a folder names a file outside the folder.
    #[error("`{path}` names `{location}` for `{name}`, which is outside the folder")]
    Outside {
        /// Path of the file with the name.
        path: String,
        /// Name of the tensor, or of the step.
        name: String,
        /// Path in the file.
        location: String,
    },
    /// A key of the description is missing or has an illegal value.
    #[error("`{key}` of `{path}` is {found}; legal is {legal}")]
    Key {
        /// Path of the file.
        path: String,
        /// Name of the key.
        key: String,
        /// Value found.
        found: String,
        /// Legal values.
        legal: String,
    },
    /// The model is of an unsupported family.
    #[error("`{path}` is a model of the family `{found}`, which is not supported; supported are {known}")]
    Family {
        /// Path of the file.
        path: String,
        /// Family found.
        found: String,
        /// Supported families.
        known: String,
    },
    /// An encoder is given for a decoder, or the other way round.
    #[error("`{path}` is {found}, not {expected}")]
    #[diagnostic(help(
        "`npu generate` continues texts with decoders, `npu embed` reads texts with encoders"
    ))]
    Structure {
        /// Path of the model.
        path: String,
        /// Structure of the model, with its article.
        found: &'static str,
        /// Required structure.
        expected: &'static str,
    },
    /// Tensors are missing.
    #[error("`{path}` lacks tensors that its description requires: {names}")]
    Missing {
        /// Path of the model.
        path: String,
        /// Names of the missing tensors.
        names: String,
    },
    /// Tensors that the model does not use.
    #[error("`{path}` has tensors that its description makes nothing of: {names}")]
    Unused {
        /// Path of the model.
        path: String,
        /// Names of the unused tensors.
        names: String,
    },
    /// A tensor does not have the shape that the description requires.
    #[error("tensor `{name}` of `{path}` has shape {found:?}; the description requires {expected:?}")]
    Shape {
        /// Path of the file.
        path: String,
        /// Name of the tensor.
        name: String,
        /// Shape of the tensor.
        found: Vec<usize>,
        /// Required shape.
        expected: Vec<usize>,
    },
    /// A tensor has elements of an unsupported type.
    #[error(
        "tensor `{name}` of `{path}` has elements of type {found}, which is not supported; supported are {known}"
    )]
    Elements {
        /// Path of the file.
        path: String,
        /// Name of the tensor.
        name: String,
        /// Type found.
        found: String,
        /// Supported types.
        known: String,
    },
    /// A tensor has an element that is not a finite number.
    #[error("tensor `{name}` of `{path}` is not finite at row {row}, column {column}")]
    #[diagnostic(help("the file is damaged, or its training failed: all weights must be finite numbers"))]
    NotFinite {
        /// Path of the file.
        path: String,
        /// Name of the tensor.
        name: String,
        /// Row of the element, from 0.
        row: usize,
        /// Column of the element or, in formats with blocks, of the first element of its block.
        column: usize,
    },
    /// The tokenizer is invalid or unsupported.
    #[error("the tokenizer of `{path}` cannot be used: {reason}")]
    #[diagnostic(help("`--ids` takes a prompt as token numbers, without a tokenizer"))]
    Tokenizer {
        /// Path of the file.
        path: String,
        /// Invalid or unsupported property.
        reason: String,
    },
    /// There is no template for conversations.
    #[error("`{path}` has no template for conversations")]
    #[diagnostic(help(
        "a GGUF file has it as `tokenizer.chat_template`, a folder in `chat_template.jinja` or `tokenizer_config.json`; a text without the form of a conversation needs none"
    ))]
    NoTemplate {
        /// Path of the model.
        path: String,
    },
    /// The template for conversations fails.
    #[error("the template for conversations of `{path}`, line {line}: {reason}")]
    Template {
        /// Path of the file that contains it.
        path: String,
        /// Line of the template, from 1.
        line: usize,
        /// Reason, such as a syntax error or the template's own message.
        reason: String,
    },
    /// Sizes do not fit a language model.
    #[error("`{path}` does not describe a language model: {source}")]
    Model {
        /// Path of the model.
        path: String,
        /// Size or factor that does not fit.
        source: Box<DecoderError>,
    },
}

codes!(LlmError {
    File = "unreadable-llm": "a file of a language model cannot be read";
    Gguf = "invalid-gguf": "a GGUF file is cut off or malformed";
    Json = "invalid-llm-json": "a JSON file of a language model is malformed";
    SafeTensors = "invalid-safetensors": "a file of a language model's weights is not a safetensors file";
    Outside = "shard-outside": "a file of a language model names a file outside its folder";
    Key = "llm-value": "a value of a language model's configuration is missing, or means nothing";
    Family = "llm-family": "a language model is of a family that is not supported";
    Structure = "llm-structure": "an encoder of texts is given where a decoder is needed, or the other way round";
    Missing = "llm-missing-tensors": "a language model lacks tensors that its configuration requires";
    Unused = "llm-unused-tensors": "a language model has tensors that its configuration makes nothing of";
    Shape = "llm-tensor-shape": "a tensor of a language model has another shape than its configuration requires";
    Elements = "llm-tensor-type": "a tensor of a language model has elements of a type that is not supported";
    NotFinite = "llm-not-finite": "a tensor of a language model has an element that is NaN or infinite";
    Tokenizer = "llm-tokenizer": "a language model's tokenizer is invalid or not supported";
    NoTemplate = "no-chat-template": "a language model has no template for conversations";
    Template = "chat-template": "a language model's template for conversations is malformed, refuses the conversation, or does too much";
    Model = "invalid-llm": "sizes or factors do not fit a language model";
});
