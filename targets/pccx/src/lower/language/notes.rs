//! Notes on the forms in which a machine has a language model: [`Language::notes`].

use npukit_graph::language::Activation;
use npukit_graph::op::GeluForm;

use super::{Form, Language};
use crate::lower::limits::LARGEST;

impl Language {
    /// Returns notes on the forms of weights, keys and values, and on functions that the machine
    /// approximates.
    pub fn notes(&self) -> Vec<String> {
        let head = match self.options.head {
            Form::Four => "4 bits",
            Form::Eight | Form::File => "8 bits in two passes",
        };
        let cached = match self.options.kv_bits {
            4 => "4 bits after a Hadamard matrix",
            _ => "8 bits in two passes",
        };
        let layers = self.form_of_layers();
        let mut notes =
            vec![format!("layers have {layers}; the head has {head}, keys and values have {cached}")];
        if self.options.k_part < LARGEST {
            let most = self.options.k_part;
            notes.push(format!("products have at most {most} columns: longer ones accumulate their parts"));
        }
        if self.model.description().activation == Activation::Gelu(GeluForm::Exact) {
            notes.push(
                "GELU is computed in its form with tanh, which differs from the model's by at most 0.0005"
                    .to_owned(),
            );
        }
        notes
    }

    /// Returns the form of the weights in the layers.
    fn form_of_layers(&self) -> &'static str {
        let has = |form: Form| {
            self.matrices.iter().any(|((layer, _), matrix)| layer.is_some() && matrix.form == form)
        };
        match self.options.form {
            Form::Eight => "8 bits in two passes",
            Form::Four if self.options.calibration.is_empty() => "4 bits of the rotated model",
            Form::Four => "4 bits of the rotated model, chosen with a text",
            Form::File if !has(Form::File) => "8 bits in two passes, as the file has no codes of 4 bits",
            Form::File if has(Form::Eight) => "the file's codes, or 8 bits where these cannot be kept",
            Form::File => "the file's codes",
        }
    }
}
