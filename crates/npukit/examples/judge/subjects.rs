//! Combinations of a network and an instance: [`subjects`].

use std::collections::BTreeMap;

use npukit::Source;

use crate::networks;

/// Network for an instance.
#[derive(Clone)]
pub struct Subject {
    /// Name: the target, a hyphen, and the rest.
    pub name: &'static str,
    instance: &'static str,
    options: &'static [(&'static str, &'static str)],
    network: fn() -> Vec<u8>,
}

/// Files by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Path of a subject's model.
pub const MODEL: &str = "model.onnx";
/// Small array of wide numbers with little memory, so that tiles are small and errors exceed
/// rounding.
const SMALL: (&str, &str) = (
    "small.tarch",
    r#"{"data_type": "FP32BP16", "array_size": 4, "dram0_depth": 16384, "dram1_depth": 16384, "local_depth": 128,
"accumulator_depth": 32, "simd_registers_depth": 1, "stride0_depth": 8, "stride1_depth": 8,
"number_of_threads": 1, "thread_queue_depth": 8}"#,
);

/// Reference device of pccx, with a very small L2.
const DEVICE: (&str, &str) = ("small.toml", include_str!("../../../../targets/pccx/configs/reference.toml"));
/// Size of L2 in the original file and in this one.
const L2: (&str, &str) = ("l2_words = 114688", "l2_words = 56");

impl Subject {
    /// Returns the model, and the files of instances that have some.
    pub fn files(&self) -> Files {
        let (array, text) = SMALL;
        let [(device, whole), words] = [DEVICE, L2];
        let device_text = whole.replace(words.0, words.1);
        let files = [(array, text.to_owned()), (device, device_text)];
        let model = (MODEL.to_owned(), (self.network)());
        files.map(|(name, text)| (name.to_owned(), text.into_bytes())).into_iter().chain([model]).collect()
    }

    /// Returns the source to compile.
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
    include_bytes!("../../assets/digits.onnx").to_vec()
}

/// Returns all subjects; the target is the part of the name before the first hyphen.
pub fn subjects() -> &'static [Subject] {
    const QUICK: &[(&str, &str)] = &[("search", "quick")];
    const LOCAL: &[(&str, &str)] = &[("strategy", "local-vars-and-consts"), ("search", "quick")];
    const ISOLATED: &[(&str, &str)] = &[("strategy", "local-isolated"), ("order", "upstream")];
    const HOST: &[(&str, &str)] = &[("kv", "host"), ("norms", "host")];
    const WORDS: &[(&str, &str)] = &[("weights", "memcpy"), ("scales", "memset")];
    const LONG: &[(&str, &str)] = &[("activations", "16")];
    const ALL: &[Subject] = &[
        subject("tcu-digits", "tcu:pynqz1", &[], digits),
        subject("tcu-branches", "tcu:small.tarch", QUICK, networks::branches),
        subject("tcu-branches-upstream", "tcu:zcu104", ISOLATED, networks::branches),
        subject("tcu-separable", "tcu:small.tarch", QUICK, networks::separable),
        subject("tcu-layers", "tcu:small.tarch", QUICK, networks::layers),
        subject("tcu-moves", "tcu:pynqz1", LOCAL, networks::moves),
        subject("tcu-pointwise", "tcu:small.tarch", QUICK, networks::pointwise),
        subject("tcu-sums", "tcu:small.tarch", QUICK, networks::sums),
        subject("tcu-separable-lanes", "tcu:zcu104", QUICK, networks::separable),
        subject("tcu-padded", "tcu:small.tarch", QUICK, networks::padded),
        subject("tcu-turns", "tcu:small.tarch", QUICK, networks::turns),
        subject("tcu-enlarging", "tcu:pynqz1", QUICK, networks::enlarging),
        subject("opu-digits", "opu:int16", &[], digits),
        subject("opu-branches", "opu:fp32", &[], networks::branches),
        subject("opu-separable", "opu:int16", &[], networks::separable),
        subject("opu-layers", "opu:fp32", &[], networks::layers),
        subject("opu-moves", "opu:fp32", &[], networks::moves),
        subject("opu-sums", "opu:fp32", &[], networks::sums),
        subject("opu-sums-integers", "opu:int16", &[], networks::sums),
        subject("opu-padded", "opu:fp32", &[], networks::padded),
        subject("opu-turns", "opu:fp32", &[], networks::turns),
        subject("opu-picture", "opu:fp32", &[], networks::picture),
        subject("opu-wide", "opu:fp32", &[], networks::wide),
        subject("pccx-layers", "pccx:reference", &[], networks::layers),
        subject("pccx-perceptron", "pccx:extended", &[], networks::perceptron),
        subject("pccx-perceptron-words", "pccx:reference+seed", WORDS, networks::perceptron),
        subject("pccx-perceptron-long", "pccx:reference", LONG, networks::perceptron),
        subject("pccx-attention", "pccx:extended", &[], networks::attention),
        subject("pccx-attention-host", "pccx:reference", HOST, networks::attention),
        subject("pccx-attention-small", "pccx:small.toml", &[], networks::attention),
        subject("pccx-branches", "pccx:reference", &[], networks::branches),
        subject("drra-tiny", "drra:3x1", &[], networks::tiny),
        subject("drra-tiny-wide", "drra:3x4+ext", &[], networks::tiny),
        subject("drra-separable", "drra:3x2+ext", &[], networks::separable),
        subject("drra-perceptron", "drra:3x2+ext", &[], networks::perceptron),
        subject("drra-padded", "drra:3x2+ext", &[], networks::padded),
        subject("drra-turns", "drra:3x1", &[], networks::turns),
        subject("drra-moves", "drra:3x1", &[], networks::moves),
        subject("drra-pointwise", "drra:3x2", &[], networks::pointwise),
    ];
    ALL
}
