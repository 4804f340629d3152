//! Errors of an import: [`ImportError`], with one [`NodeProblem`] per defect.

use npukit_base::{Code, codes, counted};
use npukit_graph::OpError;

use crate::dimension::{OpenInput, open_dimensions};
use crate::format::Format;

/// Reason why a file could not be imported.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum ImportError {
    /// The file ends within a field.
    #[error(
        "the file is truncated: the field at byte {offset} needs {needed} bytes after its header, {present} are present"
    )]
    #[diagnostic(help("fetch or export the file again; it is shorter than when it was written"))]
    Truncated {
        /// Byte offset of the start of the field.
        offset: usize,
        /// Content length in bytes that the header of the field declares.
        needed: u64,
        /// Bytes between the header and the end of the file.
        present: usize,
    },
    /// The bytes are not a protobuf of the format.
    #[error("not a valid {format} file: byte {offset}: {reason}")]
    #[diagnostic(help(
        "expected an ONNX model (`.onnx`), a frozen TensorFlow graph (`.pb`) or a TensorFlow Lite file (`.tflite`)"
    ))]
    NotModel {
        /// Expected format.
        format: Format,
        /// Byte offset where decoding stopped.
        offset: usize,
        /// Defect found there.
        reason: String,
    },
    /// The file format is too old or too new.
    #[error("IR version {found} is outside {oldest} to {newest}")]
    #[diagnostic(help("export the model again with a current exporter"))]
    IrVersion {
        /// IR version of the file.
        found: i64,
        /// Oldest supported version.
        oldest: i64,
        /// Newest supported version.
        newest: i64,
    },
    /// The operator set is too old or too new.
    #[error("opset {found} is outside {oldest} to {newest}")]
    #[diagnostic(help("export for opset 17, or convert the file with onnx.version_converter"))]
    Opset {
        /// Opset version of the file's standard operators.
        found: i64,
        /// Oldest supported version.
        oldest: i64,
        /// Newest supported version.
        newest: i64,
    },
    /// The file does not state a version of the standard operators.
    #[error("the file imports no opset for the standard domain")]
    #[diagnostic(help("`opset_import` needs an entry with an empty domain; export the model again"))]
    NoOpset,
    /// A name in the options does not exist in the model.
    #[error("the model has no {kind} {name:?}; available: {}", listing(available))]
    #[diagnostic(help("names are compared exactly"))]
    UnknownName {
        /// `input` or `value`.
        kind: &'static str,
        /// Requested name.
        name: String,
        /// Names that exist in the model.
        available: Vec<String>,
    },
    /// Sizes that neither the model nor the options state.
    #[error("the model leaves input sizes open: {}", open_dimensions(inputs))]
    #[diagnostic(help(
        "state the sizes of dimensions by name, or the shapes of whole inputs, in the options"
    ))]
    OpenDimensions {
        /// All inputs, with their known dimensions.
        inputs: Vec<OpenInput>,
    },
    /// Another node consumes each result, or no node computes anything.
    #[error("the graph has no outputs: another node consumes every result; nodes: {}", listing(available))]
    #[diagnostic(help("name the outputs with the outputs option"))]
    NoOutputs {
        /// Names that exist in the model.
        available: Vec<String>,
    },
    /// The model does not name outputs.
    #[error("the model has no outputs: there is nothing to compute; its values: {}", listing(available))]
    #[diagnostic(help("name the outputs with the outputs option, or export the model again"))]
    Nothing {
        /// Names that exist in the model.
        available: Vec<String>,
    },
    /// Nodes, inputs or tensors that cannot be imported. All defects are collected.
    #[error("{} of the model cannot be imported", counted(problems.len() as u64, "part"))]
    Problems {
        /// One entry per defect.
        #[related]
        problems: Vec<NodeProblem>,
    },
}

/// A node, input or tensor that cannot be imported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{op} {node:?}: {reason}")]
pub struct NodeProblem {
    /// Name of the node, or of its first output if it is unnamed; name of an input or initializer.
    pub node: String,
    /// The operator; or `input`, `initializer` or `output`.
    pub op: String,
    /// Defect of the node.
    pub reason: Reason,
    /// Advice to the user.
    pub hint: String,
}

