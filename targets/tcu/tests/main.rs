//! All tests of the TCU that involve more than one module.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "tests print what they skip and measure")]

#[path = "main/artifact.rs"]
mod artifact;
#[path = "main/assembly.rs"]
mod assembly;
#[path = "main/clock.rs"]
mod clock;
#[path = "main/config.rs"]
mod config;
#[path = "main/conform.rs"]
mod conform;
#[path = "main/driven.rs"]
mod driven;
#[path = "main/estimator.rs"]
mod estimator;
#[path = "main/golden.rs"]
mod golden;
#[path = "main/hazard.rs"]
mod hazard;
#[path = "main/isa.rs"]
mod isa;
#[path = "main/lint.rs"]
mod lint;
#[path = "main/literal.rs"]
mod literal;
#[path = "main/lower.rs"]
mod lower;
#[path = "main/machine.rs"]
mod machine;
#[path = "main/meaning.rs"]
mod meaning;
#[path = "main/motion.rs"]
mod motion;
#[path = "main/networks.rs"]
mod networks;
#[path = "main/numerics.rs"]
mod numerics;
#[path = "main/overlapped.rs"]
mod overlapped;
#[path = "main/packed.rs"]
mod packed;
#[path = "main/published.rs"]
mod published;
#[path = "main/seed.rs"]
mod seed;
#[path = "main/sequences.rs"]
mod sequences;
#[path = "main/suite.rs"]
mod suite;
#[path = "main/time.rs"]
mod time;
