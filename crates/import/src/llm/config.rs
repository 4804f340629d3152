//! Descriptions from the keys of a `config.json`: [`description`].

use npukit_graph::language::{
    Activation, Description, LayerForm, Pairs, Rotation, Scaling, Streams, Structure, normal_quantile,
};
use npukit_graph::op::GeluForm;
use serde_json::{Map, Value};

use super::LlmError;
use super::family::Family;
use super::keys::Keys;

/// Key of the standard deviations that gates must exceed, which only a GGUF file has.
pub(super) const DEVIATIONS: &str = "activation_sparsity_scale";
/// Key of the kind of each layer.
pub(super) const LAYER_TYPES: &str = "layer_types";
/// Largest number of layers.
pub(super) const MAX_LAYERS: usize = 4096;

/// Keys that change what a model computes, with the only supported value.
const FIXED: &[(&str, bool)] = &[
    ("scale_attn_by_inverse_layer_idx", false),
    ("scale_attn_weights", true),
    ("use_bidirectional_attention", false),
    ("add_cross_attention", false),
];

/// Returns the description of a model called `name`. `pairs` are the features that are rotated
/// together.
pub(super) fn description(
    name: &str,
    family: &Family,
    pairs: Pairs,
    keys: &Keys<'_>,
) -> Result<Description, LlmError> {
    for &(key, only) in FIXED {
        if keys.truth(key)? == Some(!only) {
            return Err(keys.wrong(key, (!only).to_string(), &only.to_string()));
        }
    }
    if keys.object("quantization_config")?.is_some() {
        return Err(keys.wrong("quantization_config", "present", "no such key, with weights as floats"));
    }
    if let Some(other) = keys.text(&["position_embedding_type"])?.filter(|kind| *kind != "absolute") {
        return Err(keys.wrong("position_embedding_type", other, "absolute"));
    }
    let hidden = keys.needed_size(&["hidden_size", "n_embd"])?;
    let heads = keys.needed_size(&["num_attention_heads", "n_head"])?;
    let head = match keys.size(&["head_dim"])? {
        Some(head) => head,
        None if heads > 0 && hidden.is_multiple_of(heads) => hidden / heads,
        None => {
            return Err(keys.wrong(
                "head_dim",
                "missing",
                "a number, as heads do not divide the hidden size",
            ));
        }
    };
    let context = keys.needed_size(&["max_position_embeddings", "n_positions"])?;
    let layers = keys.needed_size(&["num_hidden_layers", "n_layer"])?;
    let epsilon = keys.number(&["rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps"])?;
    let usual = if family.unscaled_attention { 1.0 } else { head as f64 };
    let scale = keys.number(&["query_pre_attn_scalar"])?.unwrap_or(usual);
    Ok(Description {
        name: name.to_owned(),
        structure: structure(family, keys)?,
        vocabulary: keys.needed_size(&["vocab_size"])?,
        context,
        hidden,
        // GPT-2 does not state its usual size.
        feed_forward: keys.equal_size(&["intermediate_size", "n_inner"])?.unwrap_or(hidden.saturating_mul(4)),
        heads,
        kv_heads: keys.size(&["num_key_value_heads"])?.unwrap_or(heads),
        head,
        layers: forms(family, layers, keys)?,
        rotations: rotations(family, head, context, keys)?,
        pairs,
        learned_positions: family.learned_positions,
        norm: family.norm,
        epsilon: epsilon.ok_or_else(|| keys.wrong("rms_norm_eps", "missing", "a number"))? as f32,
        query_key_norms: family.query_key_norms,
        norms_after: family.norms_after,
        activation: activation(family, keys)?,
        gated: family.gated,
        tied: keys.truth("tie_word_embeddings")?.unwrap_or(family.tied),
        embedding_scale: if family.scaled_embeddings { (hidden as f32).sqrt() } else { 1.0 },
        attention_scale: (1.0 / scale.sqrt()) as f32,
        attention_cap: keys.number(&["attn_logit_softcapping"])?.map(|cap| cap as f32),
        final_cap: keys.number(&["final_logit_softcapping"])?.map(|cap| cap as f32),
        streams: family.streams.then(|| streams(layers, keys)).transpose()?,
    })
}

