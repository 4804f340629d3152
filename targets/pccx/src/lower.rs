//! A graph to a program of the machine and its host: [`compile`].
//!
//! A `Plan` says what is computed where; a `Lowering` emits it step by step,
//! knowing what lies in L2 and what at the host. Whatever the machine has no form of is a host step, computed
//! by the reference evaluator in `f32`.

mod attend;
mod attention;
mod code;
mod elementwise;
mod fence;
mod finer;
mod machine;
mod memory;
mod movement;
mod norm;
mod options;
mod plan;
mod product;
mod rotary;

use npukit_graph::op::Binary;
use npukit_graph::quantise::rows::RowsError;
use npukit_graph::{Graph, Node, ValueId};
use thiserror::Error;

pub use options::{Activations, Gelu, Isa, Kv, OPTIONS, Options};
pub use product::Weights;

use crate::config::Config;
use crate::host::{Host, Layer};
use crate::program::Program;
use crate::weights::WeightError;
use machine::Lowering;
use plan::{Plan, Step, Work, operator};

/// Why a graph has no program.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LowerError {
    /// Not enough of L2 even with everything else at the host.
    #[error(
        "node `{node}` needs room for {values} values in L2; the largest gap, with everything else at the host, \
         has {largest} (L2 has {l2_words} words of 8): give it fewer tokens at once"
    )]
    L2Full {
        /// The node.
        node: String,
        /// Values that have no place.
        values: usize,
        /// Values that would have one.
        largest: usize,
        /// Words of L2.
        l2_words: u32,
    },
    /// Weights that cannot be quantised.
    #[error("constant `{name}`: {error}")]
    Rows {
        /// The constant.
        name: String,
        /// Why.
        error: RowsError,
    },
    /// Weights of a size no image has.
    #[error("constant `{name}`: {error}")]
    Weights {
        /// The constant.
        name: String,
        /// Why.
        error: WeightError,
    },
    /// A fault of ours.
    #[error("the compiler made {0} that does not fit: a fault of npukit")]
    Fault(&'static str),
    /// A program that hardware would not execute as it says; a fault of ours.
    #[error("the compiler made a program in which instruction {instruction} {message}: a fault of npukit")]
    Order {
        /// The instruction.
        instruction: usize,
        /// What is wrong.
        message: String,
    },
}

/// A program, with what its host does.
#[derive(Clone, Debug, Default)]
pub struct Executable {
    /// For the machine.
    pub program: Program,
    /// For the host.
    pub host: Host,
}

/// Compiles a graph whose shapes are known. `weights` keeps what was quantised, for further graphs of
/// the same constants.
///
/// Errors: what does not fit into L2, weights that are not finite.
pub fn compile(
    config: &Config,
    graph: &Graph,
    options: &Options,
    weights: &mut Weights,
) -> Result<Executable, LowerError> {
    let plan = Plan::new(graph, options);
    let mut lowering = Lowering::new(config, &plan, &mut *weights);
    let mut host_nodes = Vec::new();
    let mut layers = Vec::new();
    let macs: Vec<u64> = plan.graph.macs_by_node().collect();
    for (index, step) in plan.steps.iter().enumerate() {
        let names: Vec<&str> = step.nodes.iter().map(|&id| plan.graph.node(id).name.as_str()).collect();
        let name = names.last().copied().unwrap_or_default();
        lowering.begin(index, name, step);
        let host = lowering.emit(&plan, step, &mut host_nodes)?;
        lowering.end(step);
        layers.push(Layer {
            name: layer_name(&names),
            end: lowering.code.position(),
            macs: step.nodes.iter().filter_map(|id| macs.get(id.0 as usize)).sum(),
            results: step.results.iter().map(|&id| plan.graph.value(id).name.clone()).collect(),
            host: host.map(|reason| (operator(&plan.graph, step).to_owned(), reason)),
        });
    }
    for id in graph.outputs.clone() {
        lowering.bring_to_host(id);
    }
    let words = lowering.words();
    let Lowering { code, graph: mut slots, .. } = lowering;
    slots.nodes = host_nodes;
    forget_unused(&mut slots, &code);
    let mut warnings = warnings(&plan, &layers);
    warnings.extend(weights.worst());
    let program = code.finish(options.isa == Isa::Ext);
    let host = Host { graph: slots, layers, choices: options.choices(), warnings, words };
    let executable = Executable { program, host };
    check_orders(config, &executable)?;
    Ok(executable)
}

