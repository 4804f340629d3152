//! What can be wrong with a model: [`ImportError`], with one [`NodeProblem`] per defect.

use npukit_base::{Code, codes, counted};
use npukit_graph::OpError;

use crate::dimension::{OpenInput, open_dimensions};
use crate::format::Format;

/// Why a file did not become a graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum ImportError {
    /// The file ends within a field.
    #[error(
        "the file is truncated: the field at byte {offset} needs {needed} bytes after its header, {present} are present"
    )]
    #[diagnostic(help("fetch or export the file again; it is shorter than when it was written"))]
    Truncated {
        /// Where the field begins.
        offset: usize,
        /// Bytes its header announces.
        needed: u64,
        /// Bytes from there to the end of the file.
        present: usize,
    },
    /// The bytes are not a protobuf of the format.
    #[error("no {format} file: byte {offset}: {reason}")]
    #[diagnostic(help(
        "expected what exporters write to ONNX models (`.onnx`), frozen TensorFlow graphs (`.pb`) or TensorFlow Lite files (`.tflite`)"
    ))]
    NotModel {
        /// The format expected.
        format: Format,
        /// Where decoding stopped.
        offset: usize,
        /// What the decoder met.
        reason: String,
    },
    /// The file format is too old or too new.
    #[error("IR version {found} is outside {oldest} to {newest}")]
    #[diagnostic(help("export the model again with a current exporter"))]
    IrVersion {
        /// Version of the file.
        found: i64,
        /// Oldest version read.
        oldest: i64,
        /// Newest version read.
        newest: i64,
    },
    /// The operator set is too old or too new.
    #[error("opset {found} is outside {oldest} to {newest}")]
    #[diagnostic(help("export for opset 17, or convert the file with onnx.version_converter"))]
    Opset {
        /// Version of the file's standard operators.
        found: i64,
        /// Oldest version read.
        oldest: i64,
        /// Newest version read.
        newest: i64,
    },
    /// The file names no version for the standard's operators.
    #[error("the file imports no opset for the standard domain")]
    #[diagnostic(help("`opset_import` needs an entry with an empty domain; export the model again"))]
    NoOpset,
    /// A name in the options is not the model's.
    #[error("the model has no {kind} {name:?}; it has {}", listing(available))]
    #[diagnostic(help("names are compared exactly"))]
    UnknownName {
        /// `input` or `value`.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// Sizes that neither the model nor the options say.
    #[error("the model leaves sizes of its inputs open: {}", open_dimensions(inputs))]
    #[diagnostic(help("the options say the sizes of dimensions by name, or the shapes of whole inputs"))]
    OpenDimensions {
        /// All inputs, as far as their shapes are known.
        inputs: Vec<OpenInput>,
    },
    /// Every node's results are consumed by another, or there are no nodes that compute.
    #[error(
        "the graph has no outputs: nothing is computed that no other node consumes; nodes: {}",
        listing(available)
    )]
    #[diagnostic(help("name the outputs with the outputs option"))]
    NoOutputs {
        /// The names there are.
        available: Vec<String>,
    },
    /// A model that names no outputs.
    #[error("the model has no outputs: there is nothing to compute; its values are {}", listing(available))]
    #[diagnostic(help("name the outputs with the outputs option, or export the model again"))]
    Nothing {
        /// The names there are.
        available: Vec<String>,
    },
    /// Nodes, inputs or tensors that cannot be imported; all that were found.
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
    /// Name of the node, else of its first output; the name of an input or initialiser.
    pub node: String,
    /// The operator; `input`, `initializer` or `output` for those.
    pub op: String,
    /// What is wrong with the node.
    pub reason: Reason,
    /// What to do about it.
    pub hint: String,
}

