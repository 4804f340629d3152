//! [`DecoderModel`]: a configuration with its tensors.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::{DecoderConfig, DecoderError, NormKind, Positions};

/// A decoder.
///
/// Matrices are held by rows, and a row makes one result: `[results, operands]`.
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
    /// What it is called, as `layers.0.query`.
    pub name: String,
    tensor: Arc<Tensor>,
}

/// Gain and, for layer normalisation, bias.
#[derive(Clone, Debug, PartialEq)]
pub struct NormWeights {
    /// What a normalised value is multiplied by, for each feature.
    pub gain: Matrix,
    /// What is added after that, for each feature.
    pub bias: Option<Matrix>,
}

/// The tensors of a layer: attention and the feed-forward part, each after a norm. Sizes are those of
/// [`DecoderConfig`].
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Of the normalisation before attention.
    pub attention_norm: NormWeights,
    /// Makes queries: `[heads * head, hidden]`.
    pub query: Matrix,
    /// Makes keys: `[kv_heads * head, hidden]`.
    pub key: Matrix,
    /// Makes values: `[kv_heads * head, hidden]`.
    pub value: Matrix,
    /// Joins the heads: `[hidden, heads * head]`.
    pub output: Matrix,
    /// Of the normalisation before the feed-forward part.
    pub feed_forward_norm: NormWeights,
    /// `[feed_forward, hidden]`, in gated models.
    pub gate: Option<Matrix>,
    /// Into the feed-forward part: `[feed_forward, hidden]`.
    pub up: Matrix,
    /// Out of it: `[hidden, feed_forward]`.
    pub down: Matrix,
}

impl Matrix {
    /// The tensor under that name, when it has the shape and holds floats.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Shape`] for another shape; the error of a tensor that holds no floats.
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

    /// The elements, row by row.
    pub fn values(&self) -> &[f32] {
        self.tensor.as_f32().expect("`Matrix::new` refuses all but floats")
    }

    /// Its shape: of one axis for gains and biases, of two otherwise.
    pub fn shape(&self) -> &[usize] {
        self.tensor.shape()
    }

    /// Rows of the matrix: the features it gives.
    pub fn rows(&self) -> usize {
        self.shape()[0]
    }

    /// Columns of the matrix: the features it takes; 1 for a gain or bias.
    pub fn columns(&self) -> usize {
        // Default: gains and biases are one column.
        self.shape().get(1).copied().unwrap_or(1)
    }

    pub(crate) fn tensor(&self) -> &Arc<Tensor> {
        &self.tensor
    }
}

impl DecoderModel {
    /// The decoder of `config`, whose tensors `get` gives by name and the shape they must have.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] for a configuration that cannot be a decoder; what `get` says;
    /// [`DecoderError::Shape`] or [`DecoderError::NotFloats`] for a tensor of another shape or type.
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
        // Layers come one by one: a number of layers that the file does not have costs nothing.
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

    /// What it is before its weights.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// The features of each token: `[vocabulary, hidden]`.
    pub fn embedding(&self) -> &Matrix {
        &self.embedding
    }

    /// `[context, hidden]`, where positions are learned.
    pub fn positions(&self) -> Option<&Matrix> {
        self.positions.as_ref()
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Of the normalisation after the last layer.
    pub fn final_norm(&self) -> &NormWeights {
        &self.final_norm
    }

    /// What makes the logits, `[vocabulary, hidden]`: the embedding where it is tied.
    pub fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }

    /// Every matrix that values are multiplied by, in the order of the work; the embedding when it makes the logits.
    pub fn products(&self) -> impl Iterator<Item = &Matrix> {
        self.layers.iter().flat_map(Layer::products).chain([self.head()])
    }

    /// The same decoder with the values of every matrix of [`DecoderModel::products`] replaced. The embedding of a
    /// tied model then stays what tokens are looked up in, and makes logits no longer.
    ///
    /// `replace` gives as many values as the matrix has; others are an error of the shape.
    ///
    /// # Errors
    ///
    /// What `replace` says; [`DecoderError::Shape`] when it gives another number of values than the matrix
    /// has.
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
    /// Its matrices in the order of the work.
    pub fn products(&self) -> impl Iterator<Item = &Matrix> {
        let Self { query, key, value, output, gate, up, down, .. } = self;
        [query, key, value, output].into_iter().chain(gate).chain([up, down])
    }

    fn products_mut(&mut self) -> impl Iterator<Item = &mut Matrix> {
        let Self { query, key, value, output, gate, up, down, .. } = self;
        [query, key, value, output].into_iter().chain(gate).chain([up, down])
    }
}

/// Asks for tensors.
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