/// Nothing is used before it is written or while it is under way, and no instruction is one that hardware does
/// otherwise: what is wrong does not leave the compiler.
fn check_orders(config: &Config, executable: &Executable) -> Result<(), LowerError> {
    let found = crate::check::findings(config, &executable.program, &executable.host);
    match found.into_iter().find(npukit_target::Finding::is_error) {
        None => Ok(()),
        Some(finding) => {
            let instruction = finding.instruction.unwrap_or(executable.program.code.len());
            Err(LowerError::Order { instruction, message: finding.message })
        }
    }
}

/// Two names stand for what they are, more for what lies between the first and the last.
fn layer_name(names: &[&str]) -> String {
    match names {
        [first, _, .., last] => format!("{first} to {last}"),
        _ => names.join(" + "),
    }
}

/// Constants that became weights, or that nobody sends and nothing at the host uses, are not kept.
fn forget_unused(slots: &mut Graph, code: &code::Code) {
    use crate::host::HostStep;
    let mut used: Vec<bool> = vec![false; slots.values.len()];
    let sent = code.steps().filter_map(|step| match step {
        HostStep::Send { slot, .. } | HostStep::Keys { slot, .. } | HostStep::Values { slot, .. } => {
            Some(slot)
        }
        _ => None,
    });
    let ids = sent.chain(slots.nodes.iter().flat_map(|node| &node.inputs)).chain(&slots.outputs);
    for id in ids {
        used[id.0 as usize] = true;
    }
    for (value, used) in slots.values.iter_mut().zip(used) {
        if !used {
            value.constant = None;
        }
    }
}

fn warnings(plan: &Plan, layers: &[Layer]) -> Vec<String> {
    let mut warnings = Vec::new();
    if plan.approximated > 0 {
        warnings.push(format!(
            "{} Gelu by the error function became the machine's, by tanh: up to 0.0005 apart; \
             `--option gelu=exact` leaves them to the host",
            plan.approximated
        ));
    }
    let hosts = layers.iter().filter(|layer| layer.host.is_some()).count();
    if hosts > 0 {
        warnings.push(format!("{hosts} nodes are computed by the host, whose time is not counted"));
    }
    warnings
}

