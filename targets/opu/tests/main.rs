//! Tests of OPU that need more than one module.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "tests report what they skip")]

#[path = "main/artifact.rs"]
mod artifact;
#[path = "main/assembly.rs"]
mod assembly;
#[path = "main/bars.rs"]
mod bars;
#[path = "main/conform.rs"]
mod conform;
#[path = "main/exec.rs"]
mod exec;
#[path = "main/field.rs"]
mod field;
#[path = "main/isa.rs"]
mod isa;
#[path = "main/lint.rs"]
mod lint;
#[path = "main/lower.rs"]
mod lower;
#[path = "main/machine.rs"]
mod machine;
#[path = "main/mutations.rs"]
mod mutations;
#[path = "main/seed.rs"]
mod seed;
#[path = "main/suite.rs"]
mod suite;