impl NodeProblem {
    /// Creates a problem of a file of `format`, with the hint that belongs to its reason.
    pub fn new(format: Format, node: impl Into<String>, op: impl Into<String>, reason: Reason) -> Self {
        let hint = reason.hint(format);
        Self { node: node.into(), op: op.into(), reason, hint }
    }
}

impl miette::Diagnostic for NodeProblem {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(&self.hint))
    }
}

/// Defect of a node, an input or a tensor.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// Operator without a translation.
    #[error("operator {operator} is not supported")]
    Operator {
        /// Name of the operator, with its domain unless it is a standard operator.
        operator: String,
    },
    /// A required operand is absent.
    #[error("operand {operand:?} is missing")]
    OperandMissing {
        /// Name of the operand in the standard.
        operand: &'static str,
    },
    /// Operand that the operator does not have at this opset.
    #[error("operand {index} ({name:?}) is not one of the operator's{}", at_opset(*opset))]
    OperandUnknown {
        /// Position of the operand, from 0.
        index: usize,
        /// Name of the operand's value.
        name: String,
        /// Opset of the model; `None` if the format has no opsets.
        opset: Option<i64>,
    },
    /// Operand that must be a compile-time constant, but is computed from the inputs.
    #[error("operand {operand:?} is computed at run time; it must be a constant")]
    OperandNotConstant {
        /// Name of the operand in the standard.
        operand: &'static str,
    },
    /// Operand whose values determine the size of the result, but is computed from the inputs.
    #[error(
        "the size of the result depends on the values of operand {operand:?}, which is computed at run time"
    )]
    ShapeByValue {
        /// Name of the operand in the standard.
        operand: &'static str,
    },
    /// Operator that draws random numbers.
    #[error("the operator draws random numbers; results would not be reproducible")]
    Random,
    /// An operand's shape, type or value is not accepted.
    #[error("operand {operand:?} is {found}; legal: {legal}")]
    OperandValue {
        /// Name of the operand in the standard.
        operand: &'static str,
        /// Shape, type or value found.
        found: String,
        /// Legal shapes, types or values.
        legal: String,
    },
    /// A required attribute is absent.
    #[error("attribute {name:?} is missing")]
    AttributeMissing {
        /// Name of the attribute.
        name: &'static str,
    },
    /// Attribute whose type differs from the standard.
    #[error("attribute {name:?} has type code {found}; the standard has {expected}")]
    AttributeType {
        /// Name of the attribute.
        name: &'static str,
        /// Type code found.
        found: i32,
        /// Name of the expected type.
        expected: &'static str,
    },
    /// An attribute's value is not accepted.
    #[error("attribute {name:?} is {found}; legal: {legal}")]
    AttributeValue {
        /// Name of the attribute.
        name: &'static str,
        /// Value found.
        found: String,
        /// Legal values.
        legal: String,
    },
    /// Attribute that the operator does not have at this opset.
    #[error("attribute {name:?} is not one of the operator's{}", at_opset(*opset))]
    AttributeUnknown {
        /// Name of the attribute.
        name: String,
        /// Opset of the model; `None` if the format has no opsets.
        opset: Option<i64>,
    },
    /// An attribute given twice.
    #[error("attribute {name:?} is given twice")]
    AttributeTwice {
        /// Name of the attribute.
        name: String,
    },
    /// Attribute that holds a subgraph.
    #[error("attribute {name:?} holds a subgraph")]
    Subgraph {
        /// Name of the attribute.
        name: String,
    },
    /// Control-flow branches nested too deeply.
    #[error("branches are nested deeper than {limit}")]
    Nesting {
        /// Maximum supported nesting depth.
        limit: usize,
    },
    /// An If whose condition depends on the inputs, and whose branches give results of different
    /// shapes.
    #[error("the condition is computed at run time, and the branches give results {taken} and {other}")]
    Branches {
        /// Type and shape of a result of `then_branch`.
        taken: String,
        /// Type and shape of the same result of `else_branch`.
        other: String,
    },
    /// A Loop that stacks one result per iteration, while its number of iterations depends on the
    /// inputs.
    #[error("the number of iterations whose results it stacks is computed at run time")]
    Rounds,
    /// A result that is used, but not supported.
    #[error("result {index} ({name:?}) is used but not supported")]
    Output {
        /// Position of the result, from 0.
        index: usize,
        /// Name of the result's value.
        name: String,
    },
    /// The operands do not fit the operator or each other.
    #[error("{0}")]
    Shape(#[from] OpError),
    /// A sequence where a tensor is wanted.
    #[error("{name:?} is a sequence; only the operators of sequences take it")]
    Sequence {
        /// Name of the sequence.
        name: String,
    },
    /// A name that nothing defines.
    #[error("nothing defines {name:?}")]
    Undefined {
        /// Undefined name.
        name: String,
    },
    /// A name that nodes cannot have.
    #[error("{name:?} is not a valid node name; legal: not empty, without `:` and `^`")]
    Name {
        /// Invalid name.
        name: String,
    },
    /// A name that is defined more than once.
    #[error("{name:?} is defined more than once")]
    DuplicateName {
        /// Repeated name.
        name: String,
    },
    /// Nodes that depend on each other.
    #[error("the nodes {} form a cycle", nodes.join(" -> "))]
    Cycle {
        /// Nodes of the cycle. Each consumes a result of the node before it, and the last equals
        /// the first.
        nodes: Vec<String>,
    },
    /// Input whose rank is unknown or which is not a tensor.
    #[error("the model does not state a shape")]
    NoShape,
    /// A dimension that is not a size.
    #[error("dimension {axis} is {size}; legal: 0 to {limit}")]
    Dimension {
        /// Axis, from 0.
        axis: usize,
        /// Size found.
        size: i64,
        /// Largest supported size.
        limit: usize,
    },
    /// A number given for an input whose element type cannot represent it.
    #[error("the given value is {found:?}; legal: {legal}")]
    Given {
        /// Text given.
        found: String,
        /// Legal values.
        legal: String,
    },
    /// A rank that is too large.
    #[error("the rank is {rank}; at most {limit} is supported")]
    Rank {
        /// Rank found.
        rank: usize,
        /// Largest supported rank.
        limit: usize,
    },
    /// A tensor with too many elements.
    #[error("shape {shape:?} has more than {limit} elements")]
    TooLarge {
        /// Shape of the tensor.
        shape: Vec<usize>,
        /// Maximum number of elements.
        limit: usize,
    },
    /// A constant of the file with too many elements.
    #[error(
        "the constant of shape {shape:?} has {elements} elements; at most {limit} are supported (1 GiB as 32-bit floats)"
    )]
    ConstantTooLarge {
        /// Shape of the constant.
        shape: Vec<usize>,
        /// Number of its elements.
        elements: u128,
        /// Maximum number of elements.
        limit: usize,
    },
    /// Data whose size does not match its dimensions.
    #[error("the dimensions {shape:?} need {expected} {unit}; {found} are present")]
    DataSize {
        /// Dimensions of the tensor.
        shape: Vec<usize>,
        /// Amount of data that the dimensions require.
        expected: usize,
        /// Amount of data found.
        found: usize,
        /// `bytes` or `elements`.
        unit: &'static str,
    },
    /// An unsupported element type.
    #[error("element type {name} is not supported (numbers and truth values are)")]
    ElementType {
        /// Name of the type, or its code.
        name: String,
    },
    /// Elements stored in another file that cannot be read.
    #[error("the elements are in another file, {location:?}: {reason}")]
    ExternalData {
        /// Path of that file in the model.
        location: String,
        /// Reason why the file cannot be read.
        reason: String,
    },
    /// A defect in a branch of an If whose condition depends on the inputs.
    #[error("{reason} (in the {branch} of If {node:?}, whose condition depends on {})", quoted(inputs))]
    InBranch {
        /// Defect in the branch.
        reason: Box<Reason>,
        /// `then_branch` or `else_branch`.
        branch: &'static str,
        /// Name of the If node.
        node: String,
        /// Inputs on which the condition depends.
        inputs: Vec<String>,
    },
    /// A sparse or segmented tensor.
    #[error("{kind} tensors are not supported")]
    TensorKind {
        /// `sparse` or `segmented`.
        kind: &'static str,
    },
}

