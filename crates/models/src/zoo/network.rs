//! [`Network`]: a network of the zoo, with its size.

use npukit_numeric::Tensor;

use crate::zoo::builder::{Builder, Counts, Value};
use crate::zoo::random::Random;

/// Name of every network's single input.
pub const INPUT: &str = "x";

/// A network of the zoo.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Name of the network and of its file.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Shape of its [`INPUT`]: batch, channels, height and width for images.
    pub input: &'static [usize],
    /// Builds the network from the input, and returns the outputs.
    pub(crate) build: fn(&mut Builder, Value) -> Vec<Value>,
}

impl Network {
    /// Returns its size, without generating its weights.
    pub fn counts(&self) -> Counts {
        self.built(Builder::sketch()).counts()
    }

    /// Returns the ONNX file, with weights for `seed`.
    pub fn onnx(&self, seed: u64) -> Vec<u8> {
        self.built(Builder::new(seed)).onnx(self.name)
    }

    /// Returns an input of noise from -1 to 1, which the weights are scaled for.
    pub fn sample(&self, seed: u64) -> Option<Tensor> {
        let mut random = Random::new(seed, self.name);
        let count = self.input.iter().product();
        let values = (0..count).map(|_| random.uniform(-1.0, 1.0) as f32).collect();
        Tensor::from_f32(self.input.to_vec(), values).ok()
    }

    fn built(&self, mut builder: Builder) -> Builder {
        let input = builder.input(INPUT, self.input);
        for output in (self.build)(&mut builder, input) {
            builder.output(&output);
        }
        builder
    }
}
