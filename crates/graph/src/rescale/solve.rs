//! Classes of values with one exponent, and the smallest exponents with which all values fit.

use super::ranges::{Ranges, magnitude};
use super::roles::{Role, is_float};
use super::{Limits, MAX, floor_log2, worthwhile};
use crate::classes::Classes;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{BatchNormalization, Binary, BinaryKind, Gemm, Op, Reduce, ReduceKind};

/// Returns the exponent of each value by [`ValueId`]; `None` without a solution up to [`MAX`].
pub(super) fn exponents(graph: &Graph, roles: &[Role], ranges: &Ranges, limits: &Limits) -> Option<Vec<i32>> {
    let problem = Problem::new(graph, roles, ranges, limits);
    // If a product's operands belong to its own class, its exponent cannot be their sum: its result
    // is then multiplied by a power of two.
    let solved = problem.solve(true).or_else(|| problem.solve(false))?;
    let of_value = |(id, class): (usize, usize)| if problem.is_real[id] { 0 } else { solved[class] };
    Some(problem.classes.iter().copied().enumerate().map(of_value).collect())
}

/// Whether the magnitude of each product's class is known.
pub(super) fn is_known(graph: &Graph, roles: &[Role], ranges: &Ranges, limits: &Limits) -> bool {
    let problem = Problem::new(graph, roles, ranges, limits);
    let mut known = vec![false; problem.classes.len()];
    for (id, &class) in problem.classes.iter().enumerate() {
        known[class] |= ranges.of(ValueId(id as u32)) > 0.0;
    }
    problem.constraints.iter().all(|constraint| known[constraint.result])
}

/// `exponent(result) >= exponent(x) - room`, and for products `+ exponent(y)`.
struct Constraint {
    result: usize,
    x: ValueId,
    y: Option<ValueId>,
    room: i32,
}

struct Problem {
    /// Whether each value keeps its scale: inputs, constants, integers, and results of operators
    /// that return unscaled values.
    is_real: Vec<bool>,
    /// Class of each value.
    classes: Vec<usize>,
    /// Smallest exponent of each class; `None` for a class without known magnitude.
    least: Vec<Option<i32>>,
    constraints: Vec<Constraint>,
}

impl Problem {
    fn new(graph: &Graph, roles: &[Role], ranges: &Ranges, limits: &Limits) -> Self {
        let is_real = real_values(graph, roles, limits);
        let classes = classes(graph, roles, &is_real);
        let mut problem =
            Self { is_real, least: vec![None; classes.len()], classes, constraints: Vec::new() };
        problem.add_ranges(graph, ranges, limits);
        problem.add_means(graph, ranges, limits);
        graph.nodes.iter().zip(roles).for_each(|(node, &role)| problem.add_node(graph, node, role, limits));
        problem.least.iter_mut().flatten().for_each(|least| *least = worthwhile(*least));
        problem
    }

    fn require(&mut self, value: ValueId, exponent: Option<i32>) {
        let class = self.classes[value.0 as usize];
        self.least[class] = self.least[class].max(exponent);
    }

    /// Requires that values with readers fit. If the scale of outputs is fixed, an output without
    /// readers is stored as it is, and making it fit would not help.
    fn add_ranges(&mut self, graph: &Graph, ranges: &Ranges, limits: &Limits) {
        let consumers = graph.consumers();
        for (id, readers) in consumers.iter().enumerate() {
            let value = ValueId(id as u32);
            let exponent = limits.exponent_of(f64::from(ranges.of(value)) * limits.margin);
            let is_given_as_is = readers.is_empty() && !limits.ports;
            let exponent = if is_given_as_is { exponent.map(|exponent| exponent.min(0)) } else { exponent };
            if !self.is_real[id] {
                self.require(value, exponent);
            }
        }
    }

    /// Requires that the sum in a mean fits before the division.
    fn add_means(&mut self, graph: &Graph, ranges: &Ranges, limits: &Limits) {
        for node in &graph.nodes {
            let (Some(count), Some(&result)) = (elements_of_mean(graph, node), node.outputs.first()) else {
                continue;
            };
            let sum = f64::from(ranges.of(result)) * count.min(limits.addends) as f64;
            if !self.is_real[result.0 as usize] {
                self.require(result, limits.exponent_of(sum * limits.margin));
            }
        }
    }

    fn add_node(&mut self, graph: &Graph, node: &Node, role: Role, limits: &Limits) {
        let largest = limits.largest;
        let Some(&result) = node.outputs.first() else { return };
        let class = self.classes[result.0 as usize];
        match role {
            Role::Real | Role::Absorbing | Role::Gated | Role::Function | Role::Host => {}
            Role::Homogeneous => {
                let constants = node.inputs.iter().filter_map(|&id| graph.constant(id));
                let most = constants.map(|tensor| magnitude(tensor)).fold(0.0, f32::max);
                self.require(result, limits.exponent_of(f64::from(most)));
            }
            Role::Linear { x } => {
                let [weights, addend] = constants(graph, node, x);
                self.require(result, limits.exponent_of(addend));
                if let Some(room) = floor_log2(largest, weights) {
                    self.constraints.push(Constraint { result: class, x: node.inputs[x], y: None, room });
                }
            }
            Role::Product => {
                let &[x, y] = node.inputs.as_slice() else { return };
                self.constraints.push(Constraint { result: class, x, y: Some(y), room: 0 });
            }
        }
    }

