//! Cost of language models from their shapes: equal to the cost of the programs that run.

use std::collections::BTreeMap;
use std::ops::Range;

use npukit_graph::language::Model;
use npukit_import::llm::Checkpoint;
use npukit_import::onnx::Part;
use npukit_pccx::Config;
use npukit_pccx::internals::language::LanguageDecoder;
use npukit_pccx::internals::language_cost::LanguageCost;
use npukit_pccx::internals::lower::Options;
use npukit_pccx::internals::lower::language::LanguageOptions;
use npukit_target::{LanguageStep, LanguageTimeOptions};
use npukit_testing::needs;

use crate::language::{NAMES, checkpoint, model};

fn options(config: &Config, options: &[(&str, &str)]) -> LanguageOptions {
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    LanguageOptions::new(&Options::parse(config, &options).unwrap())
}

/// Returns the shapes of a model of this configuration.
fn shapes(config: &str) -> Model {
    let files = |name: &str, range: Range<u64>| {
        if name != "config.json" {
            return Err("absent".to_owned());
        }
        let place = |offset: u64| (offset as usize).min(config.len());
        let bytes = config.as_bytes()[place(range.start)..place(range.end)].to_vec();
        Ok(Part { bytes, file_bytes: config.len() as u64 })
    };
    Checkpoint::open_shapes("shapes", &files).unwrap().zeros().unwrap()
}

/// Returns the configuration of a small model of a family.
fn config(family: &str, layers: usize) -> String {
    format!(
        r#"{{"model_type": "{family}", "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "num_hidden_layers": {layers}, "intermediate_size": 64, "vocab_size": 70, "sliding_window": 40,
        "max_position_embeddings": 100000, "rms_norm_eps": 1e-6, "layer_norm_epsilon": 1e-5}}"#
    )
}

/// Every family in a folder, in two forms of weights: prefill and a decoded token take the same
/// cycles as in the decoder.
#[needs(NPUKIT_SHARED)]
#[test]
fn shapes_cost_what_the_decoder_counts() {
    for name in NAMES {
        let (zeros, model) = (checkpoint(name).zeros().unwrap(), model(name));
        for (preset, chosen) in [
            ("reference", &[("weights", "8"), ("m_tile", "5")][..]),
            ("extended", &[("weights", "4"), ("kv_bits", "8")]),
        ] {
            let machine = Config::preset(preset).unwrap();
            let options = options(&machine, chosen);
            let mut decoder = LanguageDecoder::new(&machine, options.clone(), model.clone(), 48).unwrap();
            let cost = LanguageCost::new(&machine, &zeros, options).unwrap();
            let prompt: Vec<usize> = (0..20).map(|index| index % 7).collect();
            let prefill = decoder.take(&prompt, false).unwrap().cycles;
            assert_eq!(cost.prefill(20, 1).unwrap().cycles, prefill, "{name} {preset}");
            let decode = decoder.take(&[3], false).unwrap().cycles;
            assert_eq!(cost.decode(21, 1).unwrap().cycles, decode, "{name} {preset}");
        }
    }
}

/// Removes the counts of timed programs.
fn comparable(step: LanguageStep) -> LanguageStep {
    LanguageStep { timed_programs: 0, interpolated: false, ..step }
}

/// Layers that repeat cost the same as if all were compiled, up to an instruction and two cycles
/// for each layer of a program: a layer needs no MEMSET for constants that an earlier one left, and
/// the host pushes an instruction in 1.6 cycles, which are rounded.
#[test]
fn repeated_layers_cost_the_same() {
    for (family, layers) in [
        ("llama", 1),
        ("llama", 2),
        ("llama", 9),
        ("qwen3", 5),
        ("gemma2", 7),
        ("gemma2", 8),
        ("gemma3_text", 14),
        ("gemma3_text", 18),
    ] {
        let model = shapes(&config(family, layers));
        for (preset, chosen) in
            [("reference", &[("weights", "8")][..]), ("extended", &[("weights", "4"), ("m_tile", "8")])]
        {
            let machine = Config::preset(preset).unwrap();
            let options = options(&machine, chosen);
            let cost = LanguageCost::new(&machine, &model, options.clone()).unwrap();
            let literal = LanguageCost::literal(&machine, &model, options).unwrap();
            for (context, batch) in [(1, 1), (50, 1), (90, 3)] {
                let steps = |of: &LanguageCost| {
                    [of.prefill(context, batch).unwrap(), of.decode(context, batch).unwrap()].map(comparable)
                };
                let (found, expected) = (steps(&cost), steps(&literal));
                for (found, expected) in found.iter().zip(&expected) {
                    let name = format!("{family} {layers} {preset} {context} {batch}");
                    let most = layers as u64 * found.programs;
                    let differ = found.cycles.abs_diff(expected.cycles);
                    assert!(differ <= 2 * most, "{name}: {differ} cycles");
                    let more = found.instructions.abs_diff(expected.instructions);
                    assert!(more <= most, "{name}: {more} instructions");
                    let counts = |step: &LanguageStep| (step.programs, step.traffic);
                    assert_eq!(counts(found), counts(expected), "{name}");
                    if (differ, more) == (0, 0) {
                        assert_eq!(found, expected, "{name}");
                    }
                }
            }
        }
    }
}

