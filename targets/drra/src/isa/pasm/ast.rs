//! The syntax tree: [`Program`], its regions, operations and instructions.

use std::fmt;

use npukit_base::Span;

use super::constraint::Condition;
use super::layout_of;

/// A file.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// In file order.
    pub regions: Vec<Region>,
}

/// A part of a program: the parts run one after the other.
#[derive(Clone, Debug)]
pub enum Region {
    /// Operations that are scheduled together.
    Epoch(Epoch),
    /// Regions done several times.
    For(For),
    /// Regions done when a register is not 0, others when it is.
    If(If),
}

/// Operations that are scheduled together.
#[derive(Clone, Debug, Default)]
pub struct Epoch {
    /// Its name.
    pub name: Option<Name>,
    /// In file order.
    pub operations: Vec<Operation>,
    /// In file order.
    pub constraints: Vec<Constraint>,
}

/// `for (iter=N) { ... }`
#[derive(Clone, Debug)]
pub struct For {
    /// Its name.
    pub name: Option<Name>,
    /// As written.
    pub parameters: Vec<Parameter>,
    /// What is repeated.
    pub body: Vec<Region>,
    /// The keyword.
    pub span: Span,
}

/// `if (reg=R) { ... } else { ... }`
#[derive(Clone, Debug)]
pub struct If {
    /// Its name.
    pub name: Option<Name>,
    /// As written.
    pub parameters: Vec<Parameter>,
    /// Done when the condition holds.
    pub then: Vec<Region>,
    /// Done when it does not.
    pub otherwise: Vec<Region>,
    /// The keyword.
    pub span: Span,
}

/// What kind of operation one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// On a port of a resource.
    Rop,
    /// On the cell's sequencer.
    Cop,
    /// Instructions emitted as they stand.
    Raw,
}

/// An operation of an epoch.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Of which kind.
    pub kind: OperationKind,
    /// Its name, by which constraints mean its start.
    pub name: Option<Name>,
    /// `row`, `col` and, of a rop, `slot` and `port`.
    pub parameters: Vec<Parameter>,
    /// In the order they are issued in.
    pub instructions: Vec<Instruction>,
    /// From the keyword to the end of the parameters.
    pub span: Span,
}

/// An instruction of an operation.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The mnemonic.
    pub mnemonic: Name,
    /// Its name, which nothing refers to.
    pub name: Option<Name>,
    /// As written.
    pub parameters: Vec<Parameter>,
}

/// `name=value`
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Left of the sign.
    pub name: Name,
    /// Right of it.
    pub value: Value,
    /// Place of the value.
    pub span: Span,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Integer(i64),
    /// A free variable, or the name of a value of an enumeration.
    Name(String),
}

/// A word and its place.
#[derive(Clone, Debug)]
pub struct Name {
    /// The word.
    pub text: String,
    /// The place.
    pub span: Span,
}

/// `cstr("...")`
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The text between the quotes.
    pub text: String,
    /// What it says.
    pub condition: Condition,
    /// Place of the text.
    pub span: Span,
}

impl OperationKind {
    /// Its keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Rop => "rop",
            Self::Cop => "cop",
            Self::Raw => "raw",
        }
    }
}

impl Operation {
    /// The parameter `name`.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        find(&self.parameters, name)
    }
}

impl Instruction {
    /// The parameter `name`.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        find(&self.parameters, name)
    }
}

/// The parameter `name` of a list.
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
    /// A parameter that stands in no file.
    pub fn new(name: &str, value: impl Into<Value>) -> Self {
        Self { name: name.into(), value: value.into(), span: Span::default() }
    }
}

/// The program as text that parses to the same program.
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
