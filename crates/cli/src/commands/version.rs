//! `npu --version`; with `--verbose` and `--json` also build information.

use npukit::verbs::version::{Accelerator, Build, Report, version};

use crate::answer::Answer;
use crate::table::{counted, facts};

/// Build information from the build script.
pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("NPU_BUILD_COMMIT"),
    commit_date: option_env!("NPU_BUILD_COMMIT_DATE"),
    rustc: option_env!("NPU_BUILD_RUSTC"),
    built_on: env!("NPU_BUILD_HOST"),
    built_for: env!("NPU_BUILD_TARGET"),
    profile: env!("NPU_BUILD_PROFILE"),
};

pub fn run(is_verbose: bool) -> Answer {
    let report = version(BUILD);
    let line = format!("npu {}\n", report.build.version);
    let more = if is_verbose { text(&report) } else { String::new() };
    Answer::new(line + &more, &report)
}

fn text(report: &Report) -> String {
    let unknown = || "unknown".to_owned();
    let build = &report.build;
    let commit = build.commit.map(|commit| format!("{commit}, {}", build.commit_date.unwrap_or("no date")));
    let built_on = format!("{}, on {}", build.built_for, build.built_on);
    let built_for = if build.built_on == build.built_for { build.built_for.to_owned() } else { built_on };
    let targets: Vec<String> = report.targets.iter().map(accelerator).collect();
    let features = report.cpu_features.join(", ");
    facts([
        ("commit", commit.unwrap_or_else(unknown)),
        ("compiler", build.rustc.map_or_else(unknown, str::to_owned)),
        ("built for", built_for),
        ("profile", build.profile.to_owned()),
        ("targets", targets.join(", ")),
        ("processor", if features.is_empty() { "no features that npukit uses".to_owned() } else { features }),
        ("cores", report.cores.map_or_else(unknown, |cores| cores.to_string())),
    ])
}

/// Formats a target with the number of its instances.
fn accelerator(Accelerator { name, presets, .. }: &Accelerator) -> String {
    format!("{name} ({})", counted(*presets as u64, "instance"))
}
