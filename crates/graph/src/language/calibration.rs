//! [`Model::calibrate`]: replaces the matrices of a model one by one, for the inputs that a typical
//! text gives them.

use super::attention::Cache;
use super::layer::{activated, add_part, attended, normalized};
use super::weights::Layer;
use super::{DecoderError, Description, Model, Part, Rows};
use crate::decoder::config::refuse;
use crate::quantize::rows::InputMoments;

/// Largest number of tokens of a text that are evaluated together.
const WINDOW: usize = 512;

/// Matrices of a layer with the same inputs.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Index of the layer.
    pub layer: usize,
    /// The matrices, with the part that each of them is.
    pub matrices: &'a [(Part, Rows)],
    /// Second moments of the inputs.
    pub moments: &'a InputMoments,
}

impl Model {
    /// Evaluates a text layer by layer, and calls `replace` for the matrices of each layer, in the
    /// order of their use. The matrices that `replace` returns, of the same shapes, are used from
    /// there on; the model is not changed. The inputs of a matrix thus contain the effects of the
    /// matrices before it.
    ///
    /// The text is evaluated in windows of at most 512 tokens.
    ///
    /// # Errors
    ///
    /// [`DecoderError::NoTokens`] or [`DecoderError::Token`] for the text; [`DecoderError::Config`]
    /// for a model with streams; the errors of `replace`.
    pub fn calibrate<E: From<DecoderError>>(
        &self,
        text: &[usize],
        mut replace: impl FnMut(Group<'_>) -> Result<Vec<Rows>, E>,
    ) -> Result<(), E> {
        let of = &self.description;
        refuse(of.streams.is_some(), "streams", &"present", || "a model without streams".to_owned())?;
        let mut x = Vec::new();
        let windows: Vec<&[usize]> = text.chunks(WINDOW.min(of.limit())).collect();
        if windows.is_empty() {
            return Err(DecoderError::NoTokens.into());
        }
        for window in &windows {
            of.check_tokens(0, window)?;
            x.extend(window.iter().enumerate().flat_map(|(position, &token)| self.embedded(token, position)));
        }
        let lengths: Vec<usize> = windows.iter().map(|window| window.len() * of.hidden).collect();
        for (index, layer) in self.layers.iter().enumerate() {
            let mut step = Step { index, layer: layer.clone(), replace: &mut replace };
            step.run(of, &lengths, &mut x)?;
        }
        Ok(())
    }
}

/// Evaluation of a layer, whose matrices are replaced.
struct Step<'a, F> {
    index: usize,
    layer: Layer,
    replace: &'a mut F,
}

impl<F> Step<'_, F> {
    /// Evaluates the layer for windows with these numbers of values.
    fn run<E>(&mut self, of: &Description, lengths: &[usize], x: &mut [f32]) -> Result<(), E>
    where
        F: FnMut(Group<'_>) -> Result<Vec<Rows>, E>,
    {
        let form = of.layers[self.index];
        let normed = normalized(&self.layer.attention_norm, x);
        self.replaced(&[Part::Query, Part::Key, Part::Value], &normed)?;
        let (mut context, mut first) = (Vec::new(), 0);
        for &length in lengths {
            let window = &normed[first..first + length];
            context.extend(attended(of, &self.layer, form, 0, &mut Cache::default(), window));
            first += length;
        }
        self.replaced(&[Part::Output], &context)?;
        add_part(&self.layer.output, &self.layer.after_attention, &context, x);
        let normed = normalized(&self.layer.feed_forward_norm, x);
        self.replaced(&[Part::Gate, Part::Up], &normed)?;
        let inner = activated(of, &self.layer, None, &normed);
        self.replaced(&[Part::Down], &inner)?;
        add_part(&self.layer.down, &self.layer.after_feed_forward, &inner, x);
        Ok(())
    }

    /// Replaces the matrices of some parts, as far as the layer has them.
    fn replaced<E>(&mut self, parts: &[Part], inputs: &[f32]) -> Result<(), E>
    where
        F: FnMut(Group<'_>) -> Result<Vec<Rows>, E>,
    {
        let mut matrices = Vec::new();
        for &part in parts {
            matrices.extend(self.layer.matrix(part).map(|matrix| (part, matrix.rows.clone())));
        }
        let Some((_, rows)) = matrices.first() else { return Ok(()) };
        let mut moments = InputMoments::new(rows.shape()[1]);
        moments.add(inputs);
        let found = (self.replace)(Group { layer: self.index, matrices: &matrices, moments: &moments })?;
        for ((part, _), rows) in matrices.iter().zip(found) {
            if let Some(matrix) = self.layer.matrix(*part) {
                matrix.rows = rows;
            }
        }
        Ok(())
    }
}
