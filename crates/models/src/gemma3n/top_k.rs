//! [`TopK`]: gates of which only the largest pass.

use npukit_numeric::ElementType;

use npukit_graph::decoder::DecoderError;
use npukit_graph::decoder::builder::Builder;
use npukit_graph::op::{BinaryKind, Compare, CompareKind, Reduce, ReduceKind, Relu, Unary, UnaryKind, Where};
use npukit_graph::{Graph, ValueId};

/// What becomes of a gate whose cutoff is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `max(gate - cutoff, 0)`, as the documents say.
    Above,
    /// The gate where it reaches the cutoff, 0 elsewhere, as the runtime does.
    Kept,
}

/// Gates of which only the largest pass: `cutoff = mean + deviations * standard deviation`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopK {
    /// How many layers, from the first, have such gates.
    pub layers: usize,
    /// Standard deviations from the mean to the cutoff.
    pub deviations: f32,
    /// What passes.
    pub gate: Gate,
}

impl TopK {
    /// The graph of `gate [1, features]` and what passes of it.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Op`] when `features` are more than a tensor may have.
    pub fn graph(&self, features: usize) -> Result<Graph, DecoderError> {
        let mut builder = Builder::new("top_k");
        let gate = builder.input("gate", vec![1, features], ElementType::F32);
        let passed = self.emit(&mut builder, &|part| part.to_owned(), gate)?;
        let mut graph = builder.graph;
        graph.outputs = vec![passed];
        Ok(graph)
    }

    /// What passes of a gate `[1, features]`.
    pub(super) fn emit(
        &self,
        builder: &mut Builder,
        at: &impl Fn(&str) -> String,
        gate: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let mean = Reduce { kind: ReduceKind::Mean, axes: vec![1], keep_dims: true };
        let centre = builder.emit(&at("gate_mean"), mean.clone(), vec![gate])?;
        let apart = builder.binary(&at("gate_apart"), BinaryKind::Sub, gate, centre)?;
        let square = builder.binary(&at("gate_squares"), BinaryKind::Mul, apart, apart)?;
        let variance = builder.emit(&at("gate_variance"), mean, vec![square])?;
        let root = Unary { kind: UnaryKind::Sqrt };
        let deviation = builder.emit(&at("gate_deviation"), root, vec![variance])?;
        let factor = builder.scalar(&at("gate_deviations"), self.deviations)?;
        let far = builder.binary(&at("gate_far"), BinaryKind::Mul, deviation, factor)?;
        let cutoff = builder.add(&at("gate_cutoff"), centre, far)?;
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
