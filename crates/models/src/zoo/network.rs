//! [`Network`]: a network of the zoo, and what it counts.

use npukit_numeric::Tensor;

use crate::zoo::builder::{Builder, Counts, Value};
use crate::zoo::random::Random;

/// The name of every network's one input.
pub const INPUT: &str = "x";

/// A network.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Sizes of its [`INPUT`]: batch, channels, height and width, or as the network has it.
    pub input: &'static [usize],
    /// From the input to the outputs.
    pub(crate) build: fn(&mut Builder, Value) -> Vec<Value>,
}

impl Network {
    /// How large it is, without making its weights.
    pub fn counts(&self) -> Counts {
        self.built(Builder::sketch()).counts()
    }

    /// The ONNX file, with weights for `seed`.
    pub fn onnx(&self, seed: u64) -> Vec<u8> {
        self.built(Builder::new(seed)).onnx(self.name)
    }

    /// An input of noise from -1 to 1, as the weights are made for.
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
