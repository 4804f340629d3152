//! Tests of the `npu` command, run as a user runs it.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "main/assembly.rs"]
mod assembly;
#[path = "main/bad_input.rs"]
mod bad_input;
#[path = "main/bench.rs"]
mod bench;
#[path = "main/boards.rs"]
mod boards;
#[path = "main/bug_report.rs"]
mod bug_report;
#[path = "main/build.rs"]
mod build;
#[path = "main/cache.rs"]
mod cache;
#[path = "main/colors.rs"]
mod colors;
#[path = "main/commands.rs"]
mod commands;
#[path = "main/faults.rs"]
mod faults;
#[path = "main/filetests.rs"]
mod filetests;
#[path = "main/generate.rs"]
mod generate;
#[path = "main/host.rs"]
mod host;
#[path = "main/labels.rs"]
mod labels;
#[path = "main/listings.rs"]
mod listings;
#[path = "main/names.rs"]
mod names;
#[path = "main/new_users.rs"]
mod new_users;
#[path = "main/npu.rs"]
mod npu;
#[path = "main/observe.rs"]
mod observe;
#[path = "main/onnx.rs"]
mod onnx;
#[path = "main/parts.rs"]
mod parts;
#[path = "main/places.rs"]
mod places;
#[path = "main/python.rs"]
mod python;
#[path = "main/rtl.rs"]
mod rtl;
#[path = "main/schemas.rs"]
mod schemas;
#[path = "main/seeds.rs"]
mod seeds;
#[path = "main/settings.rs"]
mod settings;
#[path = "main/shells.rs"]
mod shells;
#[path = "main/standard.rs"]
mod standard;
#[path = "main/version.rs"]
mod version;
#[path = "main/zoo.rs"]
mod zoo;