/// Some positions of a long text are timed: as far from all positions as rounding.
#[test]
fn sampled_positions_are_close_to_all() {
    for (preset, tile) in [("reference", "16"), ("extended", "8")] {
        let machine = Config::preset(preset).unwrap();
        let model = shapes(&config("gemma2", 4));
        let options = options(&machine, &[("weights", "4"), ("m_tile", tile)]);
        let all = LanguageCost::new(&machine, &model, options.clone()).unwrap().timing_at_most(usize::MAX);
        let all = all.prefill(1000, 1).unwrap();
        let some = LanguageCost::new(&machine, &model, options).unwrap().timing_at_most(0);
        let some = some.prefill(1000, 1).unwrap();
        assert!(some.interpolated && !all.interpolated && some.timed_programs < all.timed_programs / 2);
        assert_eq!([some.programs, all.programs], [all.timed_programs; 2]);
        let off = some.cycles as f64 / all.cycles as f64 - 1.0;
        println!(
            "{preset}: {} of {} programs timed, off by {off:e}",
            some.timed_programs, all.timed_programs
        );
        assert!(off.abs() < 2e-4, "{preset}: {off}");
        assert_eq!(some.instructions, all.instructions);
    }
}

/// Forms, approximated functions and interpolated cycles are in the report.
#[test]
fn reports_say_how_programs_compute() {
    let machine = Config::preset("reference").unwrap();
    let notes = |model: &Model, chosen: &[(&str, &str)], most: usize| {
        let cost = LanguageCost::new(&machine, model, options(&machine, chosen)).unwrap();
        let chosen = LanguageTimeOptions { contexts: vec![600], batches: vec![1], options: BTreeMap::new() };
        cost.timing_at_most(most).report(&chosen).notes.join("\n")
    };
    let llama = shapes(&config("llama", 3));
    for (chosen, expected) in [
        (
            &[("weights", "8")][..],
            "layers have 8 bits in two passes; the head has 8 bits in two passes, keys",
        ),
        (&[], "layers have 8 bits in two passes, as the file has no codes"),
        (&[("weights", "4"), ("kv_bits", "4")], "keys and values have 4 bits after a Hadamard matrix"),
    ] {
        let found = notes(&llama, chosen, usize::MAX);
        assert!(found.contains(expected), "{found}");
        assert!(!found.contains("GELU") && !found.contains("interpolated"), "{found}");
    }
    assert!(notes(&llama, &[], 0).contains("interpolated"));
    let gelu = r#"{"model_type": "gpt2", "n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 600,
        "vocab_size": 70, "layer_norm_epsilon": 1e-5, "activation_function": "gelu"}"#;
    let found = notes(&shapes(gelu), &[], usize::MAX);
    assert!(found.contains("GELU is computed in its form with tanh"), "{found}");
}

/// The figures of a report add up, and no cycles are below a lower bound.
#[test]
fn reports_add_up() {
    let machine = Config::preset("extended").unwrap();
    let model = shapes(&config("gemma3_text", 8));
    let cost = LanguageCost::new(&machine, &model, options(&machine, &[])).unwrap();
    let chosen = LanguageTimeOptions { contexts: vec![1, 60], batches: vec![1, 5], options: BTreeMap::new() };
    let report = cost.report(&chosen);
    assert_eq!(report.points.len(), 4);
    for point in report.points {
        for step in [point.prefill.unwrap(), point.decode.unwrap()] {
            assert_eq!(step.parts.iter().map(|part| part.cycles).sum::<u64>(), step.cycles);
            assert_eq!(step.kinds.iter().map(|kind| kind.cycles).sum::<u64>(), step.cycles);
            let layers = step.layers.iter().map(|layers| layers.count.max(1) as u64 * layers.cycles);
            assert_eq!(layers.sum::<u64>(), step.cycles);
            let weights = step.parts.iter().map(|part| part.traffic.weight_bytes);
            assert_eq!(weights.sum::<u64>(), step.traffic.weight_bytes);
            let cached = step.parts.iter().find(|part| part.part == "attention").unwrap().traffic;
            assert_eq!([cached.cache_bytes, cached.weight_bytes], [step.traffic.cache_bytes, 0]);
            assert!(step.distance.unwrap() >= 1.0 && step.bounds[0].cycles <= step.cycles, "{step:?}");
        }
    }
}

/// A batch shares the weights of the layers.
#[test]
fn texts_of_a_batch_share_weights() {
    let machine = Config::preset("extended").unwrap();
    let model = shapes(&config("llama", 4));
    let cost = LanguageCost::new(&machine, &model, options(&machine, &[])).unwrap();
    let [one, four] = [1, 4].map(|batch| cost.decode(30, batch).unwrap());
    let weights = |step: &LanguageStep, part: &str| {
        step.parts.iter().find(|found| found.part == part).unwrap().traffic.weight_bytes
    };
    assert_eq!(weights(&four, "down"), weights(&one, "down"));
    // 70 logits are not whole words, so the logits of each text are computed separately.
    assert_eq!(weights(&four, "logits"), 4 * weights(&one, "logits"));
    let model = shapes(&config("llama", 4).replace("70", "72"));
    let cost = LanguageCost::new(&machine, &model, options(&machine, &[])).unwrap();
    let [one, four] = [1, 4].map(|batch| cost.decode(30, batch).unwrap());
    assert_eq!(weights(&four, "logits"), weights(&one, "logits"));
    assert_eq!(four.traffic.cache_bytes, 4 * one.traffic.cache_bytes);
    assert_eq!((four.rows, four.programs, four.tokens), (4, 1, 4));
}

