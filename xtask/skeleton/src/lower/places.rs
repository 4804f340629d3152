//! Addresses of values and constants: [`Places`].

use npukit_graph::{Graph, Op as Operator, ValueId};

use super::dense;
use crate::machine::state::{FORMAT, fits};
use crate::program::{Binding, Constant};

/// Addresses of values, which are stored one after the other, and of constants, which follow.
pub struct Places<'a> {
    pub graph: &'a Graph,
    addresses: Vec<u32>,
    /// Addresses of the operands of each node. A node has its own copy of each constant, in the
    /// order in which its instructions read it.
    operands: Vec<Vec<u32>>,
    /// First address after everything, up to `u64::MAX`.
    pub end: u64,
}

impl<'a> Places<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        let mut places = Self { graph, addresses: Vec::new(), operands: Vec::new(), end: 0 };
        for (index, value) in graph.values.iter().enumerate() {
            let id = ValueId(index as u32);
            let address = if value.constant.is_none() { places.take(id) } else { u32::MAX };
            places.addresses.push(address);
        }
        for node in &graph.nodes {
            let operands = node.inputs.iter().map(|&id| match graph.constant(id) {
                Some(_) => places.take(id),
                None => places.address(id),
            });
            let operands = operands.collect();
            places.operands.push(operands);
        }
        places
    }

    /// Takes addresses for a copy of a value.
    fn take(&mut self, id: ValueId) -> u32 {
        let address = u32::try_from(self.end).unwrap_or(u32::MAX);
        let numbers = self.graph.shape(id).iter().fold(1, |all: u64, &n| all.saturating_mul(n as u64));
        self.end = self.end.saturating_add(numbers);
        address
    }

    /// Returns the address of a value that is not a constant.
    pub fn address(&self, id: ValueId) -> u32 {
        self.addresses[id.0 as usize]
    }

    /// Returns the address of an operand of a node.
    pub fn operand(&self, node: usize, operand: usize) -> u32 {
        self.operands[node][operand]
    }

    /// Size of a value in numbers. The graph must fit the memory.
    pub fn numbers(&self, id: ValueId) -> u32 {
        self.graph.shape(id).iter().product::<usize>() as u32
    }

    pub fn binding(&self, id: ValueId) -> Binding {
        let (name, shape) = (self.graph.value(id).name.clone(), self.graph.shape(id).to_vec());
        Binding { name, shape, address: self.address(id) }
    }

    /// Returns the constants of all nodes.
    pub fn constants(&self) -> Vec<ExactConstant> {
        let of_node = |(index, node): (usize, &npukit_graph::Node)| {
            let constants = node.inputs.iter().enumerate().filter_map(move |(operand, &id)| {
                let values = self.graph.constant(id)?.as_f32()?;
                let values = match &node.op {
                    Operator::Gemm(op) if operand == 1 => {
                        dense::columns(values, self.graph.shape(id), op.trans_b)
                    }
                    _ => values.to_vec(),
                };
                let (name, address) = (self.graph.value(id).name.clone(), self.operand(index, operand));
                Some(ExactConstant { name, address, values })
            });
            constants.collect::<Vec<_>>()
        };
        self.graph.nodes.iter().enumerate().flat_map(of_node).collect()
    }
}

/// A constant with the values of the model.
pub struct ExactConstant {
    name: String,
    /// Address of the first number.
    pub address: u32,
    /// Values, in the order of their addresses.
    pub values: Vec<f32>,
}

impl ExactConstant {
    /// Rounds the values to numbers of the machine.
    pub fn rounded(&self) -> Constant {
        let saturated = self.values.iter().filter(|&&value| !fits(value)).count() as u64;
        let numbers = self.values.iter().map(|&value| FORMAT.from_f32(value) as i16).collect();
        Constant { name: self.name.clone(), address: self.address, numbers, saturated }
    }
}