fn structure(family: &Family, keys: &Keys<'_>) -> Result<Structure, LlmError> {
    if !family.encoder {
        return Ok(Structure::Decoder);
    }
    if keys.truth("is_decoder")? == Some(true) {
        return Err(keys.wrong("is_decoder", "true", "false"));
    }
    Ok(Structure::Encoder { token_types: keys.needed_size(&["type_vocab_size"])? })
}

fn streams(layers: usize, keys: &Keys<'_>) -> Result<Streams, LlmError> {
    let shared = keys.size(&["num_kv_shared_layers"])?.unwrap_or(0);
    Ok(Streams {
        count: keys.needed_size(&["altup_num_inputs"])?,
        active: keys.needed_size(&["altup_active_idx"])?,
        scales_active: keys.truth("altup_correct_scale")?.unwrap_or(true),
        low_rank: keys.needed_size(&["laurel_rank"])?,
        input: keys.needed_size(&["hidden_size_per_layer_input"])?,
        input_vocabulary: keys.needed_size(&["vocab_size_per_layer_input"])?,
        kv_layers: layers.saturating_sub(shared),
        gate_deviations: gate_deviations(layers, keys)?,
    })
}

/// Returns the standard deviations that gates must exceed, from the shares of gates that become 0
/// or, in a GGUF file, as they are.
fn gate_deviations(layers: usize, keys: &Keys<'_>) -> Result<Vec<Option<f32>>, LlmError> {
    const SPARSITY: &str = "activation_sparsity_pattern";
    if let Some(deviations) = keys.numbers(DEVIATIONS)? {
        let limit = |deviation: f64| Some(deviation as f32).filter(|limit| limit.is_finite());
        return Ok(deviations.into_iter().map(limit).collect());
    }
    // Default: without the key, no gate has a limit.
    let shares = keys.numbers(SPARSITY)?.unwrap_or_else(|| vec![0.0; layers.min(MAX_LAYERS)]);
    match shares.iter().find(|share| !(0.0..1.0).contains(*share)) {
        Some(share) => Err(keys.wrong(SPARSITY, share.to_string(), "numbers from 0 to less than 1")),
        None => {
            Ok(shares.iter().map(|&share| (share > 0.0).then(|| normal_quantile(share) as f32)).collect())
        }
    }
}

fn activation(family: &Family, keys: &Keys<'_>) -> Result<Activation, LlmError> {
    let names = ["hidden_activation", "hidden_act", "activation_function"];
    let stated = keys.text(&names)?.filter(|_| family.states_activation);
    Ok(match stated {
        None => family.activation,
        Some("silu" | "swish") => Activation::Silu,
        Some("gelu_new" | "gelu_pytorch_tanh") => Activation::Gelu(GeluForm::Tanh),
        Some("gelu") => Activation::Gelu(GeluForm::Exact),
        Some("relu") => Activation::Relu,
        Some(other) => {
            return Err(keys.wrong("hidden_act", other, "silu, gelu, gelu_new, gelu_pytorch_tanh or relu"));
        }
    })
}

pub(super) const FULL: &str = "full_attention";
pub(super) const SLIDING: &str = "sliding_attention";

fn forms(family: &Family, layers: usize, keys: &Keys<'_>) -> Result<Vec<LayerForm>, LlmError> {
    // Sizes are checked later; no memory is reserved for a number that no model has.
    if layers > MAX_LAYERS {
        return Err(keys.wrong("num_hidden_layers", layers.to_string(), &format!("at most {MAX_LAYERS}")));
    }
    let used = keys.truth("use_sliding_window")?.unwrap_or(false);
    let types = keys.texts(LAYER_TYPES)?;
    if let Some(types) = &types {
        let legal = format!("{layers} times {FULL} or {SLIDING}");
        if types.len() != layers || types.iter().any(|own| ![FULL, SLIDING].contains(own)) {
            return Err(keys.wrong(LAYER_TYPES, types.join(", "), &legal));
        }
    }
    let window = keys.size(&["sliding_window"])?;
    let form = |layer: usize| {
        let stated = types.as_ref().map(|types| types[layer] == SLIDING);
        let is_sliding = stated.unwrap_or_else(|| family.has_window(layer, used));
        let rotation = match family.window_theta {
            _ if family.learned_positions => None,
            Some(_) => Some(usize::from(is_sliding)),
            None => Some(0),
        };
        LayerForm { window: window.filter(|_| is_sliding), rotation }
    };
    Ok((0..layers).map(form).collect())
}

