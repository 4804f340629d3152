//! [`decoders`]: descriptions of language models.

use npukit::Context;
use npukit::verbs::generate::{Request, accuracy, generate};
use npukit_target::ReadError;

use crate::{absent, check_message};

/// A model of one layer, and texts for its evaluation.
const DESCRIPTION: &[u8] = include_bytes!("../../../fuzz/corpus/decoders/description");
const WEIGHTS: &[u8] = include_bytes!("../../../fuzz/corpus/decoders/weights");
const HELD_OUT: &[u8] = include_bytes!("../../../fuzz/corpus/decoders/held_out");

/// Readers: `d`: the description; `w`: its weights, safetensors; `h`: held-out texts.
pub fn decoders(input: &[u8]) {
    let Some((letter, bytes)) = input.split_first() else { return };
    let (changed, place) = match letter {
        b'd' => ("m.toml", "m.toml"),
        b'w' => ("m.safetensors", "m."),
        b'h' => ("held_out.txt", "held_out.txt"),
        _ => return,
    };
    let reader = |path: &str| -> Result<Vec<u8>, ReadError> {
        match path {
            _ if path == changed => Ok(bytes.to_vec()),
            "m.toml" => Ok(DESCRIPTION[1..].to_vec()),
            "m.safetensors" => Ok(WEIGHTS[1..].to_vec()),
            "held_out.txt" => Ok(HELD_OUT[1..].to_vec()),
            _ => absent(path),
        }
    };
    let context = Context::new(&reader);
    let request = Request { model: Some("m.toml".to_owned()), tokens: Some(2), ..Request::default() };
    let done = match letter {
        b'h' => accuracy(&request, Some("held_out.txt"), context).map(|_| ()),
        _ => generate(&request, "ab", &mut |_| (), context).map(|_| ()),
    };
    if let Err(error) = done {
        check_message(place, &error);
    }
}