impl NodeProblem {
    /// A problem of a file of `format`, with the hint that belongs to its reason.
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

/// What is wrong with a node, an input or a tensor.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// No translation for the operator.
    #[error("operator {operator} is not supported")]
    Operator {
        /// Its name, with the domain unless that is the standard's.
        operator: String,
    },
    /// A required operand is absent.
    #[error("operand {operand:?} is missing")]
    OperandMissing {
        /// The standard's name for it.
        operand: &'static str,
    },
    /// An operand that the operator does not have at this opset.
    #[error("operand {index} ({name:?}) is not one of the operator's{}", at_opset(*opset))]
    OperandUnknown {
        /// Position, from 0.
        index: usize,
        /// Name of the value.
        name: String,
        /// The model's opset, where the format has one.
        opset: Option<i64>,
    },
    /// An operand that must be known when compiling is computed from the inputs.
    #[error("operand {operand:?} is computed at run time; it must be a constant")]
    OperandNotConstant {
        /// The standard's name for it.
        operand: &'static str,
    },
    /// An operand whose values say how large the result is, computed from the inputs.
    #[error(
        "how many results there are depends on the values of operand {operand:?}, which is computed at run time"
    )]
    ShapeByValue {
        /// The standard's name for it.
        operand: &'static str,
    },
    /// The operator draws random numbers.
    #[error("it draws random numbers: no two programs would agree on them")]
    Random,
    /// An operand's shape, type or value is not accepted.
    #[error("operand {operand:?} is {found}; legal: {legal}")]
    OperandValue {
        /// The standard's name for it.
        operand: &'static str,
        /// What it is.
        found: String,
        /// What it may be.
        legal: String,
    },
    /// A required attribute is absent.
    #[error("attribute {name:?} is missing")]
    AttributeMissing {
        /// Its name.
        name: &'static str,
    },
    /// An attribute of another type than the standard says.
    #[error("attribute {name:?} has type code {found}; the standard has {expected}")]
    AttributeType {
        /// Its name.
        name: &'static str,
        /// Code found.
        found: i32,
        /// Name of the right type.
        expected: &'static str,
    },
    /// An attribute's value is not accepted.
    #[error("attribute {name:?} is {found}; legal: {legal}")]
    AttributeValue {
        /// Its name.
        name: &'static str,
        /// The value.
        found: String,
        /// What it may be.
        legal: String,
    },
    /// An attribute that the operator does not have at this opset.
    #[error("attribute {name:?} is not one of the operator's{}", at_opset(*opset))]
    AttributeUnknown {
        /// Its name.
        name: String,
        /// The model's opset, where the format has one.
        opset: Option<i64>,
    },
    /// An attribute given twice.
    #[error("attribute {name:?} is given twice")]
    AttributeTwice {
        /// Its name.
        name: String,
    },
    /// An attribute that holds a subgraph.
    #[error("attribute {name:?} holds a subgraph")]
    Subgraph {
        /// Its name.
        name: String,
    },
    /// Graphs within graphs within graphs.
    #[error("branches are nested deeper than {limit}")]
    Nesting {
        /// Deepest nesting read.
        limit: usize,
    },
    /// An If whose condition depends on the inputs, and the shapes of its results on the condition.
    #[error("its condition is computed at run time, and its branches give {taken} and {other}")]
    Branches {
        /// Type and shape of a result where the condition holds.
        taken: String,
        /// Those of the same result elsewhere.
        other: String,
    },
    /// A Loop that stacks a result per round, whose number of rounds depends on the inputs.
    #[error("how many rounds it stacks the results of is computed at run time")]
    Rounds,
    /// A result we do not compute is used.
    #[error("result {index} ({name:?}) is used but not supported")]
    Output {
        /// Position, from 0.
        index: usize,
        /// Name of the value.
        name: String,
    },
    /// The operands do not fit the operator or each other.
    #[error("{0}")]
    Shape(#[from] OpError),
    /// A sequence where a tensor is wanted.
    #[error("{name:?} is a sequence; only the operators of sequences take it")]
    Sequence {
        /// Its name.
        name: String,
    },
    /// A name that nothing defines.
    #[error("nothing defines {name:?}")]
    Undefined {
        /// The name.
        name: String,
    },
    /// A name that nodes cannot have.
    #[error("{name:?} is not a node's name: one that is not empty and has no `:` or `^`")]
    Name {
        /// The name.
        name: String,
    },
    /// A name defined twice.
    #[error("{name:?} is defined more than once")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// Nodes that wait for each other.
    #[error("the nodes {} form a cycle", nodes.join(" -> "))]
    Cycle {
        /// The nodes, each consuming a result of the one before; the last is the first again.
        nodes: Vec<String>,
    },
    /// The rank is unknown or not a tensor's.
    #[error("the model states no shape")]
    NoShape,
    /// A dimension that is not a size.
    #[error("dimension {axis} is {size}; legal: 0 to {limit}")]
    Dimension {
        /// The axis, from 0.
        axis: usize,
        /// The size stated.
        size: i64,
        /// Largest size read.
        limit: usize,
    },
    /// A number given for an input that its elements cannot be.
    #[error("the value given for it is {found:?}; legal: {legal}")]
    Given {
        /// The text given.
        found: String,
        /// What it may be.
        legal: String,
    },
    /// More axes than we read.
    #[error("the rank is {rank}; at most {limit} is supported")]
    Rank {
        /// Rank found.
        rank: usize,
        /// Largest rank read.
        limit: usize,
    },
    /// A tensor with more elements than we hold.
    #[error("shape {shape:?} has more than {limit} elements")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
        /// Most elements.
        limit: usize,
    },
    /// A constant of the file with more elements than we hold.
    #[error(
        "the constant of shape {shape:?} has {elements} elements; at most {limit} are held (1 GiB as 32-bit floats)"
    )]
    ConstantTooLarge {
        /// Its shape.
        shape: Vec<usize>,
        /// Its elements.
        elements: u128,
        /// Most elements.
        limit: usize,
    },
    /// The elements do not fit the dimensions.
    #[error("the dimensions {shape:?} need {expected} {unit}; {found} are present")]
    DataSize {
        /// The dimensions.
        shape: Vec<usize>,
        /// What they need.
        expected: usize,
        /// What is there.
        found: usize,
        /// `bytes` or `elements`.
        unit: &'static str,
    },
    /// An element type outside those of the graph.
    #[error("element type {name} is not supported (numbers and truth values are)")]
    ElementType {
        /// Name of the type, or its code.
        name: String,
    },
    /// The elements are in another file, and cannot be read there.
    #[error("the elements are in another file, {location:?}: {reason}")]
    ExternalData {
        /// The file the model names.
        location: String,
        /// What is wrong with the node.
        reason: String,
    },
    /// Something else, in a branch of an If whose condition depends on the inputs.
    #[error("{reason} (in the {branch} of If {node:?}, whose condition depends on {})", quoted(inputs))]
    InBranch {
        /// What is wrong.
        reason: Box<Reason>,
        /// `then_branch` or `else_branch`.
        branch: &'static str,
        /// The If.
        node: String,
        /// The inputs that its condition depends on.
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
    /// What a user can do about it.
    fn hint(&self, format: Format) -> String {
        match self {
            Self::InBranch { inputs, .. } => {
                let given: Vec<String> = inputs.iter().map(|name| format!("--set {name}=NUMBER")).collect();
                format!(
                    "if that branch is never taken, fix what decides it: {}, with the number that your runs give it",
                    given.join(" ")
                )
            }
            reason => reason.advice(format).to_owned(),
        }
    }

    /// What a user can do about what has no names in it.
    fn advice(&self, format: Format) -> &'static str {
        match self {
            Self::Operator { .. } => {
                "replace the operator when exporting, or end the import before it with the outputs option"
            }
            Self::ShapeByValue { .. } => {
                "shapes are fixed when compiling: end the import before the node with the outputs option and select on the host"
            }
            Self::Sequence { .. } => {
                "make a tensor of it (ConcatFromSequence, SequenceAt) before the node or output"
            }
            Self::Random => "export for inference, or make what is drawn an input of the model",
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
                "fix the input that it depends on with the option for values (--set NAME=NUMBER), or export with fixed shapes"
            }
            Self::Output { .. } => "export for inference; only the operator's first results are computed",
            Self::Shape(_) => {
                "check the input shapes given as options against those the model was trained for"
            }
            Self::NoShape | Self::Dimension { .. } => "give the shape of the input as an option",
            Self::Given { .. } => "one number stands for all elements of the input",
            Self::Rank { .. } | Self::TooLarge { .. } => "check the input shapes given as options",
            Self::ConstantTooLarge { .. } => {
                "leave it to the host: export the network with what is looked up or multiplied there as an input \
                 or output (inputs_embeds, hidden states), or end the import before it with the outputs option"
            }
            // Its advice is that of `hint`; without names that of what is wrong.
            Self::InBranch { reason, .. } => reason.advice(format),
            Self::DataSize { .. } => "the file is damaged; export it again",
            Self::ElementType { .. } => "export the model in float32",
            Self::ExternalData { .. } => {
                "put the file beside the model, or save the model as one (onnx.save with save_as_external_data=False)"
            }
            Self::TensorKind { .. } => "export with dense tensors",
        }
    }
}

