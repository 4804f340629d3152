//! The compiler: lowers a graph to a [`Plan`], whose steps are kernel calls and data moves by the
//! driver.
//!
//! | module | content |
//! |---|---|
//! | `kernels` | PASM programs generated for a size |
//! | `format` | fraction lengths, and how the dpu handles them |
//! | `expand` | operators expressed by other operators |
//! | `ops` | operators as steps |
//! | `calls` | kernel calls of a task |
//! | `executable` | kernels, scheduled and checked |
//! | `fit` | features that kernels avoid |

pub mod calls;
#[cfg(test)]
pub(crate) mod example;
pub mod executable;
mod expand;
mod fit;
mod format;
mod kernels;
mod ops;
pub mod rounded;
pub mod tape;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use npukit_graph::quantize::Quantization;
use npukit_graph::{Graph, Node, Operator, ValueId, pass};
use npukit_lower::{Problem, Refusals, Reject};
use npukit_numeric::ElementType;

use crate::config::column::columns;
use crate::config::fabric::{Fabric, ROW_WORDS};
use crate::machine::exec::word::{fits, integer};
use crate::program::gather::Source;
use crate::program::plan::{Plan, Step, Task, Value};
use calls::TooLong;
pub use format::scheme;
use format::{Format, largest_fraction};
pub(crate) use ops::reaches_border;
use rounded::{Rounding, Roundings};

/// Rewrites the graph into the forms that can be lowered.
///
/// # Errors
///
/// A pass finds inconsistent shapes.
pub fn prepare(graph: &Graph) -> Result<Graph, pass::PassError> {
    let mut graph = graph.clone();
    pass::simplify(&mut graph)?;
    expand::expand(&mut graph)?;
    Ok(graph)
}

/// Returns the nodes of a prepared graph that cannot be lowered with any fraction lengths.
pub fn check(fabric: &Fabric, graph: &Graph) -> Vec<Problem> {
    // Default: a graph that can be lowered has no problems.
    lower(fabric, graph, None).err().unwrap_or_default()
}

/// Returns the plan of a prepared graph. Without fraction lengths, all numbers use the fraction
/// bits of the dpu's products.
///
/// # Errors
///
/// Every node that cannot be lowered.
pub fn lower(
    fabric: &Fabric,
    graph: &Graph,
    quantization: Option<&Quantization>,
) -> Result<Plan, Vec<Problem>> {
    let hint = "use a fabric such as drra:3x1";
    let problem = |reason| vec![Problem::new("fabric", "fabric", reason, hint)];
    let columns = columns(fabric).map_err(problem)?;
    let mut format = Format::new(&columns, fabric.options.extensions, quantization);
    format.balance(graph);
    lower_in(fabric, graph, format).map(|(plan, _)| plan)
}

/// Returns the plan of a prepared graph with the given fraction lengths, and how constants were
/// rounded.
///
/// # Errors
///
/// Every node that cannot be lowered.
fn lower_in(fabric: &Fabric, graph: &Graph, format: Format<'_>) -> Result<(Plan, Roundings), Vec<Problem>> {
    let plan = Plan { saturated_constants: Some(0), ..Plan::default() };
    let (refusals, scaled) = (Refusals::none(), BTreeMap::new());
    let mut lowering = Lowering { graph, format, plan, scaled, refusals, node: 0, roundings: Vec::new() };
    for (index, value) in graph.values.iter().enumerate() {
        let fraction = lowering.format.fraction(ValueId(index as u32));
        lowering.plan.values.push(Value {
            name: value.name.clone(),
            shape: value.info.shape.clone(),
            fraction,
        });
    }
    lowering.plan.inputs = graph.inputs.iter().map(|id| id.0 as usize).collect();
    lowering.plan.outputs = graph.outputs.iter().map(|id| id.0 as usize).collect();
    for (number, node) in graph.nodes.iter().enumerate() {
        lowering.node = number;
        let steps = lowering.plan.steps.len();
        let lowered = ops::lower(&mut lowering, node);
        if let Err(reject) = lowered.and_then(|()| lowering.fits(fabric, steps)) {
            lowering.refusals.add(&node.name, node.op.name(), reject);
        }
    }
    lowering.require_inputs();
    lowering.bind_constants();
    let problems = lowering.refusals.problems;
    if problems.is_empty() { Ok((lowering.plan, lowering.roundings)) } else { Err(problems) }
}

/// Plan under construction.
struct Lowering<'a> {
    graph: &'a Graph,
    format: Format<'a>,
    plan: Plan,
    /// Rescaled values, by value id and fraction length.
    scaled: BTreeMap<(usize, i32), usize>,
    refusals: Refusals<Infallible>,
    /// Index of the node being lowered.
    node: usize,
    /// Rounding of the constants of each node.
    roundings: Roundings,
}