/// Returns the rotation of all layers or, for a family with two bases, of layers without and with a
/// window.
fn rotations(
    family: &Family,
    head: usize,
    context: usize,
    keys: &Keys<'_>,
) -> Result<Vec<Rotation>, LlmError> {
    if family.learned_positions {
        return Ok(Vec::new());
    }
    let none = Map::new();
    let parameters = keys.object("rope_parameters")?.unwrap_or(&none);
    let of_layers = |name: &str| parameters.get(name).and_then(Value::as_object);
    // Older files have the keys of the first object in the configuration itself.
    let theta = keys.number(&["rope_theta"])?;
    let scaling = keys.object("rope_scaling")?;
    let full = of_layers(FULL).unwrap_or(parameters);
    let own = keys.within(full);
    let theta = own.number(&["rope_theta"])?.or(theta).unwrap_or(10_000.0);
    let share = own.number(&["partial_rotary_factor"])?.or(keys.number(&["partial_rotary_factor"])?);
    let features = (head as f64 * share.unwrap_or(1.0)) as usize;
    let scaled = keys.within(scaling.unwrap_or(full));
    let rotation = Rotation { theta, features, scaling: self::scaling(context, &scaled, keys)? };
    let Some(usual) = family.window_theta else { return Ok(vec![rotation]) };
    let local = match of_layers(SLIDING) {
        Some(local) => keys.within(local).number(&["rope_theta"])?,
        None => keys.number(&["rope_local_base_freq"])?,
    };
    let local = Rotation { theta: local.unwrap_or(usual), features, scaling: Scaling::None };
    Ok(vec![rotation, local])
}

/// Returns the scaling that `own` states; `keys` has the keys of the whole configuration.
fn scaling(context: usize, own: &Keys<'_>, keys: &Keys<'_>) -> Result<Scaling, LlmError> {
    let factor = || own.needed_number("factor");
    const ORIGINAL: &str = "original_max_position_embeddings";
    let original = match own.size(&[ORIGINAL])? {
        Some(original) => original,
        None => keys.size(&[ORIGINAL])?.unwrap_or(context),
    };
    let attention = own.number(&["attention_factor"])?;
    Ok(match own.text(&["rope_type", "type"])? {
        None | Some("default" | "none") => Scaling::None,
        Some("linear") => Scaling::Linear { factor: factor()? },
        Some("dynamic") => Scaling::Dynamic { factor: factor()?, context },
        Some("llama3") => Scaling::Llama3 {
            factor: factor()?,
            low: own.needed_number("low_freq_factor")?,
            high: own.needed_number("high_freq_factor")?,
            context: original as f64,
        },
        Some("yarn") => Scaling::Yarn {
            factor: factor()?,
            magnitude: match attention {
                Some(attention) => attention,
                None => yarn_magnitude(factor()?, own)?,
            },
            fast: own.number(&["beta_fast"])?.unwrap_or(32.0),
            slow: own.number(&["beta_slow"])?.unwrap_or(1.0),
            truncate: own.truth("truncate")?.unwrap_or(true),
            context: original as f64,
        },
        Some("longrope" | "su") => {
            let factor = own.number(&["factor"])?.unwrap_or(context as f64 / original as f64);
            let usual = if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / (original as f64).ln()).sqrt() };
            Scaling::Long {
                short: own.needed_numbers("short_factor")?,
                long: own.needed_numbers("long_factor")?,
                magnitude: attention.unwrap_or(usual),
                context: original,
            }
        }
        Some(other) => {
            return Err(own.wrong("rope_type", other, "default, linear, dynamic, llama3, yarn or longrope"));
        }
    })
}

/// Returns the factor that YaRN applies to rotated values, for positions divided by `factor`.
pub(super) fn yarn(factor: f64, scale: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 }
}

fn yarn_magnitude(factor: f64, own: &Keys<'_>) -> Result<f64, LlmError> {
    let magnitude = |scale: f64| yarn(factor, scale);
    let [scale, all] = [own.number(&["mscale"])?, own.number(&["mscale_all_dim"])?];
    Ok(match (scale, all) {
        (Some(scale), Some(all)) if scale != 0.0 && all != 0.0 => magnitude(scale) / magnitude(all),
        _ => magnitude(1.0),
    })
}
