//! Tests of the graph crate.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "main/absurd.rs"]
mod absurd;
#[path = "main/affine.rs"]
mod affine;
#[path = "main/constants.rs"]
mod constants;
#[path = "main/conv.rs"]
mod conv;
#[path = "main/conv_transpose.rs"]
mod conv_transpose;
#[path = "main/decoder.rs"]
mod decoder;
#[path = "main/decoder_limits.rs"]
mod decoder_limits;
#[path = "main/details.rs"]
mod details;
#[path = "main/elementwise.rs"]
mod elementwise;
#[path = "main/equalize.rs"]
mod equalize;
#[path = "main/evaluation.rs"]
mod evaluation;
#[path = "main/forms.rs"]
mod forms;
#[path = "main/growth.rs"]
mod growth;
#[path = "main/indexing.rs"]
mod indexing;
#[path = "main/integer_forms.rs"]
mod integer_forms;
#[path = "main/laws.rs"]
mod laws;
#[path = "main/lifting.rs"]
mod lifting;
#[path = "main/loops.rs"]
mod loops;
#[path = "main/losses.rs"]
mod losses;
#[path = "main/masks.rs"]
mod masks;
#[path = "main/movement.rs"]
mod movement;
#[path = "main/near_forms.rs"]
mod near_forms;
#[path = "main/near_misses.rs"]
mod near_misses;
#[path = "main/near_rotations.rs"]
mod near_rotations;
#[path = "main/normalizations.rs"]
mod normalizations;
#[path = "main/pass_texts.rs"]
mod pass_texts;
#[path = "main/passes.rs"]
mod passes;
#[path = "main/pointwise.rs"]
mod pointwise;
#[path = "main/pooling.rs"]
mod pooling;
#[path = "main/products.rs"]
mod products;
#[path = "main/qdq_scales.rs"]
mod qdq_scales;
#[path = "main/quantize.rs"]
mod quantize;
#[path = "main/random.rs"]
mod random;
#[path = "main/reductions.rs"]
mod reductions;
#[path = "main/rescale.rs"]
mod rescale;
#[path = "main/rescale_roles.rs"]
mod rescale_roles;
#[path = "main/resize.rs"]
mod resize;
#[path = "main/rotary_forms.rs"]
mod rotary_forms;
#[path = "main/rounding.rs"]
mod rounding;
#[path = "main/rounding_moves.rs"]
mod rounding_moves;
#[path = "main/sampling.rs"]
mod sampling;
#[path = "main/shared_heads.rs"]
mod shared_heads;
#[path = "main/sinking.rs"]
mod sinking;
#[path = "main/support.rs"]
mod support;
#[path = "main/types.rs"]
mod types;
#[path = "main/unary.rs"]
mod unary;
#[path = "main/whole_graph.rs"]
mod whole_graph;
#[path = "main/work.rs"]
mod work;
