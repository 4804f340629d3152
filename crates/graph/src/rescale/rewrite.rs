//! Rewrite of a graph with its values divided by the chosen powers of two.

use std::collections::{HashMap, HashSet};

use npukit_numeric::Tensor;

use super::balance::lent;
use super::ranges::Ranges;
use super::roles::{Role, absorbed, gate, is_float, scaled, scaled_operands};
use super::{Limits, Rescaled, Scales};
use crate::ir::{Graph, Node, Value, ValueId};
use crate::op::{Binary, BinaryKind, Op, OpError};
use crate::pass::PassError;

/// Rewrites `graph` so that value `v` is stored divided by `2^exponents[v]`.
pub(super) fn rewrite(
    graph: &Graph,
    roles: &[Role],
    exponents: Vec<i32>,
    ranges: &Ranges,
    limits: &Limits,
) -> Result<Rescaled, PassError> {
    let mut rewriter = Rewriter::new(graph, exponents, ranges, limits);
    rewriter.divide_inputs()?;
    for (node, &role) in graph.nodes.iter().zip(roles) {
        rewriter.node(node, role)?;
    }
    rewriter.restore_outputs()?;
    rewriter.join_divisions();
    let Rewriter { graph, exponents, scales, .. } = rewriter;
    graph.validate()?;
    let scaled = graph.values.iter().zip(&exponents).filter(|(_, exponent)| **exponent != 0);
    let exponents = scaled.map(|(value, &exponent)| (value.name.clone(), exponent)).collect();
    let scales = if limits.ports { scales } else { Scales::new() };
    Ok(Rescaled { graph, exponents, scales })
}

struct Rewriter<'a> {
    /// The values of the old graph and new ones, and the nodes rewritten so far.
    graph: Graph,
    /// Exponent of each value.
    exponents: Vec<i32>,
    /// Copies of a value with other exponents.
    copies: HashMap<(ValueId, i32), ValueId>,
    /// Unscaled value on the host for each value that is stored with an exponent.
    reals: HashMap<ValueId, ValueId>,
    /// Exponents of values at the border, by name.
    scales: Scales,
    names: HashSet<String>,
    /// Smallest and largest exponent of the powers of two in the number format.
    powers: [i32; 2],
    ranges: &'a Ranges,
    limits: Limits,
}

impl<'a> Rewriter<'a> {
    fn new(graph: &Graph, exponents: Vec<i32>, ranges: &'a Ranges, limits: &Limits) -> Self {
        let names = graph.values.iter().map(|value| value.name.clone()).collect();
        // At least a factor of two per step, so that the loop ends.
        let powers =
            [(limits.step.log2().ceil() as i32).min(-1), (limits.largest.log2().floor() as i32).max(1)];
        let graph = Graph { nodes: Vec::new(), ..graph.clone() };
        let (copies, reals, scales) = (HashMap::new(), HashMap::new(), Scales::new());
        Self { graph, exponents, copies, reals, scales, names, powers, ranges, limits: *limits }
    }

    fn exponent(&self, id: ValueId) -> i32 {
        self.exponents[id.0 as usize]
    }