    /// Raises exponents until all constraints hold, or one exceeds [`MAX`].
    fn solve(&self, with_products: bool) -> Option<Vec<i32>> {
        // Default: a class without a requirement starts at its own scale.
        let mut exponents: Vec<i32> = self.least.iter().map(|least| least.unwrap_or(0)).collect();
        let of = |exponents: &[i32], value: ValueId| {
            let id = value.0 as usize;
            if self.is_real[id] { 0 } else { exponents[self.classes[id]] }
        };
        loop {
            let mut changed = false;
            for Constraint { result, x, y, room } in &self.constraints {
                if y.is_some() && !with_products {
                    continue;
                }
                let least = of(&exponents, *x) + y.map_or(0, |y| of(&exponents, y)) - room;
                if exponents[*result] < least {
                    (exponents[*result], changed) = (least, true);
                }
            }
            // Each round raises an exponent, and none rises above the limit: the loop ends.
            if exponents.iter().any(|&exponent| exponent > MAX) {
                return None;
            }
            if !changed {
                return Some(exponents);
            }
        }
    }
}

/// Returns the number of elements in each mean.
fn elements_of_mean(graph: &Graph, node: &Node) -> Option<usize> {
    let shape = graph.shape(*node.inputs.first()?);
    match &node.op {
        Op::AveragePool(pool) => Some(pool.window.kernel.iter().product()),
        Op::Reduce(Reduce { kind: ReduceKind::Mean, axes, .. }) => {
            Some(axes.iter().filter_map(|&axis| shape.get(axis)).product())
        }
        _ => None,
    }
}

fn real_values(graph: &Graph, roles: &[Role], limits: &Limits) -> Vec<bool> {
    let mut real: Vec<bool> = (0..graph.values.len() as u32)
        .map(|id| graph.constant(ValueId(id)).is_some() || !is_float(graph, ValueId(id)))
        .collect();
    let is_real = |role: &Role| matches!(role, Role::Real | Role::Absorbing);
    let consumers = graph.consumers();
    // An exponent of a value from the host is useful only to nodes that accept one.
    let is_of_use = |id: ValueId| {
        let takes = |node: &NodeId| !matches!(roles[node.0 as usize], Role::Real | Role::Host);
        limits.ports && consumers[id.0 as usize].iter().any(takes)
    };
    let of_host = graph.nodes.iter().zip(roles).filter(|(_, role)| **role == Role::Host);
    let from_host = graph.inputs.iter().chain(of_host.flat_map(|(node, _)| &node.outputs));
    from_host.filter(|&&id| !is_of_use(id)).for_each(|id| real[id.0 as usize] = true);
    for (node, _) in graph.nodes.iter().zip(roles).filter(|(_, role)| is_real(role)) {
        node.outputs.iter().for_each(|output| real[output.0 as usize] = true);
    }
    real
}

/// Returns, for each value, a representative of its class.
fn classes(graph: &Graph, roles: &[Role], is_real: &[bool]) -> Vec<usize> {
    let mut classes = Classes::new(graph.values.len());
    let shares = |role: &Role| matches!(role, Role::Homogeneous | Role::Gated);
    for (node, _) in graph.nodes.iter().zip(roles).filter(|(_, role)| shares(role)) {
        let members = node.inputs.iter().chain(&node.outputs).copied();
        classes.join(members.filter(|id| !is_real[id.0 as usize]));
    }
    classes.representatives()
}

/// Returns the largest magnitudes of the factors and of the addends of a linear node.
fn constants(graph: &Graph, node: &Node, x: usize) -> [f64; 2] {
    let most = |index: usize| {
        let tensor = node.inputs.get(index).and_then(|&id| graph.constant(id));
        tensor.map_or(0.0, |tensor| f64::from(magnitude(tensor)))
    };
    match &node.op {
        Op::BatchNormalization(op) => normalization(graph, node, op),
        Op::Binary(Binary { kind: BinaryKind::Div }) => {
            let divisors = node.inputs.get(1).and_then(|&id| graph.constant(id)?.as_f32());
            // Default: a divisor that is not a constant is an unknown factor.
            let factors = divisors.unwrap_or_default().iter().map(|d| f64::from(d.abs()).recip());
            [factors.filter(|factor| factor.is_finite()).fold(0.0, f64::max), 0.0]
        }
        Op::Gemm(Gemm { alpha, beta, .. }) => {
            [most(1 - x) * f64::from(alpha.abs()).max(1.0), most(2) * f64::from(beta.abs()).max(1.0)]
        }
        _ => [most(1 - x), most(2)],
    }
}

fn normalization(graph: &Graph, node: &Node, op: &BatchNormalization) -> [f64; 2] {
    let floats = |index: usize| {
        // Default: an operand that is not a constant is an unknown factor.
        node.inputs.get(index).and_then(|&id| graph.constant(id)?.as_f32()).unwrap_or_default()
    };
    let factors = op.factors(floats(1), floats(2), floats(3), floats(4));
    let most =
        |part: usize| factors.iter().map(|f| f[part].abs()).filter(|f| f.is_finite()).fold(0.0, f64::max);
    [most(0), most(1)]
}
