//! Syntax tree: [`Program`] with its regions, operations and instructions.

use std::fmt;

use npukit_base::Span;

use super::constraint::Condition;
use super::layout_of;

/// PASM file.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Regions in file order.
    pub regions: Vec<Region>,
}

/// Region of a program. Regions run one after the other.
#[derive(Clone, Debug)]
pub enum Region {
    /// Operations that are scheduled together.
    Epoch(Epoch),
    /// Regions that are repeated.
    For(For),
    /// Regions that run if a register is not 0, and others that run if it is 0.
    If(If),
}

/// Operations that are scheduled together.
#[derive(Clone, Debug, Default)]
pub struct Epoch {
    /// Name of the epoch.
    pub name: Option<Name>,
    /// Operations in file order.
    pub operations: Vec<Operation>,
    /// Constraints in file order.
    pub constraints: Vec<Constraint>,
}

/// `for (iter=N) { ... }`
#[derive(Clone, Debug)]
pub struct For {
    /// Name of the loop.
    pub name: Option<Name>,
    /// Parameters as written.
    pub parameters: Vec<Parameter>,
    /// Repeated regions.
    pub body: Vec<Region>,
    /// Span of the keyword.
    pub span: Span,
}

/// `if (reg=R) { ... } else { ... }`
#[derive(Clone, Debug)]
pub struct If {
    /// Name of the branch.
    pub name: Option<Name>,
    /// Parameters as written.
    pub parameters: Vec<Parameter>,
    /// Regions that run if the condition holds.
    pub then: Vec<Region>,
    /// Regions that run if the condition does not hold.
    pub otherwise: Vec<Region>,
    /// Span of the keyword.
    pub span: Span,
}

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Operation on a port of a resource.
    Rop,
    /// Operation on the cell's sequencer.
    Cop,
    /// Instructions that are emitted unchanged.
    Raw,
}

/// Operation of an epoch.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Name, by which constraints refer to its start.
    pub name: Option<Name>,
    /// `row`, `col` and, for a rop, `slot` and `port`.
    pub parameters: Vec<Parameter>,
    /// Instructions in issue order.
    pub instructions: Vec<Instruction>,
    /// Span from the keyword to the end of the parameters.
    pub span: Span,
}

/// Instruction of an operation.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Mnemonic with its span.
    pub mnemonic: Name,
    /// Name, which nothing refers to.
    pub name: Option<Name>,
    /// Parameters as written.
    pub parameters: Vec<Parameter>,
}

/// `name=value`
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: Name,
    /// Value of the parameter.
    pub value: Value,
    /// Span of the value.
    pub span: Span,
}

/// Value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Integer(i64),
    /// A free variable, or the name of an enumeration value.
    Name(String),
}

/// Word with its span.
#[derive(Clone, Debug)]
pub struct Name {
    /// Text of the word.
    pub text: String,
    /// Span of the word.
    pub span: Span,
}

/// `cstr("...")`
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Text between the quotes.
    pub text: String,
    /// Parsed condition.
    pub condition: Condition,
    /// Span of the text.
    pub span: Span,
}

impl OperationKind {
    /// Keyword of the kind.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Rop => "rop",
            Self::Cop => "cop",
            Self::Raw => "raw",
        }
    }
}

impl Operation {
    /// Returns the parameter `name`.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        find(&self.parameters, name)
    }
}

impl Instruction {
    /// Returns the parameter `name`.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        find(&self.parameters, name)
    }
}

/// Returns the parameter `name` of a list.
pub fn find<'a>(parameters: &'a [Parameter], name: &str) -> Option<&'a Parameter> {
    parameters.iter().find(|parameter| parameter.name.text == name)
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), span: Span::default() }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<&str> for Value {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl Parameter {
    /// Creates a parameter that is not from a file.
    pub fn new(name: &str, value: impl Into<Value>) -> Self {
        Self { name: name.into(), value: value.into(), span: Span::default() }
    }
}

/// Prints the program as text that parses to the same program.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        regions(&mut text, &self.regions);
        f.write_str(&layout_of(&text))
    }
}

fn regions(text: &mut String, regions: &[Region]) {
    for region in regions {
        match region {
            Region::Epoch(epoch) => self::epoch(text, epoch),
            Region::For(region) => {
                head(text, "for", region.name.as_ref(), &region.parameters);
                block(text, &region.body);
            }
            Region::If(region) => {
                head(text, "if", region.name.as_ref(), &region.parameters);
                block(text, &region.then);
                if !region.otherwise.is_empty() {
                    text.push_str(" else");
                    block(text, &region.otherwise);
                }
            }
        }
    }
}

fn block(text: &mut String, body: &[Region]) {
    text.push('{');
    regions(text, body);
    text.push('}');
}

fn head(text: &mut String, keyword: &str, name: Option<&Name>, parameters: &[Parameter]) {
    text.push(' ');
    text.push_str(keyword);
    if let Some(name) = name {
        text.push_str(&format!("<{}>", name.text));
    }
    if !parameters.is_empty() {
        let list: Vec<String> = parameters.iter().map(ToString::to_string).collect();
        text.push_str(&format!("({})", list.join(",")));
    }
}

fn epoch(text: &mut String, epoch: &Epoch) {
    head(text, "epoch", epoch.name.as_ref(), &[]);
    text.push('{');
    for operation in &epoch.operations {
        head(text, operation.kind.keyword(), operation.name.as_ref(), &operation.parameters);
        text.push('{');
        for instruction in &operation.instructions {
            head(text, &instruction.mnemonic.text, instruction.name.as_ref(), &instruction.parameters);
        }
        text.push('}');
    }
    for constraint in &epoch.constraints {
        text.push_str(&format!(" cstr(\"{}\")", constraint.text));
    }
    text.push('}');
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Integer(value) => write!(f, "{}={value}", self.name.text),
            Value::Name(value) => write!(f, "{}={value}", self.name.text),
        }
    }
}