    fn name(&mut self, base: &str) -> String {
        let numbered = (2u32..).map(|number| format!("{base}_{number}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let name = names.find(|name| !self.names.contains(name)).expect("there is always an unused number");
        self.names.insert(name.clone());
        name
    }

    fn node(&mut self, node: &Node, role: Role) -> Result<(), PassError> {
        let Some(&result) = node.outputs.first() else { return Ok(()) };
        let mut new = node.clone();
        match role {
            Role::Real => self.operands(&mut new, 0)?,
            Role::Homogeneous => {
                let exponent = self.exponent(result);
                self.operands(&mut new, exponent)?;
                new.op = scaled(&node.op, power(-exponent));
            }
            Role::Linear { x } => self.linear(&mut new, x, result)?,
            Role::Product => return self.product(new, result),
            Role::Absorbing => return self.absorbing(new),
            Role::Gated => return self.gated(new, result),
            Role::Function => return self.function(new, result),
            Role::Host => return self.of_host(new),
        }
        self.graph.nodes.push(new);
        Ok(())
    }

    /// Brings all float operands of the node to `exponent`.
    fn operands(&mut self, node: &mut Node, exponent: i32) -> Result<(), PassError> {
        let scaled = scaled_operands(&node.op);
        for operand in node.inputs.iter_mut().take(scaled) {
            if is_float(&self.graph, *operand) {
                *operand = self.with_exponent(*operand, exponent)?;
            }
        }
        Ok(())
    }

    /// Returns the value with another exponent: a scaled constant, or a multiplication by a power
    /// of two.
    fn with_exponent(&mut self, value: ValueId, exponent: i32) -> Result<ValueId, PassError> {
        let own = self.exponent(value);
        if own == exponent {
            return Ok(value);
        }
        if let Some(&copy) = self.copies.get(&(value, exponent)) {
            return Ok(copy);
        }
        let copy = if self.graph.constant(value).is_some() {
            self.scaled_constant(value, -exponent)?
        } else {
            let base = format!("{}/2^{exponent}", self.graph.value(value).name);
            let name = self.name(&base);
            let copy = self.new_value(name, value, exponent);
            self.multiply(value, copy)?;
            copy
        };
        self.copies.insert((value, exponent), copy);
        Ok(copy)
    }

    /// Adds a value with the shape and type of `like`.
    fn new_value(&mut self, name: String, like: ValueId, exponent: i32) -> ValueId {
        let info = self.graph.value(like).info.clone();
        self.exponents.push(exponent);
        self.graph.add_value(Value { name, info, constant: None })
    }

    /// Adds nodes that compute `to` from `from`, the same value with another exponent. A power of
    /// two outside the number format is split.
    fn multiply(&mut self, from: ValueId, to: ValueId) -> Result<(), PassError> {
        let (mut at, target) = (from, self.exponent(to));
        loop {
            let rest = self.exponent(at) - target;
            let part = rest.clamp(self.powers[0], self.powers[1]);
            let next = if part == rest {
                to
            } else {
                let name = format!("{}/part", self.graph.value(to).name);
                let name = self.name(&name);
                self.new_value(name, to, self.exponent(at) - part)
            };
            let factor = self.constant(format!("2^{part}"), Vec::new(), vec![power(part)])?;
            let name = self.graph.value(next).name.clone();
            let op: Op = Binary { kind: BinaryKind::Mul }.into();
            self.graph.nodes.push(Node { name, op, inputs: vec![at, factor], outputs: vec![next] });
            if part == rest {
                return Ok(());
            }
            at = next;
        }
    }

    fn constant(&mut self, base: String, shape: Vec<usize>, data: Vec<f32>) -> Result<ValueId, PassError> {
        let name = self.name(&base);
        let (expected, found) = (shape.iter().product(), data.len());
        let tensor = Tensor::from_f32(shape, data).map_err(|_| PassError::Op {
            node: name.clone(),
            error: OpError::Size { op: "constant", what: "number of elements", expected, found },
        })?;
        self.exponents.push(0);
        Ok(self.graph.add_constant(name, tensor))
    }

    /// Adds the constant times `2^exponent`.
    fn scaled_constant(&mut self, id: ValueId, exponent: i32) -> Result<ValueId, PassError> {
        let value = self.graph.value(id);
        let (name, shape) = (value.name.clone(), value.info.shape.clone());
        // Default: a value that is not a float constant has no elements, which `constant` rejects
        // below.
        let values = self.graph.constant(id).and_then(|tensor| tensor.as_f32()).unwrap_or_default();
        // In double precision, no intermediate power is out of range.
        let factor = 2f64.powi(exponent);
        let (least, most) = (f64::from(f32::MIN), f64::from(f32::MAX));
        // Finite numbers stay finite: 0 times an infinite mask would be NaN.
        let scaled_one = |x: f32| {
            if x.is_finite() { (f64::from(x) * factor).clamp(least, most) as f32 } else { x }
        };
        let scaled = values.iter().copied().map(scaled_one).collect();
        if exponent == 0 { Ok(id) } else { self.constant(name, shape, scaled) }
    }

    /// Scales weights by the difference of the exponents, and addends by the exponent of the
    /// result.
    fn linear(&mut self, node: &mut Node, x: usize, result: ValueId) -> Result<(), PassError> {
        let to = self.exponent(result);
        if self.limits.balance {
            let own = self.exponent(node.inputs[x]);
            let bits = lent(&self.graph, node, x, [own, to], self.ranges, &self.limits);
            node.inputs[x] = self.with_exponent(node.inputs[x], own + bits)?;
        }
        let from = self.exponent(node.inputs[x]);
        let factors: Vec<i32> = match &node.op {
            // scale, bias, mean, variance
            Op::BatchNormalization(_) => vec![0, from - to, -to, -from, 0],
            Op::Binary(Binary { kind: BinaryKind::Div }) => vec![0, to - from],
            _ if x == 0 => vec![0, from - to, -to],
            _ => vec![from - to, 0, -to],
        };
        for (operand, &exponent) in node.inputs.iter_mut().zip(&factors) {
            if exponent != 0 {
                *operand = self.scaled_constant(*operand, exponent)?;
            }
        }
        Ok(())
    }

    /// Adds a product whose exponent is the sum of its operands' exponents; the result's exponent
    /// is reached by a multiplication before or after it.
    fn product(&mut self, mut node: Node, result: ValueId) -> Result<(), PassError> {
        let &[x, y] = node.inputs.as_slice() else { return Ok(()) };
        let (sum, wanted) = (self.exponent(x) + self.exponent(y), self.exponent(result));
        if sum <= wanted {
            let parts = shares(wanted - sum);
            for (operand, part) in node.inputs.iter_mut().zip(parts) {
                *operand = self.with_exponent(*operand, self.exponent(*operand) + part)?;
            }
            self.graph.nodes.push(node);
            return Ok(());
        }
        let name = format!("{}/2^{sum}", self.graph.value(result).name);
        let name = self.name(&name);
        let product = self.new_value(name, result, sum);
        node.outputs = vec![product];
        self.graph.nodes.push(node);
        self.multiply(product, result)
    }

    /// Adds an operator with parameters that compensate the operand's exponent; if they cannot, its
    /// operand is unscaled first.
    fn absorbing(&mut self, mut node: Node) -> Result<(), PassError> {
        let exponent = node.inputs.first().map_or(0, |&x| self.exponent(x));
        match absorbed(&node.op, exponent, &self.limits) {
            Some(op) => node.op = op,
            None => self.operands(&mut node, 0)?,
        }
        self.graph.nodes.push(node);
        Ok(())
    }

    /// Adds the operand times its gate, if the two have an exponent.
    fn gated(&mut self, node: Node, result: ValueId) -> Result<(), PassError> {
        let (&[x], exponent) = (node.inputs.as_slice(), self.exponent(result)) else { return Ok(()) };
        if exponent == 0 {
            return self.real(node);
        }
        let x = self.with_exponent(x, exponent)?;
        let name = self.name(&format!("{}/gate", self.graph.value(result).name));
        let gate_value = self.new_value(name.clone(), result, 0);
        self.absorbing(Node { name, op: gate(), inputs: vec![x], outputs: vec![gate_value] })?;
        let op = Binary { kind: BinaryKind::Mul }.into();
        self.graph.nodes.push(Node { op, inputs: vec![x, gate_value], ..node });
        Ok(())
    }

    /// Adds the function between multiplications that no other node reads, so that they can be
    /// merged into its table.
    fn function(&mut self, mut node: Node, result: ValueId) -> Result<(), PassError> {
        let x = node.inputs[0];
        if self.exponent(x) != 0 && self.graph.constant(x).is_none() {
            let name = self.name(&format!("{}/real", self.graph.value(x).name));
            let real = self.new_value(name, x, 0);
            self.multiply(x, real)?;
            node.inputs[0] = real;
        }
        if self.exponent(result) == 0 {
            self.graph.nodes.push(node);
            return Ok(());
        }
        let name = self.name(&format!("{}/real", self.graph.value(result).name));
        let real = self.new_value(name, result, 0);
        node.outputs = vec![real];
        self.graph.nodes.push(node);
        self.multiply(real, result)
    }

    /// Adds the host's operator on unscaled values, and divides its results for the machine.
    fn of_host(&mut self, mut node: Node) -> Result<(), PassError> {
        for operand in &mut node.inputs {
            *operand = match self.reals.get(operand) {
                Some(&real) => real,
                None if is_float(&self.graph, *operand) => self.with_exponent(*operand, 0)?,
                None => *operand,
            };
        }
        let results = node.outputs.clone();
        let scaled: Vec<ValueId> = results.into_iter().filter(|&id| self.exponent(id) != 0).collect();
        for &result in &scaled {
            let real = self.real_of(result);
            node.outputs.iter_mut().filter(|id| **id == result).for_each(|id| *id = real);
        }
        self.graph.nodes.push(node);
        scaled.into_iter().try_for_each(|result| self.divide(result))
    }

    /// Divides the inputs that have an exponent.
    fn divide_inputs(&mut self) -> Result<(), PassError> {
        for place in 0..self.graph.inputs.len() {
            let stored = self.graph.inputs[place];
            if self.exponent(stored) == 0 {
                continue;
            }
            self.graph.inputs[place] = self.real_of(stored);
            self.divide(stored)?;
        }
        Ok(())
    }

    /// Adds the unscaled value on the host for a value that is stored with an exponent, and gives
    /// it the original name.
    fn real_of(&mut self, stored: ValueId) -> ValueId {
        let (name, exponent) = (self.graph.value(stored).name.clone(), self.exponent(stored));
        let inner = self.name(&format!("{name}/2^{exponent}"));
        self.graph.values[stored.0 as usize].name = inner;
        let real = self.new_value(name.clone(), stored, 0);
        self.reals.insert(stored, real);
        self.scales.insert(name, exponent);
        real
    }

    /// If the only reader of a value from the host is another division, lets the host do both.
    fn join_divisions(&mut self) {
        let consumers = self.graph.consumers();
        for (&stored, &real) in &self.reals {
            let mut copies = self.copies.keys().filter(|(value, _)| *value == stored);
            let (Some(&(_, exponent)), None) = (copies.next(), copies.next()) else { continue };
            if consumers[stored.0 as usize].len() == 1 && !self.graph.is_output(stored) {
                self.scales.insert(self.graph.value(real).name.clone(), exponent);
            }
        }
    }

    /// Computes the stored value from the unscaled value on the host.
    fn divide(&mut self, stored: ValueId) -> Result<(), PassError> {
        match self.reals.get(&stored) {
            Some(&real) => self.multiply(real, stored),
            None => Ok(()),
        }
    }

    /// Adds the operator unchanged, on unscaled values.
    fn real(&mut self, mut node: Node) -> Result<(), PassError> {
        self.operands(&mut node, 0)?;
        self.graph.nodes.push(node);
        Ok(())
    }

    /// Adds the unscaled outputs, with the original names.
    fn restore_outputs(&mut self) -> Result<(), PassError> {
        for place in 0..self.graph.outputs.len() {
            let stored = self.graph.outputs[place];
            if self.exponent(stored) == 0 {
                continue;
            }
            let output = match self.reals.get(&stored) {
                Some(&real) => real,
                None => {
                    let output = self.real_of(stored);
                    self.multiply(stored, output)?;
                    output
                }
            };
            let outputs = self.graph.outputs.iter_mut();
            outputs.filter(|other| **other == stored).for_each(|other| *other = output);
        }
        Ok(())
    }
}

/// Splits a scaling of a product by `bits` bits between its two factors. A few bits are taken from
/// one factor; more are shared, so that neither loses all its bits.
fn shares(bits: i32) -> [i32; 2] {
    if bits <= FEW_BITS { [bits, 0] } else { [bits - bits / 2, bits / 2] }
}

/// Largest number of bits that are taken from one factor alone.
const FEW_BITS: i32 = 4;

/// Returns `2^exponent`.
fn power(exponent: i32) -> f32 {
    2f64.powi(exponent) as f32
}
