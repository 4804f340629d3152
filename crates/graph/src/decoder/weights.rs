//! [`DecoderModel`]: a configuration with its tensors.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::{DecoderConfig, DecoderError, NormKind, Positions};

/// A decoder with its weights.
///
/// Matrices are stored by rows, `[results, operands]`: each row computes one result.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderModel {
    config: DecoderConfig,
    embedding: Matrix,
    positions: Option<Matrix>,
    layers: Vec<Layer>,
    final_norm: NormWeights,
    head: Option<Matrix>,
}

/// A matrix with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Name, such as `layers.0.query`.
    pub name: String,
    tensor: Arc<Tensor>,
}

/// Gain and, for layer normalization, bias.
#[derive(Clone, Debug, PartialEq)]
pub struct NormWeights {
    /// Factor of the normalized value, for each feature.
    pub gain: Matrix,
    /// Addend after the gain, for each feature; `None` for RMS normalization.
    pub bias: Option<Matrix>,
}

/// Tensors of a layer: attention and the feed-forward part, each after a norm. Sizes are defined in
/// [`DecoderConfig`].
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Normalization before attention.
    pub attention_norm: NormWeights,
    /// Query projection: `[heads * head, hidden]`.
    pub query: Matrix,
    /// Key projection: `[kv_heads * head, hidden]`.
    pub key: Matrix,
    /// Value projection: `[kv_heads * head, hidden]`.
    pub value: Matrix,
    /// Output projection, which joins the heads: `[hidden, heads * head]`.
    pub output: Matrix,
    /// Normalization before the feed-forward part.
    pub feed_forward_norm: NormWeights,
    /// Gate projection, `[feed_forward, hidden]`; `None` in models without gate.
    pub gate: Option<Matrix>,
    /// Projection into the feed-forward part: `[feed_forward, hidden]`.
    pub up: Matrix,
    /// Projection out of the feed-forward part: `[hidden, feed_forward]`.
    pub down: Matrix,
}

impl Matrix {
    /// Creates the matrix `name` if `tensor` has the shape and holds floats.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Shape`] for another shape; [`DecoderError::NotFloats`] for another element
    /// type.
    pub fn new(
        name: String,
        tensor: impl Into<Arc<Tensor>>,
        expected: &[usize],
    ) -> Result<Self, DecoderError> {
        let tensor = tensor.into();
        if tensor.shape() != expected {
            let (found, expected) = (tensor.shape().to_vec(), expected.to_vec());
            return Err(DecoderError::Shape { name, found, expected });
        }
        if tensor.as_f32().is_none() {
            return Err(DecoderError::NotFloats { name });
        }
        Ok(Self { name, tensor })
    }

    /// Returns the elements, row by row.
    pub fn values(&self) -> &[f32] {
        self.tensor.as_f32().expect("`Matrix::new` accepts only floats")
    }

    /// Returns the shape: one axis for gains and biases, two for other matrices.
    pub fn shape(&self) -> &[usize] {
        self.tensor.shape()
    }

    /// Returns the number of rows: the output features.
    pub fn rows(&self) -> usize {
        self.shape()[0]
    }

    /// Returns the number of columns: the input features; 1 for a gain or bias.
    pub fn columns(&self) -> usize {
        // Default: gains and biases are one column.
        self.shape().get(1).copied().unwrap_or(1)
    }

    pub(crate) fn tensor(&self) -> &Arc<Tensor> {
        &self.tensor
    }
}

impl DecoderModel {
    /// Creates the decoder of `config`. `get` returns each tensor for its name and required shape.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] for an illegal configuration; the errors of `get`;
    /// [`DecoderError::Shape`] or [`DecoderError::NotFloats`] for a tensor of another shape or
    /// type.
    pub fn new<E: From<DecoderError>>(
        config: DecoderConfig,
        mut get: impl FnMut(&str, &[usize]) -> Result<Tensor, E>,
    ) -> Result<Self, E> {
        config.check()?;
        let mut reader = Reader { config: &config, get: &mut get };
        let (vocabulary, hidden) = (config.vocabulary, config.hidden);
        let embedding = reader.matrix("embedding".to_owned(), &[vocabulary, hidden])?;
        let positions = match config.positions {
            Positions::Learned => Some(reader.matrix("positions".to_owned(), &[config.context, hidden])?),
            Positions::None | Positions::Rotary { .. } => None,
        };
        // Without preallocation: a configuration with far too many layers fails at the first
        // missing tensor.
        let mut layers = Vec::new();
        for index in 0..config.layers {
            layers.push(reader.layer(index)?);
        }
        let final_norm = reader.norm("final_norm".to_owned())?;
        let head = match config.tied {
            true => None,
            false => Some(reader.matrix("head".to_owned(), &[vocabulary, hidden])?),
        };
        Ok(Self { config, embedding, positions, layers, final_norm, head })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Returns the features of each token: `[vocabulary, hidden]`.
    pub fn embedding(&self) -> &Matrix {
        &self.embedding
    }

    /// Returns the learned position vectors, `[context, hidden]`, if the model has them.
    pub fn positions(&self) -> Option<&Matrix> {
        self.positions.as_ref()
    }

    /// Returns the layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Returns the normalization after the last layer.
    pub fn final_norm(&self) -> &NormWeights {
        &self.final_norm
    }

    /// Returns the matrix that computes the logits, `[vocabulary, hidden]`; the embedding if it is
    /// tied.
    pub fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }

    /// Returns every weight matrix in the order of evaluation, including the matrix of the logits.
    pub fn products(&self) -> impl Iterator<Item = &Matrix> {
        self.layers.iter().flat_map(Layer::products).chain([self.head()])
    }

    /// Returns the decoder with the values of every matrix of [`DecoderModel::products`] replaced.
    /// In a tied model, the embedding keeps its values, and the logits get a separate matrix.
    ///
    /// `replace` must return the same number of values.
    ///
    /// # Errors
    ///
    /// The errors of `replace`; [`DecoderError::Shape`] if it returns another number of values.
    pub fn with_products<E: From<DecoderError>>(
        &self,
        mut replace: impl FnMut(&Matrix) -> Result<Vec<f32>, E>,
    ) -> Result<Self, E> {
        let mut model = self.clone();
        let head = self.head().clone();
        model.head = Some(Matrix { name: "head".to_owned(), ..head });
        model.config.tied = false;
        let matrices = model.layers.iter_mut().flat_map(Layer::products_mut).chain(model.head.as_mut());
        for matrix in matrices {
            let (values, shape) = (replace(matrix)?, matrix.shape().to_vec());
            let found = values.len();
            let wrong = |_| DecoderError::Shape {
                name: matrix.name.clone(),
                found: vec![found],
                expected: shape.clone(),
            };
            matrix.tensor = Arc::new(Tensor::from_f32(shape.clone(), values).map_err(wrong)?);
        }
        Ok(model)
    }
}

impl Layer {
    /// Returns the layer's matrices in the order of evaluation.
    pub fn products(&self) -> impl Iterator<Item = &Matrix> {
        let Self { query, key, value, output, gate, up, down, .. } = self;
        [query, key, value, output].into_iter().chain(gate).chain([up, down])
    }

    fn products_mut(&mut self) -> impl Iterator<Item = &mut Matrix> {
        let Self { query, key, value, output, gate, up, down, .. } = self;
        [query, key, value, output].into_iter().chain(gate).chain([up, down])
    }
}

/// Requests tensors by name and shape.
struct Reader<'a, G> {
    config: &'a DecoderConfig,
    get: &'a mut G,
}

impl<E: From<DecoderError>, G: FnMut(&str, &[usize]) -> Result<Tensor, E>> Reader<'_, G> {
    fn matrix(&mut self, name: String, expected: &[usize]) -> Result<Matrix, E> {
        let tensor = (self.get)(&name, expected)?;
        Ok(Matrix::new(name, tensor, expected)?)
    }

    fn norm(&mut self, name: String) -> Result<NormWeights, E> {
        let shape = [self.config.hidden];
        let bias = match self.config.norm {
            NormKind::Rms => None,
            NormKind::Layer => Some(self.matrix(format!("{name}_bias"), &shape)?),
        };
        Ok(NormWeights { gain: self.matrix(name, &shape)?, bias })
    }

    fn layer(&mut self, index: usize) -> Result<Layer, E> {
        let DecoderConfig { hidden, head, heads, kv_heads, feed_forward, gated, .. } = *self.config;
        let (queries, keys) = (heads.saturating_mul(head), kv_heads.saturating_mul(head));
        let name = |part: &str| format!("layers.{index}.{part}");
        Ok(Layer {
            attention_norm: self.norm(name("attention_norm"))?,
            query: self.matrix(name("query"), &[queries, hidden])?,
            key: self.matrix(name("key"), &[keys, hidden])?,
            value: self.matrix(name("value"), &[keys, hidden])?,
            output: self.matrix(name("output"), &[hidden, queries])?,
            feed_forward_norm: self.norm(name("feed_forward_norm"))?,
            gate: gated.then(|| self.matrix(name("gate"), &[feed_forward, hidden])).transpose()?,
            up: self.matrix(name("up"), &[feed_forward, hidden])?,
            down: self.matrix(name("down"), &[hidden, feed_forward])?,
        })
    }
}
