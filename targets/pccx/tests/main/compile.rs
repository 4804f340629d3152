//! The compiler and the runtime against the reference evaluator.

use std::collections::BTreeMap;

use npukit_graph::decoder::{DecoderError, DecoderModel, Session, likeliest};
use npukit_graph::quantise::rows::Int4Rows;
use npukit_import::decoder;
use npukit_pccx::Config;
use npukit_pccx::generate::Decoder;
use npukit_pccx::lower::Options;

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

/// The root of the mean square error of logits that the number formats explain, next to the logits': 8-bit blocks,
/// BF16 between steps, 4-bit keys and values where the machine attends.
const LOGITS: f64 = 0.2;

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
            assert!(error < LOGITS, "{options:?}: {error}");
            next = vec![likeliest(&taken.logits)];
            answer += &text.decode(&next);
        }
        assert_eq!(answer.trim(), "579", "{options:?}");
    }
}