impl Lowering<'_> {
    /// Emits a step; gives the reason when the host computes it.
    fn emit(
        &mut self,
        plan: &Plan,
        step: &Step,
        host_nodes: &mut Vec<Node>,
    ) -> Result<Option<String>, LowerError> {
        let (&[first, ..], &[result, ..]) = (&step.operands[..], &step.results[..]) else {
            return self.on_host(plan, step, host_nodes, "it has no operands").map(Some);
        };
        match &step.work {
            Work::Product(product) => self.product(product, &step.operands, result)?,
            Work::Attention(attention) => self.attend(attention, plan, result)?,
            Work::Norm(norm) => self.norm(norm, first, result)?,
            Work::Rotary(rotary) => self.rotate(rotary, first, result)?,
            Work::Function(function) => self.function(*function, first, result)?,
            Work::Sigmoid => self.sigmoid(first, result)?,
            Work::Swish(alpha) => self.swish(*alpha, first, result)?,
            Work::Square => self.square(first, result)?,
            Work::Factor(factor) => self.factor(*factor, first, result)?,
            Work::Binary(kind) => {
                let Some(&second) = step.operands.get(1) else { return Err(LowerError::Fault("a sum")) };
                self.binary(&Binary { kind: *kind }, [first, second], result)?;
            }
            Work::Move(runs) if step.operands.iter().all(|&id| self.is_in_l2(id)) => {
                self.rearrange(runs, &step.operands, &step.results)?;
            }
            Work::Move(_) => {
                return self.on_host(plan, step, host_nodes, "its operands are at the host").map(Some);
            }
            Work::Host(reason) => return self.on_host(plan, step, host_nodes, reason).map(Some),
        }
        Ok(None)
    }

    fn on_host(
        &mut self,
        plan: &Plan,
        step: &Step,
        host_nodes: &mut Vec<Node>,
        reason: &str,
    ) -> Result<String, LowerError> {
        let Some(&id) = step.nodes.last() else { return Err(LowerError::Fault("a step")) };
        let node = plan.graph.node(id).clone();
        let operands: Vec<ValueId> = node.inputs.clone();
        for id in operands {
            self.bring_to_host(id);
        }
        self.code.step(crate::host::HostStep::Compute { node: host_nodes.len() as u32 });
        node.outputs.iter().for_each(|&id| self.filled(id));
        host_nodes.push(node);
        Ok(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::ValueInfo;
    use npukit_numeric::ElementType;

    use super::*;
    use crate::op::{Cache, Cvo, Mac, Memset, Op, Shape};

    /// Nothing that the compiler makes is wrong, so these are programs it would not make.
    #[test]
    fn programs_with_errors_do_not_leave_the_compiler() {
        let config = Config::preset("reference").unwrap();
        let checked = |code: &[Op], host: Host| {
            let program = Program { code: code.to_vec(), ..Program::default() };
            check_orders(&config, &Executable { program, host })
        };
        let order =
            |instruction, message: &str| Err(LowerError::Order { instruction, message: message.to_owned() });
        let function = Op::Cvo(Cvo { src_addr: 5, length: 8, ..Cvo::default() });
        assert_eq!(checked(&[Op::Kick; 3], Host::default()), Ok(()));
        assert_eq!(
            checked(&[Op::Kick, function], Host::default()),
            order(1, "reads lane 0 of L2 word 0x5, which nothing before has written")
        );
        // What the whole program lacks has the place behind its last instruction.
        let mut host = Host::default();
        let info = ValueInfo { shape: vec![2], element: ElementType::F32 };
        let result = npukit_graph::Value { name: "y".to_owned(), info, constant: None };
        host.graph.outputs = vec![host.graph.add_value(result)];
        let missing = "uses value `y` of the host, which no host operation before has written";
        assert_eq!(checked(&[Op::Kick; 3], host), order(3, missing));
    }

    /// More lanes than there are is a warning, behind which an error is still found.
    #[test]
    fn warnings_hide_no_error() {
        let config = Config::preset("reference").unwrap();
        let set = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
        let mac = Op::Gemv(Mac { parallel_lane: 9, src_addr: 2, dest_reg: 4, ..Mac::default() });
        let code = vec![
            set(Cache::FmapShape, Shape::new(1, 1, 8)),
            set(Cache::WeightShape, Shape::new(0, 1, 8)),
            mac,
        ];
        let program = Program { code, ..Program::default() };
        let error = check_orders(&config, &Executable { program, host: Host::default() }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the compiler made a program in which instruction 2 reads lane 0 of L2 word 0x2, which nothing \
             before has written: a fault of npukit"
        );
    }

    #[test]
    fn layers_of_several_nodes_are_named_by_the_outer_ones() {
        assert_eq!(layer_name(&["a"]), "a");
        assert_eq!(layer_name(&["a", "b"]), "a + b");
        assert_eq!(layer_name(&["a", "b", "c"]), "a to c");
        assert_eq!(layer_name(&["a", "b", "c", "d"]), "a to d");
    }
}
