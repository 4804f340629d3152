//! [`TopK`]: sparse gates, which pass only their largest values.

use npukit_numeric::ElementType;

use npukit_graph::decoder::DecoderError;
use npukit_graph::decoder::builder::Builder;
use npukit_graph::op::{BinaryKind, Compare, CompareKind, Reduce, ReduceKind, Relu, Unary, UnaryKind, Where};
use npukit_graph::{Graph, ValueId};

/// Function of a gate with a known cutoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `max(gate - cutoff, 0)`, as in the documents.
    Above,
    /// The gate if it is at least the cutoff, 0 otherwise, as in the runtime.
    Kept,
}

/// Gates that pass only their largest values: `cutoff = mean + deviations * standard deviation`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopK {
    /// Number of layers, from the first, with such gates.
    pub layers: usize,
    /// Distance of the cutoff from the mean, in standard deviations.
    pub deviations: f32,
    /// Function of the gate.
    pub gate: Gate,
}

impl TopK {
    /// Returns the graph from `gate [1, features]` to its gated values.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Op`] if `features` exceeds the size limit of tensors.
    pub fn graph(&self, features: usize) -> Result<Graph, DecoderError> {
        let mut builder = Builder::new("top_k");
        let gate = builder.input("gate", vec![1, features], ElementType::F32);
        let passed = self.emit(&mut builder, &|part| part.to_owned(), gate)?;
        let mut graph = builder.graph;
        graph.outputs = vec![passed];
        Ok(graph)
    }

    /// Adds the gated values of a gate `[1, features]`.
    pub(super) fn emit(
        &self,
        builder: &mut Builder,
        at: &impl Fn(&str) -> String,
        gate: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let mean = Reduce { kind: ReduceKind::Mean, axes: vec![1], keep_dims: true };
        let center = builder.emit(&at("gate_mean"), mean.clone(), vec![gate])?;
        let apart = builder.binary(&at("gate_apart"), BinaryKind::Sub, gate, center)?;
        let square = builder.binary(&at("gate_squares"), BinaryKind::Mul, apart, apart)?;
        let variance = builder.emit(&at("gate_variance"), mean, vec![square])?;
        let root = Unary { kind: UnaryKind::Sqrt };
        let deviation = builder.emit(&at("gate_deviation"), root, vec![variance])?;
        let factor = builder.scalar(&at("gate_deviations"), self.deviations)?;
        let far = builder.binary(&at("gate_far"), BinaryKind::Mul, deviation, factor)?;
        let cutoff = builder.add(&at("gate_cutoff"), center, far)?;
        match self.gate {
            Gate::Above => {
                let above = builder.binary(&at("gate_above"), BinaryKind::Sub, gate, cutoff)?;
                builder.emit(&at("gate_largest"), Relu, vec![above])
            }
            Gate::Kept => {
                let reaches = Compare { kind: CompareKind::GreaterOrEqual };
                let reaches = builder.emit(&at("gate_reaches"), reaches, vec![gate, cutoff])?;
                let nothing = builder.scalar(&at("gate_nothing"), 0.0)?;
                builder.emit(&at("gate_largest"), Where, vec![reaches, gate, nothing])
            }
        }
    }
}