impl Reason {
    /// Advice to the user about this defect.
    fn hint(&self, format: Format) -> String {
        match self {
            Self::InBranch { inputs, .. } => {
                let given: Vec<String> = inputs.iter().map(|name| format!("--const {name}=NUMBER")).collect();
                format!(
                    "if that branch is never taken, fix the inputs that decide it, with the number of your runs: {}",
                    given.join(" ")
                )
            }
            reason => reason.advice(format).to_owned(),
        }
    }

    /// Advice that does not mention any names.
    fn advice(&self, format: Format) -> &'static str {
        match self {
            Self::Operator { .. } => {
                "replace the operator when exporting, or cut the model before it with the outputs option"
            }
            Self::ShapeByValue { .. } => {
                "shapes are fixed when compiling: cut the model before the node with the outputs option and select on the host"
            }
            Self::Sequence { .. } => {
                "convert it to a tensor (ConcatFromSequence, SequenceAt) before the node or output"
            }
            Self::Random => "export for inference, or make the random tensor an input of the model",
            Self::OperandNotConstant { .. } => "export with fixed shapes, or simplify the model (onnxsim)",
            Self::OperandMissing { .. }
            | Self::OperandUnknown { .. }
            | Self::AttributeMissing { .. }
            | Self::AttributeType { .. }
            | Self::AttributeUnknown { .. }
            | Self::AttributeTwice { .. }
            | Self::Undefined { .. }
            | Self::Name { .. }
            | Self::DuplicateName { .. }
            | Self::Cycle { .. } => format.repair(),
            Self::OperandValue { .. } | Self::AttributeValue { .. } => {
                "export the layer with a legal value, or replace it by operators that have the same meaning"
            }
            Self::Subgraph { .. } | Self::Nesting { .. } => "export without control flow (If, Loop, Scan)",
            Self::Branches { .. } | Self::Rounds => {
                "fix the input that it depends on with the option for values (--const NAME=NUMBER), or export with fixed shapes"
            }
            Self::Output { .. } => "export for inference; only the operator's first results are computed",
            Self::Shape(_) => {
                "check the input shapes given as options against those the model was trained for"
            }
            Self::NoShape | Self::Dimension { .. } => "give the shape of the input as an option",
            Self::Given { .. } => "the value must be one number, which fills the whole input",
            Self::Rank { .. } | Self::TooLarge { .. } => "check the input shapes given as options",
            Self::ConstantTooLarge { .. } => {
                "leave it to the host: export the network with what is looked up or multiplied there as an input \
                 or output (inputs_embeds, hidden states), or end the import before it with the outputs option"
            }
            // `hint` adds the advice about the branch; this is the advice without names.
            Self::InBranch { reason, .. } => reason.advice(format),
            Self::DataSize { .. } => "the file is damaged; export it again",
            Self::ElementType { .. } => "export the model in float32",
            Self::ExternalData { .. } => {
                "put the file next to the model, or save the model as one (onnx.save with save_as_external_data=False)"
            }
            Self::TensorKind { .. } => "export with dense tensors",
        }
    }
}

