//! [`Builder`]: a decoder graph under construction, with the parts that decoders share.

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::{DecoderError, Matrix};
use crate::ir::{Graph, ValueId, ValueInfo};
use crate::op::{
    Binary, BinaryKind, Concat, Gemm, MatMul, Op, Reshape, RmsNormalization, Softmax, Transpose, Where,
};

/// A product with a matrix stored by rows, `[results, features]`.
const BY_ROWS: Gemm = Gemm { trans_b: true, ..Gemm::PLAIN };

/// Sizes of an attention: queries `[length, heads * head]`, keys and values `[.., kv_heads *
/// head]`.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Number of tokens computed at once.
    pub length: usize,
    /// Number of query heads; a multiple of `kv_heads`.
    pub heads: usize,
    /// Number of key and value heads; neighboring query heads share one.
    pub kv_heads: usize,
    /// Features of a head.
    pub head: usize,
    /// Factor of the products of queries and keys.
    pub scale: f32,
}

/// A graph under construction.
pub struct Builder {
    /// The graph so far.
    pub graph: Graph,
    /// Matrices that are in the graph already, with their values.
    matrices: Vec<(Arc<Tensor>, ValueId)>,
}

impl Builder {
    /// Creates an empty graph.
    pub fn new(name: &str) -> Self {
        Self { graph: Graph { name: name.to_owned(), ..Graph::default() }, matrices: Vec::new() }
    }

    /// Adds an input of the given shape.
    pub fn input(&mut self, name: &str, shape: Vec<usize>, element: ElementType) -> ValueId {
        self.graph.add_input(name, ValueInfo { shape, element })
    }

    /// Adds a constant of the given shape.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Shape`] if `data` has a different number of elements.
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

    /// Adds a constant of shape `[]`.
    ///
    /// # Errors
    ///
    /// Never: a shape of one element fits one value.
    pub fn scalar(&mut self, name: &str, value: f32) -> Result<ValueId, DecoderError> {
        self.constant(name, Vec::new(), TensorData::F32(vec![value]))
    }

    /// Adds a tensor of the model. It is added once, with the name of its first use.
    pub fn matrix(&mut self, matrix: &Matrix) -> ValueId {
        let tensor = matrix.tensor();
        if let Some((_, id)) = self.matrices.iter().find(|(known, _)| Arc::ptr_eq(known, tensor)) {
            return *id;
        }
        let id = self.graph.add_constant(&matrix.name, Arc::clone(tensor));
        self.matrices.push((Arc::clone(tensor), id));
        id
    }

    /// Adds a node with one result; both have the name `name`.
    ///
    /// # Errors
    ///
    /// The operator rejects the operands.
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

    /// Adds an elementwise operation on two tensors.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
    pub fn binary(
        &mut self,
        name: &str,
        kind: BinaryKind,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId, DecoderError> {
        self.emit(name, Binary { kind }, vec![left, right])
    }

    /// Adds the sum of two tensors.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
    pub fn add(&mut self, name: &str, left: ValueId, right: ValueId) -> Result<ValueId, DecoderError> {
        self.binary(name, BinaryKind::Add, left, right)
    }

    /// Adds the product of `x [rows, features]` and the transpose of `matrix [results, features]`.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
    pub fn product(&mut self, name: &str, x: ValueId, matrix: &Matrix) -> Result<ValueId, DecoderError> {
        let weights = self.matrix(matrix);
        self.emit(name, BY_ROWS, vec![x, weights])
    }

    /// Adds an RMS normalization: the rows of `x [rows, features]`, each divided by the root of its
    /// mean square, times `gain`.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
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

    /// Adds a reshape of `x`.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
    pub fn reshape(&mut self, name: &str, x: ValueId, shape: &[usize]) -> Result<ValueId, DecoderError> {
        self.emit(name, Reshape { shape: shape.to_vec() }, vec![x])
    }

    /// Adds the rearrangement of `x`, with the elements of `[length, heads * head]`, to `[heads,
    /// length, head]`.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
    pub fn by_head(
        &mut self,
        name: &str,
        x: ValueId,
        [length, heads, head]: [usize; 3],
    ) -> Result<ValueId, DecoderError> {
        let split = self.reshape(&format!("{name}_by_token"), x, &[length, heads, head])?;
        self.emit(name, Transpose { perm: vec![1, 0, 2] }, vec![split])
    }

    /// Appends the keys and values of new tokens to the cached ones, if any. Both results have
    /// shape `[kv_heads, tokens, head]`.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
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

    /// Adds the attention of queries `[heads, length, head]` over keys and values `[kv_heads, keys,
    /// head]`; the result has shape `[length, heads * head]`.
    ///
    /// `mask` is a pair: which keys each token may see, `[length, keys]`, and the score of hidden
    /// keys.
    ///
    /// # Errors
    ///
    /// See [`Self::emit`].
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

    /// Adds the attention weights of each query, `[heads, length, keys]`. Heads that share keys are
    /// rows of one product.
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

    /// Returns the number of tokens of `keys [kv_heads, tokens, head]`.
    fn tokens(&self, keys: ValueId) -> usize {
        self.graph.shape(keys)[1]
    }
}

impl Heads {
    /// Returns the number of query rows that share a key head.
    fn rows(self) -> usize {
        self.heads / self.kv_heads.max(1) * self.length
    }
}
