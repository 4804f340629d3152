//! [`Builder`]: a graph of a decoder under construction, with the parts that decoders share.

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::{DecoderError, Matrix};
use crate::ir::{Graph, ValueId, ValueInfo};
use crate::op::{
    Binary, BinaryKind, Concat, Gemm, MatMul, Op, Reshape, RmsNormalization, Softmax, Transpose, Where,
};

/// A product with a matrix that lies by rows.
const BY_ROWS: Gemm = Gemm { trans_b: true, ..Gemm::PLAIN };

/// Sizes of an attention: queries `[length, heads * head]`, keys and values `[.., kv_heads * head]`.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Tokens computed at once.
    pub length: usize,
    /// Heads of queries; a multiple of `kv_heads`.
    pub heads: usize,
    /// Heads of keys and values; neighbouring heads of queries share one.
    pub kv_heads: usize,
    /// Features of a head.
    pub head: usize,
    /// Factor of the products of queries and keys.
    pub scale: f32,
}

/// A graph under construction.
pub struct Builder {
    /// The graph as far as it is built.
    pub graph: Graph,
    /// Matrices that are in the graph.
    matrices: Vec<(Arc<Tensor>, ValueId)>,
}

impl Builder {
    /// An empty graph.
    pub fn new(name: &str) -> Self {
        Self { graph: Graph { name: name.to_owned(), ..Graph::default() }, matrices: Vec::new() }
    }

    /// An input of that shape.
    pub fn input(&mut self, name: &str, shape: Vec<usize>, element: ElementType) -> ValueId {
        self.graph.add_input(name, ValueInfo { shape, element })
    }

    /// A constant of that shape.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Shape`] when `data` has another number of elements.
    pub fn constant(
        &mut self,
        name: &str,
        shape: Vec<usize>,
        data: TensorData,
    ) -> Result<ValueId, DecoderError> {
        let (found, expected) = (vec![data.len()], shape.clone());
        let wrong = |_| DecoderError::Shape { name: name.to_owned(), found, expected };
        Ok(self.graph.add_constant(name, Tensor::new(shape, data).map_err(wrong)?))
    }

    /// A constant of shape `[]`.
    ///
    /// # Errors
    ///
    /// None: a shape of one element fits one value.
    pub fn scalar(&mut self, name: &str, value: f32) -> Result<ValueId, DecoderError> {
        self.constant(name, Vec::new(), TensorData::F32(vec![value]))
    }

    /// A tensor of the model; one value wherever it is used, with the name under which it was first.
    pub fn matrix(&mut self, matrix: &Matrix) -> ValueId {
        let tensor = matrix.tensor();
        if let Some((_, id)) = self.matrices.iter().find(|(known, _)| Arc::ptr_eq(known, tensor)) {
            return *id;
        }
        let id = self.graph.add_constant(&matrix.name, Arc::clone(tensor));
        self.matrices.push((Arc::clone(tensor), id));
        id
    }

    /// A node with one result; both have the name.
    ///
    /// # Errors
    ///
    /// Operands that the operator does not take.
    pub fn emit(
        &mut self,
        name: &str,
        op: impl Into<Op>,
        inputs: Vec<ValueId>,
    ) -> Result<ValueId, DecoderError> {
        let op = op.into();
        let none = DecoderError::NotFloats { name: name.to_owned() };
        let results = self.graph.add_node(name, op, inputs, &[name])?;
        results.first().copied().ok_or(none)
    }

    /// An operation on the elements of two tensors.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn binary(
        &mut self,
        name: &str,
        kind: BinaryKind,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId, DecoderError> {
        self.emit(name, Binary { kind }, vec![left, right])
    }

