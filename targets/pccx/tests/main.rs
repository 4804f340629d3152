//! All tests of this crate, in one binary.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they skip and measure")]

#[path = "main/artifact.rs"]
mod artifact;
#[path = "main/assembly.rs"]
mod assembly;
#[path = "main/attention.rs"]
mod attention;
#[path = "main/attention_bias.rs"]
mod attention_bias;
#[path = "main/attention_forms.rs"]
mod attention_forms;
#[path = "main/check.rs"]
mod check;
#[path = "main/compile.rs"]
mod compile;
#[path = "main/conform.rs"]
mod conform;
#[path = "main/conv.rs"]
mod conv;
#[path = "main/exact.rs"]
mod exact;
#[path = "main/gemma3n.rs"]
mod gemma3n;
#[path = "main/host.rs"]
mod host;
#[path = "main/isa.rs"]
mod isa;
#[path = "main/language.rs"]
mod language;
#[path = "main/language_cost.rs"]
mod language_cost;
#[path = "main/lint.rs"]
mod lint;
#[path = "main/literal.rs"]
mod literal;
#[path = "main/machine.rs"]
mod machine;
#[path = "main/net.rs"]
mod net;
#[path = "main/networks.rs"]
mod networks;
#[path = "main/norms.rs"]
mod norms;
#[path = "main/paths.rs"]
mod paths;
#[path = "main/program.rs"]
mod program;
#[path = "main/readings.rs"]
mod readings;
#[path = "main/reasons.rs"]
mod reasons;
#[path = "main/room.rs"]
mod room;
#[path = "main/runtime.rs"]
mod runtime;
#[path = "main/sources.rs"]
mod sources;
#[path = "main/steps.rs"]
mod steps;
#[path = "main/suite.rs"]
mod suite;
#[path = "main/time.rs"]
mod time;
#[path = "main/tiny.rs"]
mod tiny;
#[path = "main/twice.rs"]
mod twice;
#[path = "main/unwritten.rs"]
mod unwritten;
#[path = "main/weight_bits.rs"]
mod weight_bits;
