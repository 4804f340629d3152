//! The compiler and the runtime against the reference evaluator.

use std::collections::BTreeMap;

use npukit_graph::decoder::{
    Activation, DecoderConfig, DecoderError, DecoderModel, NormKind, Pairs, Positions, Session, likeliest,
};
use npukit_graph::op::GeluForm;
use npukit_graph::quantise::rows::Int4Rows;
use npukit_import::decoder;
use npukit_numeric::Tensor;
use npukit_pccx::Config;
use npukit_pccx::check::unfenced;
use npukit_pccx::generate::Decoder;
use npukit_pccx::lower::{Kv, Options, Weights, compile};

const ADDER: &[u8] = include_bytes!("../../../../crates/npukit/assets/adder.toml");
const WEIGHTS: &[u8] = include_bytes!("../../../../crates/npukit/assets/adder.safetensors");

fn options(config: &Config, asked: &[(&str, &str)]) -> Options {
    let asked: BTreeMap<String, String> =
        asked.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Options::parse(config, &asked).unwrap()
}

/// Every instance with the options that make another program.
fn modes() -> Vec<(Config, Options)> {
    let [base, ext] = ["reference", "extended"].map(|name| Config::preset(name).unwrap());
    [(&base, vec![]), (&ext, vec![]), (&base, vec![("kv", "host")]), (&ext, vec![("kv", "host")])]
        .into_iter()
        .map(|(config, asked)| (config.clone(), options(config, &asked)))
        .collect()
}

fn relative(found: &[f32], expected: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let error: f64 = found.iter().zip(expected).map(|(a, b)| square(f64::from(a - b))).sum();
    let energy: f64 = expected.iter().map(|&b| square(f64::from(b))).sum();
    (error / energy).sqrt()
}

fn dequantised(model: &DecoderModel) -> DecoderModel {
    let replace = |matrix: &npukit_graph::decoder::Matrix| {
        let &[rows, columns] = matrix.shape() else { panic!("{:?}", matrix.shape()) };
        Ok::<_, DecoderError>(Int4Rows::new(rows, columns, matrix.values()).unwrap().dequantised())
    };
    model.with_products(replace).unwrap()
}

/// The most that the number formats explain of the logits' error, the root of its mean square next to theirs: blocks
/// of 8 bits and BF16 between the steps of two layers; with 4-bit keys and values when the machine attends.
fn most(options: &Options) -> f64 {
    if options.kv == Kv::Npu { 0.35 } else { 0.1 }
}

#[test]
fn the_adder_adds() {
    let adder = decoder::read(ADDER, &|_: &str| Ok(WEIGHTS.to_vec())).unwrap();
    let text = adder.text.unwrap();
    for (config, options) in modes() {
        let mut ours = Decoder::new(&config, options, &adder.model, 12).unwrap();
        let mut reference = Session::new(&dequantised(&adder.model), 12).unwrap();
        let (mut next, mut answer) = (text.encode("123+456=").unwrap(), String::new());
        for _ in 0..4 {
            let (taken, expected) = (ours.take(&next).unwrap(), reference.take(&next).unwrap());
            let error = relative(&taken.logits, &expected);
            assert!(error < most(&options), "{options:?}: {error}");
            next = vec![likeliest(&taken.logits)];
            answer += &text.decode(&next);
        }
        assert_eq!(answer.trim(), "579", "{options:?}");
    }
}

/// A decoder of every form, small enough for its steps to be looked at one by one.
fn small(change: impl FnOnce(&mut DecoderConfig)) -> DecoderModel {
    let mut config = DecoderConfig {
        name: "small".to_owned(),
        vocabulary: 13,
        context: 24,
        layers: 2,
        hidden: 64,
        heads: 4,
        kv_heads: 2,
        head: 16,
        feed_forward: 96,
        norm: NormKind::Rms,
        epsilon: 1e-5,
        activation: Activation::Gelu(GeluForm::Tanh),
        gated: true,
        positions: Positions::Rotary { theta: 100.0, pairs: Pairs::Neighbours },
        attention_scale: 0.25,
        tied: false,
    };
    change(&mut config);
    let tensor = |name: &str, shape: &[usize]| {
        let mut state =
            name.bytes().fold(7u32, |state, byte| state.wrapping_mul(31).wrapping_add(byte.into()));
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let count = shape.iter().product();
        // Gains are about 1; matrices keep the size of what they multiply.
        let values = match shape {
            [_] => (0..count).map(|_| 1.0 + 0.2 * next()).collect(),
            _ => (0..count).map(|_| 1.7 * next() / (shape[1] as f32).sqrt()).collect(),
        };
        Ok::<_, DecoderError>(Tensor::from_f32(shape.to_vec(), values).unwrap())
    };
    DecoderModel::new(config, tensor).unwrap()
}

fn forms() -> Vec<DecoderModel> {
    let halves = Positions::Rotary { theta: 10_000.0, pairs: Pairs::Halves };
    vec![
        small(|_| ()),
        small(|config| {
            (config.norm, config.positions, config.gated) = (NormKind::Layer, Positions::Learned, false);
        }),
        small(|config| (config.activation, config.positions) = (Activation::Silu, halves)),
        small(|config| (config.activation, config.kv_heads) = (Activation::Relu, 4)),
        small(|config| (config.positions, config.kv_heads, config.tied) = (Positions::None, 1, true)),
    ]
}

#[test]
fn every_form_of_decoder_is_as_its_dequantised_float() {
    let tokens = [3, 0, 6, 6, 1, 4, 12, 7, 7, 2];
    for model in forms() {
        for (config, options) in modes() {
            let mut ours = Decoder::new(&config, options, &model, 20).unwrap();
            let mut reference = Session::new(&dequantised(&model), 20).unwrap();
            for part in [&tokens[..7], &tokens[7..8], &tokens[8..9], &tokens[9..]] {
                let (taken, expected) = (ours.take(part).unwrap(), reference.take(part).unwrap());
                let error = relative(&taken.logits, &expected);
                assert!(error < most(&options), "{:?} {options:?}: {error}", model.config());
            }
        }
    }
}

#[test]
fn tokens_at_once_and_one_by_one_agree() {
    let model = small(|_| ());
    let tokens: Vec<usize> = (0..20).map(|token| token * 7 % 13).collect();
    for (config, options) in modes() {
        let taken = |tile: usize| {
            let options = Options { m_tile: tile, ..options };
            let mut ours = Decoder::new(&config, options, &model, 20).unwrap();
            ours.take(&tokens).unwrap()
        };
        let (all, tiles, single) = (taken(32), taken(8), taken(1));
        assert_eq!(all.logits, single.logits, "{options:?}");
        assert_eq!(tiles.logits, single.logits, "{options:?}");
        assert!(all.cycles < single.cycles, "{} {}", all.cycles, single.cycles);
    }
}

#[test]
fn no_program_depends_on_what_is_under_way() {
    for model in forms() {
        for (config, options) in modes() {
            for (cache, length) in [(0, 9), (9, 1), (8, 3)] {
                let graph = model.extend(cache, length).unwrap();
                let program = compile(&config, &graph, &options, &mut Weights::default()).unwrap().program;
                program.check().unwrap();
                let syncs: Vec<u32> = program.host_ops.iter().map(|op| op.position).collect();
                assert_eq!(unfenced(&program.code, &syncs), [], "{options:?}");
            }
        }
    }
}
