//! [`subjects`]: which network is compiled for which instance.

use std::collections::BTreeMap;

use npukit::Source;

use crate::networks;

/// A network for an instance.
#[derive(Clone)]
pub struct Subject {
    /// The target, and the rest of its name behind a hyphen.
    pub name: &'static str,
    instance: &'static str,
    options: &'static [(&'static str, &'static str)],
    network: fn() -> Vec<u8>,
}

/// Files by their paths.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The path of a subject's model.
pub const MODEL: &str = "model.onnx";
/// A small array of long numbers with little memory: tiles are small, and an error is more than rounding.
const SMALL: (&str, &str) = (
    "small.tarch",
    r#"{"data_type": "FP32BP16", "array_size": 4, "dram0_depth": 16384, "dram1_depth": 16384, "local_depth": 128,
"accumulator_depth": 32, "simd_registers_depth": 1, "stride0_depth": 8, "stride1_depth": 8,
"number_of_threads": 1, "thread_queue_depth": 8}"#,
);

impl Subject {
    /// The model, and the instance where it has a file.
    pub fn files(&self) -> Files {
        let (name, text) = SMALL;
        [(MODEL.to_owned(), (self.network)()), (name.to_owned(), text.as_bytes().to_vec())].into()
    }

    /// What to compile.
    pub fn source(&self) -> Source {
        let options = self.options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Source { options, ..Source::model(MODEL, self.instance) }
    }
}

const fn subject(
    name: &'static str,
    instance: &'static str,
    options: &'static [(&'static str, &'static str)],
    network: fn() -> Vec<u8>,
) -> Subject {
    Subject { name, instance, options, network }
}

fn digits() -> Vec<u8> {
    include_bytes!("../../../crates/npukit/assets/digits.onnx").to_vec()
}

/// All subjects; the target is before the first hyphen of a name.
pub fn subjects() -> &'static [Subject] {
    const QUICK: &[(&str, &str)] = &[("search", "quick")];
    const LOCAL: &[(&str, &str)] = &[("strategy", "local-vars-and-consts"), ("search", "quick")];
    const ISOLATED: &[(&str, &str)] = &[("strategy", "local-isolated"), ("order", "upstream")];
    const HOST: &[(&str, &str)] = &[("kv", "host"), ("norms", "host"), ("scales", "memset")];
    const WORDS: &[(&str, &str)] = &[("weights", "memcpy"), ("activations", "16")];
    const ALL: &[Subject] = &[
        subject("tcu-digits", "tcu:pynqz1", &[], digits),
        subject("tcu-branches", "tcu:small.tarch", QUICK, networks::branches),
        subject("tcu-branches-upstream", "tcu:zcu104", ISOLATED, networks::branches),
        subject("tcu-separable", "tcu:small.tarch", QUICK, networks::separable),
        subject("tcu-layers", "tcu:small.tarch", QUICK, networks::layers),
        subject("tcu-moves", "tcu:small.tarch", LOCAL, networks::moves),
        subject("tcu-pointwise", "tcu:small.tarch", QUICK, networks::pointwise),
        subject("tcu-enlarging", "tcu:pynqz1", QUICK, networks::enlarging),
        subject("opu-digits", "opu:reference", &[], digits),
        subject("opu-branches", "opu:fp32", &[], networks::branches),
        subject("opu-separable", "opu:int16", &[], networks::separable),
        subject("opu-layers", "opu:fp32", &[], networks::layers),
        subject("opu-moves", "opu:fp32", &[], networks::moves),
        subject("opu-pointwise", "opu:fp32", &[], networks::pointwise),
        subject("pccx-layers", "pccx:reference", &[], networks::layers),
        subject("pccx-perceptron", "pccx:extended", &[], networks::perceptron),
        subject("pccx-perceptron-words", "pccx:reference", WORDS, networks::perceptron),
        subject("pccx-attention", "pccx:extended", &[], networks::attention),
        subject("pccx-attention-host", "pccx:reference", HOST, networks::attention),
        subject("pccx-branches", "pccx:reference", &[], networks::branches),
        subject("drra-tiny", "drra:3x1", &[], networks::tiny),
        subject("drra-tiny-wide", "drra:3x4+ext", &[], networks::tiny),
        subject("drra-separable", "drra:3x2+ext", &[], networks::separable),
        subject("drra-perceptron", "drra:3x2+ext", &[], networks::perceptron),
        subject("drra-moves", "drra:3x1", &[], networks::moves),
        subject("drra-pointwise", "drra:3x2", &[], networks::pointwise),
    ];
    ALL
}
