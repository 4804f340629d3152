//! The compiler: a graph to a [`Plan`], steps that are calls of kernels and moves of data by the driver.
//!
//! | module | is |
//! |---|---|
//! | `kernels` | PASM programs made for a size |
//! | `format` | fraction lengths, and what the dpu does about them |
//! | `expand` | operators that others make |
//! | `ops` | operators as steps |
//! | `calls` | the calls that a task takes |
//! | `executable` | kernels scheduled, and checked |
//! | `fit` | what kernels do not do |

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

use npukit_graph::quantise::Quantisation;
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

/// The graph in the forms that are lowered.
///
/// # Errors
///
/// A pass finds shapes that do not go together.
pub fn prepare(graph: &Graph) -> Result<Graph, pass::PassError> {
    let mut graph = graph.clone();
    pass::simplify(&mut graph)?;
    expand::expand(&mut graph)?;
    Ok(graph)
}

/// Every node of a prepared graph that cannot be lowered, whatever its fraction lengths.
pub fn check(fabric: &Fabric, graph: &Graph) -> Vec<Problem> {
    // Default: a graph that can be lowered has no problems.
    lower(fabric, graph, None).err().unwrap_or_default()
}

/// The plan of a prepared graph. Without fraction lengths all numbers have those of the dpu's products.
///
/// # Errors
///
/// Every node that cannot be lowered.
pub fn lower(
    fabric: &Fabric,
    graph: &Graph,
    quantisation: Option<&Quantisation>,
) -> Result<Plan, Vec<Problem>> {
    let hint = "use a fabric such as drra:3x1";
    let problem = |reason| vec![Problem::new("fabric", "fabric", reason, hint)];
    let columns = columns(fabric).map_err(problem)?;
    let mut format = Format::new(&columns, fabric.options.extensions, quantisation);
    format.balance(graph);
    lower_in(fabric, graph, format).map(|(plan, _)| plan)
}

/// The plan of a prepared graph whose values have these fraction lengths, and what became of constants.
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

/// A plan in the making.
struct Lowering<'a> {
    graph: &'a Graph,
    format: Format<'a>,
    plan: Plan,
    /// Values with other fraction lengths than their own, by both.
    scaled: BTreeMap<(usize, i32), usize>,
    refusals: Refusals<Infallible>,
    /// The node under way, by number.
    node: usize,
    /// What became of the constants of each node.
    roundings: Roundings,
}

impl Lowering<'_> {
    /// Notes what became of a constant of the node under way.
    fn note(&mut self, rounding: Rounding) {
        self.roundings.push((self.node, rounding));
    }

    /// Appends a step of a node.
    fn push(&mut self, node: &Node, result: usize, tasks: Vec<Task>) {
        self.push_as(node, node.op.name(), result, tasks);
    }

    /// The same under another operator's name.
    fn push_as(&mut self, node: &Node, op: &str, result: usize, tasks: Vec<Task>) {
        let (name, op) = (node.name.clone(), op.to_owned());
        self.plan.steps.push(Step { name, op, result, tasks, saturates: false });
    }

    /// Whether every result of the steps from `first` on can be computed from what the input buffer holds.
    fn fits(&self, fabric: &Fabric, first: usize) -> Result<(), Reject> {
        let mut tasks = self.plan.steps.iter().skip(first).flat_map(|step| &step.tasks);
        let Some(TooLong { words, operands, rows, depth }) = tasks.find_map(|task| task.too_long(fabric))
        else {
            return Ok(());
        };
        let of = if operands > 1 { "pairs of words" } else { "words" };
        let most = depth / operands * ROW_WORDS;
        Err(Reject::new(
            format!("a result of {words} {of} takes {rows} rows of the input buffer, which has {depth}"),
            format!("sum at most about {most} at a time, and then the sums"),
        ))
    }

    /// Results of the last step at the ends of the range are wanted.
    fn let_saturate(&mut self) {
        self.plan.steps.iter_mut().last().into_iter().for_each(|step| step.saturates = true);
    }

    /// Reports inputs that are not of floats.
    fn require_inputs(&mut self) {
        let elements = self.graph.inputs.iter().map(|&id| self.graph.value(id));
        let others = elements.filter(|value| value.info.element != ElementType::F32);
        self.refusals.problems.extend(others.map(|value| {
            let reason = format!("it is not of floats but of {:?}", value.info.element);
            let hint = "make it a float, or begin the model behind what takes it";
            Problem::new(&value.name, "input", reason, hint)
        }));
    }

    /// Steps that make outputs of constants, with the most fraction bits that fit: samples do not determine any.
    fn bind_constants(&mut self) {
        let constants = self.graph.outputs.iter().filter(|&&id| self.graph.constant(id).is_some());
        for &id in constants.collect::<BTreeSet<_>>() {
            let values = self.graph.constant(id).and_then(|constant| constant.as_f32());
            // Default: a constant that is not of floats is refused below, whatever its fraction.
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

    /// A value that the graph does not have.
    fn temporary(&mut self, name: &str, shape: Vec<usize>, fraction: i32) -> usize {
        let number = self.plan.values.len();
        self.plan.values.push(Value { name: format!("{name}.{number}"), shape, fraction });
        number
    }

    /// Where the integers of a value come from: a constant's are known.
    fn source(&mut self, id: ValueId, fraction: i32) -> Result<Source, Reject> {
        let Some(constant) = self.graph.constant(id) else { return Ok(Source::Value(id.0 as usize)) };
        let values =
            constant.as_f32().ok_or_else(|| Reject::new("a constant does not hold floats", "convert it"))?;
        Ok(Source::Constant(self.words(values.iter().map(|&x| x.into()), fraction).into()))
    }

    /// The integers of a constant; counts the numbers that no word holds.
    fn words(&mut self, values: impl IntoIterator<Item = f64>, fraction: i32) -> Vec<i16> {
        let word = |x: f64| {
            let saturates = u64::from(!fits(x, fraction));
            self.plan.saturated_constants.iter_mut().for_each(|count| *count += saturates);
            integer(x, fraction)
        };
        values.into_iter().map(word).collect()
    }
}