/// Beyond 65,535 tokens, products with keys and values are divided: cached bytes grow with the
/// tokens, and finding the maximum of all scores takes less than a tenth of the time.
#[test]
fn long_texts_are_timed_in_parts() {
    for (preset, family) in [("reference", "llama"), ("extended", "qwen3"), ("extended", "gemma2")] {
        let machine = Config::preset(preset).unwrap();
        let model = shapes(&config(family, 2));
        let cost = LanguageCost::new(&machine, &model, options(&machine, &[("kv_bits", "8")])).unwrap();
        for batch in [1, 2] {
            let [whole, divided, double] =
                [65_535, 65_536, 131_072].map(|context| cost.decode(context, batch).unwrap());
            let ratio = divided.cycles as f64 / whole.cycles as f64;
            assert!((0.99..1.1).contains(&ratio), "{preset} {family} {batch}: {ratio}");
            let [whole, divided, double] = [whole, divided, double].map(|step| step.traffic.cache_bytes);
            assert!((whole..whole + whole / 1000).contains(&divided), "{whole} {divided}");
            // A window does not grow.
            let most = if family == "gemma2" {
                divided + divided / 2..=2 * divided
            } else {
                2 * divided..=2 * divided
            };
            assert!(most.contains(&double), "{preset} {family}: {divided} {double}");
        }
    }
    // The window keeps the programs short.
    let machine = Config::preset("reference").unwrap();
    let model = shapes(&config("mistral", 2));
    for (context, is_noted) in [(600, false), (65_536, true), (131_073, false)] {
        let cost = LanguageCost::new(&machine, &model, options(&machine, &[])).unwrap().timing_at_most(0);
        let chosen =
            LanguageTimeOptions { contexts: vec![context], batches: vec![1], options: BTreeMap::new() };
        let notes = cost.report(&chosen).notes.join("\n");
        assert_eq!(notes.contains("63488 tokens at a time"), is_noted, "{context}: {notes}");
    }
}

/// The prefill of a batch is that of its texts.
#[test]
fn texts_are_prefilled_one_after_the_other() {
    let machine = Config::preset("reference").unwrap();
    let cost = LanguageCost::new(&machine, &shapes(&config("llama", 2)), options(&machine, &[])).unwrap();
    let points = cost.points(40, &[1, 3]);
    let [one, three] = [0, 1].map(|index| points[index].prefill.clone().unwrap());
    assert_eq!(
        [three.cycles, three.programs, three.traffic.weight_bytes],
        [one.cycles, one.programs, one.traffic.weight_bytes].map(|of_one| 3 * of_one)
    );
    assert_eq!((three.tokens, three.timed_programs), (120, one.timed_programs));
    assert_eq!(three, cost.prefill(40, 3).unwrap());
}

/// Limits of the machine and of a model are named.
#[test]
fn refused_texts_have_reasons() {
    let machine = Config::preset("extended").unwrap();
    let llama = shapes(&config("llama", 3));
    let cost = LanguageCost::new(&machine, &llama, options(&machine, &[])).unwrap();
    let reason = |cost: &LanguageCost, context, batch| cost.points(context, &[batch]).remove(0).refused;
    assert!(
        reason(&cost, 131_073, 1).unwrap().contains("131073 tokens are not timed: legal are 1 to 131072")
    );
    assert!(cost.decode(65_535, 1).unwrap().cycles > cost.decode(60_000, 1).unwrap().cycles);
    let gpt2 = shapes(
        r#"{"model_type": "gpt2", "n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 50,
        "vocab_size": 70, "layer_norm_epsilon": 1e-5}"#,
    );
    let cost = LanguageCost::new(&machine, &gpt2, options(&machine, &[])).unwrap();
    assert!(reason(&cost, 51, 1).unwrap().contains("50 positions"));
    assert_eq!(reason(&cost, 50, 2), None);
    // L2 cannot hold 64 rows of 2048 words each, so the texts are divided.
    let small = Config { l2_words: 2048, ..machine };
    let cost = LanguageCost::new(&small, &llama, options(&small, &[])).unwrap();
    let step = cost.decode(30, 64).unwrap();
    assert!(step.rows < 64 && step.programs == 64_usize.div_ceil(step.rows) as u64, "{step:?}");
    let tiny = Config { l2_words: 64, ..small };
    let cost = LanguageCost::new(&tiny, &llama, options(&tiny, &[])).unwrap();
    assert!(reason(&cost, 30, 1).unwrap().contains("L2"));
}
