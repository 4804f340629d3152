//! Choices of a schedule, cached for the next compilation of the same model. [`scheduled`]
//! reproduces the program from them, instruction by instruction, without a search.

use std::hash::{Hash, Hasher};

use npukit_target::digest;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cost::Minimize;
use super::{Effort, Scheduled};
use crate::config::Config;
use crate::lower::error::LowerError;
use crate::lower::layers::hir::{Layer, Model};
use crate::lower::memory::Strategy;
use crate::lower::memory::object::Object;
use crate::lower::schedule::tiling::Tiling;
use crate::lower::{Options, schedule};

/// Choices for a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// Where variables and constants are stored.
    pub strategy: Strategy,
    /// Whether local memory evicts the vectors needed latest, instead of the least recently used
    /// vectors.
    pub by_next_use: bool,
    /// Tiling of each layer.
    pub tilings: Vec<Tiling>,
}

impl Choices {
    /// Whether the choices have a valid tiling for each layer of the model. They can belong to
    /// another model with the same key, and a file can contain anything.
    fn are_of(&self, model: &Model) -> bool {
        let fits = |(tiling, layer): (&Tiling, &Layer)| {
            (1..=layer.pixels.max(1)).contains(&tiling.pixels)
                && (1..=layer.blocks.max(1)).contains(&tiling.blocks)
        };
        self.tilings.len() == model.layers.len() && self.tilings.iter().zip(&model.layers).all(fits)
    }
}

/// Returns the cheapest schedule, from the cache or by a search whose result is then cached. The
/// result of a quick search is not cached. A draft returns the first schedule that fits.
///
/// # Errors
///
/// Fails like [`schedule::cheapest`].
pub fn scheduled(
    model: &Model,
    config: &Config,
    options: &Options,
    minimize: Minimize,
) -> Result<Scheduled, LowerError> {
    if options.draft {
        return schedule::draft(model, config, options.strategy);
    }
    if options.effort == Effort::Quick {
        return schedule::cheapest(model, config, options.strategy, minimize, Effort::Quick);
    }
    let content = || (config, options.strategy, minimize, Content(model));
    let key = options.cache.key("tcu schedule", content);
    let is_asked = |known: &Choices| options.strategy.is_none_or(|asked| asked == known.strategy);
    let known = key.and_then(|key| options.cache.find(key));
    let known = known.filter(|known: &Choices| known.are_of(model) && is_asked(known));
    if let Some(known) = known
        && let Ok(again) = schedule::again(model, config, options.strategy, known, minimize)
    {
        tracing::info!(strategy = again.plan.strategy.name(), cycles = again.cycles, "schedule known");
        return Ok(again);
    }
    let found = schedule::cheapest(model, config, options.strategy, minimize, Effort::Thorough)?;
    if let Some(key) = key {
        options.cache.keep(key, &found.choices());
    }
    Ok(found)
}

/// Inputs that determine a schedule: the model without names and host steps.
struct Content<'a>(&'a Model);

impl Hash for Content<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Model { objects, layers, inputs, outputs, host_steps: _ } = self.0;
        inputs.iter().chain(outputs).for_each(|port| port.object.hash(state));
        let objects: Vec<&Object> = objects.iter().map(|(_, object)| object).collect();
        // The constants of a large network have a hundred megabytes, so all cores compute the hash.
        let digests = |object: &&Object| digest(&(object.kind, object.vectors, &object.data));
        objects.par_iter().map(digests).collect::<Vec<_>>().hash(state);
        let digests = |layer: &Layer| digest(&(layer.pixels, layer.blocks, layer.kept, &layer.steps));
        layers.par_iter().map(digests).collect::<Vec<_>>().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use npukit_target::Cache;

    use super::*;
    use crate::config::ClockParams;
    use crate::lower::schedule::search::tests::{config, model};

    /// Programs from the cache equal programs from a search, for every cost measure and strategy.
    #[test]
    fn what_is_known_is_written_again_as_it_was() {
        let cache = Cache::new("test".to_owned(), None);
        let minimize = [Minimize::Estimator, Minimize::Clock(ClockParams::with_latency(20))];
        let strategies = [None, Some(Strategy::LocalVars), Some(Strategy::LocalIsolated)];
        for config in [config(), Config { local_depth: 200, ..config() }] {
            let model = model(&config);
            for (minimize, strategy) in minimize.iter().flat_map(|&m| strategies.map(|s| (m, s))) {
                let options = Options { strategy, cache: cache.clone(), ..Options::default() };
                let found = schedule::cheapest(&model, &config, strategy, minimize, Effort::Thorough)
                    .expect("it fits");
                let first = scheduled(&model, &config, &options, minimize).expect("it fits");
                let again = schedule::again(&model, &config, strategy, found.choices(), minimize);
                let again = again.expect("the schedule is cached");
                let second = scheduled(&model, &config, &options, minimize).expect("it fits");
                for other in [&first, &again, &second] {
                    assert_eq!((&other.ops, other.cycles), (&found.ops, found.cycles));
                    assert_eq!(other.choices(), found.choices());
                }
            }
        }
    }

    /// Choices that do not fit the model, such as choices for another model with the same key, are
    /// searched again.
    #[test]
    fn what_does_not_fit_is_searched_for() {
        let (config, cache) = (config(), Cache::new("test".to_owned(), None));
        let model = model(&config);
        let (options, minimize) = (Options { cache, ..Options::default() }, Minimize::Estimator);
        let found = scheduled(&model, &config, &options, minimize).expect("it fits");
        let content = || (&config, options.strategy, minimize, Content(&model));
        let key = options.cache.key("tcu schedule", content).expect("it keeps");
        assert_eq!(options.cache.find::<Choices>(key), Some(found.choices()));
        let whole = Tiling { pixels: 25, blocks: 2, blocks_outer: true };
        let (no_pixels, no_blocks) = (Tiling { pixels: 0, ..whole }, Tiling { blocks: 0, ..whole });
        let larger = Tiling { pixels: 26, ..whole };
        for tilings in [vec![], vec![larger], vec![no_pixels], vec![no_blocks], vec![whole; 2], vec![whole]] {
            options.cache.keep(key, &Choices { tilings, ..found.choices() });
            let again = scheduled(&model, &config, &options, minimize).expect("it fits");
            assert_eq!(again.ops, found.ops);
        }
    }

    /// The key depends on contents, not on names.
    #[test]
    fn content_has_no_names() {
        let config = config();
        let (model, mut other) = (model(&config), model(&config));
        let digest = |model: &Model| digest(&Content(model));
        other.layers[0].nodes = vec!["another".to_owned()];
        assert_eq!(digest(&model), digest(&other));
        other.layers[0].pixels -= 1;
        assert_ne!(digest(&model), digest(&other));
    }
}