codes!(ImportError {
    Truncated = "truncated-model": "a model's file ends within a field";
    NotModel = "invalid-model": "the bytes are not of the model's format";
    IrVersion = "ir-version": "the version of an ONNX file is not read";
    Opset = "opset": "the operator set of an ONNX file is too old or too new";
    NoOpset = "no-opset": "an ONNX file names no version for the standard's operators";
    UnknownName = "unknown-value": "a model has no input or value of that name";
    OpenDimensions = "open-dimensions": "neither the model nor the options say the size of a dimension";
    NoOutputs = "no-outputs": "a frozen graph computes nothing that no other node consumes";
    Nothing = "nothing-computed": "a model names no outputs";
    Problems = "unimported-parts": "parts of a model cannot be imported; an entry for each follows";
});

codes!(NodeProblem: Code {
    name: "unsupported-node",
    meaning: "a node, input or tensor of a model cannot be imported or compiled for the target",
});

fn at_opset(opset: Option<i64>) -> String {
    opset.map_or_else(String::new, |opset| format!(" at opset {opset}"))
}

/// Names in quotes, each of them.
fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(" and ")
}

/// Names for a message: all when few, else the first and how many more.
fn listing(names: &[String]) -> String {
    const SHOWN: usize = 24;
    let mut text = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    if text.is_empty() { "none".to_owned() } else { text }
}
