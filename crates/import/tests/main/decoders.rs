//! Descriptions of decoders and their weights: valid ones, and every invalid form.

use std::collections::BTreeMap;

use npukit_graph::decoder::{Activation, Pairs, Positions};
use npukit_graph::op::GeluForm;
use npukit_import::decoder::{DecoderFileError, read};
use safetensors::Dtype;
use safetensors::tensor::TensorView;

const DESCRIPTION: &str = r#"
name = "small"
weights = "small.safetensors"
layers = 1
hidden = 4
heads = 2
feed_forward = 3
context = 8
activation = "gelu-tanh"
tied_embeddings = true

[norm]
kind = "rms"
epsilon = 1e-6

[positions]
kind = "rotary"
pairs = "halves"

[text]
alphabet = "01 "
stop = "1"
number_width = 2
"#;

type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// Tensors of [`DESCRIPTION`], with all elements 1.
fn tensors() -> Tensors {
    let layer = |name: &str| format!("layers.0.{name}");
    let shapes = [
        ("embedding".to_owned(), vec![3, 4]),
        (layer("attention_norm"), vec![4]),
        (layer("query"), vec![4, 4]),
        (layer("key"), vec![4, 4]),
        (layer("value"), vec![4, 4]),
        (layer("output"), vec![4, 4]),
        (layer("feed_forward_norm"), vec![4]),
        (layer("up"), vec![3, 4]),
        (layer("down"), vec![4, 3]),
        ("final_norm".to_owned(), vec![4]),
    ];
    let ones = |shape: &[usize]| 1f32.to_le_bytes().repeat(shape.iter().product());
    shapes.into_iter().map(|(name, shape)| (name, (Dtype::F32, shape.clone(), ones(&shape)))).collect()
}

fn file(tensors: &Tensors) -> Vec<u8> {
    let view = |(dtype, shape, bytes): &(Dtype, Vec<usize>, Vec<u8>)| {
        let bytes: &'static [u8] = bytes.clone().leak();
        TensorView::new(*dtype, shape.clone(), bytes).unwrap()
    };
    safetensors::serialize(tensors.iter().map(|(name, tensor)| (name, view(tensor))), None).unwrap()
}

/// Error of a description in which `old` is replaced by `new`, with these weights.
fn refused(old: &str, new: &str, tensors: &Tensors) -> DecoderFileError {
    let description = DESCRIPTION.replacen(old, new, 1);
    assert!(old.is_empty() || description != DESCRIPTION, "{old:?} is not in the description");
    read(description.as_bytes(), &|_| Ok(file(tensors))).unwrap_err()
}

#[test]
fn a_description_is_read() {
    let asked = std::cell::RefCell::new(Vec::new());
    let weights = |path: &str| {
        asked.borrow_mut().push(path.to_owned());
        Ok(file(&tensors()))
    };
    let decoder = read(DESCRIPTION.as_bytes(), &weights).unwrap();
    assert_eq!(asked.into_inner(), ["small.safetensors"]);
    let config = decoder.model.config();
    assert_eq!((config.vocabulary, config.kv_heads, config.head, config.tied), (3, 2, 2, true));
    assert_eq!(config.attention_scale, 1.0 / 2f32.sqrt());
    assert_eq!(config.activation, Activation::Gelu(GeluForm::Tanh));
    assert_eq!(config.positions, Positions::Rotary { theta: 10_000.0, pairs: Pairs::Halves });
    let text = decoder.text.clone().unwrap();
    assert_eq!((text.encode("0"), text.stop()), (Ok(vec![2, 0]), Some(1)));
    assert_eq!(decoder.model.layers()[0].up.values(), [1.0; 12]);
    // Values that follow from the others may be stated.
    let stated = "layers = 1\nvocabulary = 3\nkv_heads = 2\nhead = 2";
    let stated = DESCRIPTION.replacen("layers = 1", stated, 1);
    assert_eq!(read(stated.as_bytes(), &|_| Ok(file(&tensors()))), Ok(decoder));
}

