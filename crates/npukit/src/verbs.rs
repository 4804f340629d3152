//! The subcommands of `npu` as functions: one module per verb, with a request, a function and a
//! report.
//!
//! A report serializes to the JSON that the subcommand prints with `--json`. All paths, of models
//! and of inputs, are read through the [`Reader`](crate::Reader) of the
//! [`Context`](crate::Context).
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use npukit::verbs::{check::check, zoo::zoo};
//! use npukit::{Context, Source, default_target};
//!
//! let files = BTreeMap::from([("mlp.onnx".to_owned(), zoo("mlp", 0)?.1)]);
//! let report = check(&Source::model("mlp.onnx", default_target().name), Context::new(&files))?;
//! assert!(report.supported && report.problems.is_empty());
//! # Ok::<(), npukit::Error>(())
//! ```

pub mod asm;
pub mod bench;
pub mod bug_report;
pub mod build;
pub mod check;
pub mod compile;
pub mod conform;
pub mod cosim;
pub mod debug;
pub mod demo;
pub mod diff;
pub mod disasm;
pub mod embed;
pub mod eval;
pub mod explain;
pub mod explore;
pub mod generate;
pub mod glossary;
pub mod host;
pub mod isa;
pub mod lint;
pub mod list;
pub mod report;
pub mod rtl;
pub mod run;
pub mod time;
pub mod trace;
pub mod verify;
pub mod version;
pub mod zoo;