codes!(ImportError {
    Truncated = "truncated-model": "a model's file ends within a field";
    NotModel = "invalid-model": "the content is not valid for the model's format";
    IrVersion = "ir-version": "the IR version of an ONNX file is not supported";
    Opset = "opset": "the operator set of an ONNX file is too old or too new";
    NoOpset = "no-opset": "an ONNX file does not state a version of the standard operators";
    UnknownName = "unknown-value": "the model has no input or value with the given name";
    OpenDimensions = "open-dimensions": "neither the model nor the options state the size of a dimension";
    NoOutputs = "no-outputs": "every result of a frozen graph is consumed by another node";
    Nothing = "nothing-computed": "a model does not name outputs";
    Problems = "unimported-parts": "parts of a model cannot be imported; an entry for each follows";
});

codes!(NodeProblem: Code {
    name: "unsupported-node",
    meaning: "a node, input or tensor of a model cannot be imported or compiled for the target",
});

fn at_opset(opset: Option<i64>) -> String {
    opset.map_or_else(String::new, |opset| format!(" at opset {opset}"))
}

/// Joins names, each of them in quotes.
fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(" and ")
}

/// Lists names for a message: all if they are few, otherwise the first ones and the number of the
/// others.
fn listing(names: &[String]) -> String {
    const SHOWN: usize = 24;
    let mut text = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    if text.is_empty() { "none".to_owned() } else { text }
}
