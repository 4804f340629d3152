//! Language models among the networks: seeded weights that layers share, more than files of the zoo would hold.

use npukit_graph::Graph;
use npukit_graph::decoder::DecoderError;
use npukit_models::gemma3n::{Gemma3n, Gemma3nConfig};

/// Tokens before the one that is computed.
const CACHE: usize = 31;

/// The graph of a token of the model called `name`, when there is one.
pub(super) fn graph(name: &str, seed: u64) -> Option<Result<Graph, DecoderError>> {
    let config = Gemma3nConfig::e4b();
    (config.name == name).then(|| Gemma3n::seeded(config, seed)?.decode(CACHE, CACHE))
}
