//! Tests of DRRA that need several modules or external files.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "tests print what they skip")]

#[path = "main/artifact.rs"]
mod artifact;
#[path = "main/asm.rs"]
mod asm;
#[path = "main/assembly.rs"]
mod assembly;
#[path = "main/config.rs"]
mod config;
#[path = "main/conform.rs"]
mod conform;
#[path = "main/field.rs"]
mod field;
#[path = "main/generator.rs"]
mod generator;
#[path = "main/golden.rs"]
mod golden;
#[path = "main/isa.rs"]
mod isa;
#[path = "main/lint.rs"]
mod lint;
#[path = "main/lower.rs"]
mod lower;
#[path = "main/machine.rs"]
mod machine;
#[path = "main/motion.rs"]
mod motion;
#[path = "main/mutations.rs"]
mod mutations;
#[path = "main/networks.rs"]
mod networks;
#[path = "main/operators.rs"]
mod operators;
#[path = "main/pasm.rs"]
mod pasm;
#[path = "main/plan.rs"]
mod plan;
#[path = "main/program.rs"]
mod program;
#[path = "main/released.rs"]
mod released;
#[path = "main/run.rs"]
mod run;
#[path = "main/scheduler.rs"]
mod scheduler;
#[path = "main/seed.rs"]
mod seed;
#[path = "main/suite.rs"]
mod suite;