impl Lowering<'_> {
    /// Records how a constant of the current node was rounded.
    fn note(&mut self, rounding: Rounding) {
        self.roundings.push((self.node, rounding));
    }

    /// Appends a step of a node.
    fn push(&mut self, node: &Node, result: usize, tasks: Vec<Task>) {
        self.push_as(node, node.op.name(), result, tasks);
    }

    /// Appends a step of a node under another operator's name.
    fn push_as(&mut self, node: &Node, op: &str, result: usize, tasks: Vec<Task>) {
        let (name, op) = (node.name.clone(), op.to_owned());
        self.plan.steps.push(Step { name, op, result, tasks, saturates: false });
    }

    /// Checks whether the operands of every result of the steps starting at `first` fit the input
    /// buffer.
    fn fits(&self, fabric: &Fabric, first: usize) -> Result<(), Reject> {
        let mut tasks = self.plan.steps.iter().skip(first).flat_map(|step| &step.tasks);
        let Some(TooLong { words, operands, rows, depth }) = tasks.find_map(|task| task.too_long(fabric))
        else {
            return Ok(());
        };
        let of = if operands > 1 { "pairs of words" } else { "words" };
        let most = depth / operands * ROW_WORDS;
        Err(Reject::new(
            format!("a result of {words} {of} needs {rows} rows of the input buffer, which has {depth}"),
            format!("split the sum into parts of at most about {most}, and add the parts"),
        ))
    }

    /// Marks the last step's results as results that may saturate.
    fn let_saturate(&mut self) {
        self.plan.steps.iter_mut().last().into_iter().for_each(|step| step.saturates = true);
    }

    /// Reports graph inputs that are not floats.
    fn require_inputs(&mut self) {
        let elements = self.graph.inputs.iter().map(|&id| self.graph.value(id));
        let others = elements.filter(|value| value.info.element != ElementType::F32);
        self.refusals.problems.extend(others.map(|value| {
            let reason = format!("its elements are {:?}, not floats", value.info.element);
            let hint = "make it a float, or start the model after the node that reads it";
            Problem::new(&value.name, "input", reason, hint)
        }));
    }

    /// Adds steps that return constants as outputs. They use the most fraction bits that fit, as no
    /// sample determines any.
    fn bind_constants(&mut self) {
        let constants = self.graph.outputs.iter().filter(|&&id| self.graph.constant(id).is_some());
        for &id in constants.collect::<BTreeSet<_>>() {
            let values = self.graph.constant(id).and_then(|constant| constant.as_f32());
            // Default: a constant without floats is refused below, whatever its fraction.
            let fraction = largest_fraction(values.unwrap_or_default().iter().map(|&x| x.into()));
            let value = &mut self.plan.values[id.0 as usize];
            value.fraction = fraction;
            let (name, count) = (value.name.clone(), value.shape.iter().product());
            let op = "Constant".to_owned();
            match self.source(id, fraction) {
                Ok(source) => {
                    let (result, tasks) = (id.0 as usize, vec![Task::copy(source, count)]);
                    self.plan.steps.push(Step { name, op, result, tasks, saturates: false });
                }
                Err(reject) => self.refusals.add(&name, &op, reject),
            }
        }
    }

    /// Adds a value that is not in the graph, and returns its index.
    fn temporary(&mut self, name: &str, shape: Vec<usize>, fraction: i32) -> usize {
        let number = self.plan.values.len();
        self.plan.values.push(Value { name: format!("{name}.{number}"), shape, fraction });
        number
    }

    /// Returns the source of a value's integers. A constant's integers are known at compile time.
    fn source(&mut self, id: ValueId, fraction: i32) -> Result<Source, Reject> {
        let Some(constant) = self.graph.constant(id) else { return Ok(Source::Value(id.0 as usize)) };
        let values =
            constant.as_f32().ok_or_else(|| Reject::new("a constant does not hold floats", "convert it"))?;
        Ok(Source::Constant(self.words(values.iter().map(|&x| x.into()), fraction).into()))
    }

    /// Quantizes the numbers of a constant, and counts the numbers that do not fit a word.
    fn words(&mut self, values: impl IntoIterator<Item = f64>, fraction: i32) -> Vec<i16> {
        let word = |x: f64| {
            let saturates = u64::from(!fits(x, fraction));
            self.plan.saturated_constants.iter_mut().for_each(|count| *count += saturates);
            integer(x, fraction)
        };
        values.into_iter().map(word).collect()
    }
}
