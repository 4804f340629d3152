//! Language models among the networks: their seeded weights are shared by layers, as separate
//! weights would make the zoo's files too large.

use npukit_graph::Graph;
use npukit_graph::decoder::DecoderError;
use npukit_models::gemma3n::{Gemma3n, Gemma3nConfig};

/// Number of cached tokens before the one that is computed.
const CACHE: usize = 31;

/// Returns the graph for one token of the model called `name`, if it exists.
pub(super) fn graph(name: &str, seed: u64) -> Option<Result<Graph, DecoderError>> {
    let config = Gemma3nConfig::e4b();
    (config.name == name).then(|| Gemma3n::seeded(config, seed)?.decode(CACHE, CACHE))
}