#[test]
fn halves_are_read() {
    for (dtype, one) in [(Dtype::F16, 0x3c00u16), (Dtype::BF16, 0x3f80)] {
        let mut tensors = tensors();
        tensors.insert("final_norm".to_owned(), (dtype, vec![4], one.to_le_bytes().repeat(4)));
        let decoder = read(DESCRIPTION.as_bytes(), &|_| Ok(file(&tensors))).unwrap();
        assert_eq!(decoder.model.final_norm().gain.values(), [1.0; 4]);
        decoder.model.prefill(2).unwrap().validate().unwrap();
    }
}

#[test]
fn wrong_descriptions_are_refused_with_their_place() {
    let message = |old: &str, new: &str| refused(old, new, &tensors()).to_string();
    for (old, new, expected) in [
        ("layers = 1", "layers = ", "line 4, column 10 of the description: "),
        ("layers = 1", "layer = 1", "line 4, column 1 of the description: unknown field `layer`, "),
        ("layers = 1", "layers = -1", "line 4, column 10 of the description: invalid value"),
        ("layers = 1", "layers = 0", "`layers` is 0; legal is 1 to "),
        (
            "layers = 1",
            "layers = 1\nkv_heads = 3",
            "`heads` is 2; legal is a multiple of `kv_heads`, which is 3",
        ),
        (
            "layers = 1",
            "layers = 1\nvocabulary = 4",
            "`vocabulary` of the description is 4; legal is the length",
        ),
        (
            "heads = 2",
            "heads = 3",
            "`head` of the description is not given; legal is a number, as `hidden`, 4,",
        ),
        (
            "hidden = 4\nheads = 2",
            "hidden = 0\nheads = 0",
            "`head` of the description is not given; legal is a number, as `hidden`, 0, is not a multiple of `heads`, 0",
        ),
        ("gelu-tanh", "mish", "line 9, column 14 of the description: unknown variant `mish`, "),
        ("pairs = \"halves\"", "", "line 16, column 1 of the description: missing field `pairs`"),
        ("\"1\"", "\"2\"", "`stop` of the description is '2'; legal is a character of the alphabet"),
        (
            "small.s",
            "../small.s",
            "cannot read the weights `../small.safetensors`: the path leaves the folder",
        ),
    ] {
        let found = message(old, new);
        assert!(found.starts_with(expected), "{new:?}: {found}");
    }
    let not_text = read(b"name = \"\xff\"", &|_| Ok(Vec::new()));
    assert_eq!(not_text, Err(DecoderFileError::NotText { offset: 8 }));
    let absent = read(DESCRIPTION.as_bytes(), &|_| Err("absent".to_owned())).unwrap_err();
    assert_eq!(absent.to_string(), "cannot read the weights `small.safetensors`: absent");
}

#[test]
fn wrong_weights_are_refused_by_name() {
    let broken = read(DESCRIPTION.as_bytes(), &|_| Ok(vec![255; 20])).unwrap_err();
    assert!(matches!(broken, DecoderFileError::Format { .. }), "{broken:?}");
    let whole = file(&tensors());
    for cut in 0..whole.len() {
        read(DESCRIPTION.as_bytes(), &|_| Ok(whole[..cut].to_vec())).unwrap_err();
    }

    let mut less = tensors();
    less.remove("layers.0.up");
    let found = refused("", "", &less).to_string();
    assert_eq!(found, "`small.safetensors` has no tensor `layers.0.up`; expected one of shape [3, 4]");
    // A number of layers that is too large costs no more than the present layers.
    let found = refused("layers = 1", "layers = 16777216", &tensors()).to_string();
    assert!(found.contains("no tensor `layers.1.attention_norm`"), "{found}");

    let mut more = tensors();
    more.insert("head".to_owned(), more["embedding"].clone());
    let found = refused("", "", &more).to_string();
    assert_eq!(found, "`small.safetensors` has tensors that the description does not use: head");

    let mut wrong = tensors();
    wrong.insert("final_norm".to_owned(), (Dtype::F32, vec![2, 2], vec![0; 16]));
    let found = refused("", "", &wrong).to_string();
    assert_eq!(found, "tensor `final_norm` has shape [2, 2]; the configuration requires [4]");
    wrong.insert("final_norm".to_owned(), (Dtype::I32, vec![4], vec![0; 16]));
    let found = refused("", "", &wrong).to_string();
    let expected =
        "tensor `final_norm` of `small.safetensors` has elements of I32; legal are F32, F16 and BF16";
    assert_eq!(found, expected);
}