    /// The sum of two tensors.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn add(&mut self, name: &str, left: ValueId, right: ValueId) -> Result<ValueId, DecoderError> {
        self.binary(name, BinaryKind::Add, left, right)
    }

    /// `x [rows, features]` times a `matrix [results, features]`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn product(&mut self, name: &str, x: ValueId, matrix: &Matrix) -> Result<ValueId, DecoderError> {
        let weights = self.matrix(matrix);
        self.emit(name, BY_ROWS, vec![x, weights])
    }

    /// The rows of `x [rows, features]`, each divided by its root of the mean square, times `gain`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn rms_norm(
        &mut self,
        name: &str,
        x: ValueId,
        gain: &Matrix,
        epsilon: f32,
    ) -> Result<ValueId, DecoderError> {
        let gain = self.matrix(gain);
        self.emit(name, RmsNormalization { axis: 1, epsilon }, vec![x, gain])
    }

    /// The elements of `x` in another shape.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn reshape(&mut self, name: &str, x: ValueId, shape: &[usize]) -> Result<ValueId, DecoderError> {
        self.emit(name, Reshape { shape: shape.to_vec() }, vec![x])
    }

    /// `x`, whose elements are those of `[length, heads * head]`, as `[heads, length, head]`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn by_head(
        &mut self,
        name: &str,
        x: ValueId,
        [length, heads, head]: [usize; 3],
    ) -> Result<ValueId, DecoderError> {
        let split = self.reshape(&format!("{name}_by_token"), x, &[length, heads, head])?;
        self.emit(name, Transpose { perm: vec![1, 0, 2] }, vec![split])
    }

    /// The cached keys and values, if there are any, with a token's own after them:
    /// `[kv_heads, tokens, head]` each.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn behind_cache(
        &mut self,
        at: &impl Fn(&str) -> String,
        cache: Option<&[ValueId; 2]>,
        own: [ValueId; 2],
    ) -> Result<[ValueId; 2], DecoderError> {
        let Some(&[keys, values]) = cache else { return Ok(own) };
        let all = Concat { axis: 1 };
        let keys = self.emit(&at("all_keys"), all.clone(), vec![keys, own[0]])?;
        Ok([keys, self.emit(&at("all_values"), all, vec![values, own[1]])?])
    }

    /// What heads see, `[length, heads * head]`, of queries `[heads, length, head]` and keys and values
    /// `[kv_heads, keys, head]`.
    ///
    /// `mask` is which keys a token may see, `[length, keys]`, and what hidden scores become.
    ///
    /// # Errors
    ///
    /// Those of [`Self::emit`].
    pub fn attend(
        &mut self,
        at: &impl Fn(&str) -> String,
        sizes: Heads,
        query: ValueId,
        [keys, values]: [ValueId; 2],
        mask: Option<[ValueId; 2]>,
    ) -> Result<ValueId, DecoderError> {
        let Heads { length, heads, kv_heads, head, .. } = sizes;
        let probabilities = self.probabilities(at, sizes, query, keys, mask)?;
        let (count, rows) = (self.tokens(keys), sizes.rows());
        let grouped = self.reshape(&at("probability_groups"), probabilities, &[kv_heads, rows, count])?;
        let seen = self.emit(&at("seen_groups"), MatMul, vec![grouped, values])?;
        let seen = self.reshape(&at("seen"), seen, &[heads, length, head])?;
        let by_token = self.emit(&at("seen_by_token"), Transpose { perm: vec![1, 0, 2] }, vec![seen])?;
        self.reshape(&at("context"), by_token, &[length, heads * head])
    }

    /// How much each query takes of each value, `[heads, length, keys]`. Heads that share keys are rows of one product.
    fn probabilities(
        &mut self,
        at: &impl Fn(&str) -> String,
        sizes: Heads,
        query: ValueId,
        keys: ValueId,
        mask: Option<[ValueId; 2]>,
    ) -> Result<ValueId, DecoderError> {
        let Heads { length, heads, kv_heads, head, scale } = sizes;
        let count = self.tokens(keys);
        let grouped = self.reshape(&at("query_groups"), query, &[kv_heads, sizes.rows(), head])?;
        let transposed = self.emit(&at("keys_transposed"), Transpose { perm: vec![0, 2, 1] }, vec![keys])?;
        let scores = self.emit(&at("score_groups"), MatMul, vec![grouped, transposed])?;
        let mut scores = self.reshape(&at("scores"), scores, &[heads, length, count])?;
        if scale != 1.0 {
            let scale = self.scalar(&at("attention_scale"), scale)?;
            scores = self.binary(&at("scaled"), BinaryKind::Mul, scores, scale)?;
        }
        if let Some([mask, hidden]) = mask {
            scores = self.emit(&at("masked"), Where, vec![mask, scores, hidden])?;
        }
        self.emit(&at("probabilities"), Softmax { axis: 2, axis_end: 3 }, vec![scores])
    }

    /// Tokens that `keys [kv_heads, tokens, head]` are of.
    fn tokens(&self, keys: ValueId) -> usize {
        self.graph.shape(keys)[1]
    }
}

impl Heads {
    /// Queries that share a head of keys.
    fn rows(self) -> usize {
        self.heads / self.kv_heads.max(1) * self.length
    }
}
