//! `npu --version`, with `--verbose` and `--json` what the command is built of.

use npukit::verbs::version::{Accelerator, Build, Report, version};

use crate::answer::Answer;
use crate::table::{counted, facts};

/// What the build script has found.
const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("NPU_BUILD_COMMIT"),
    commit_date: option_env!("NPU_BUILD_COMMIT_DATE"),
    rustc: option_env!("NPU_BUILD_RUSTC"),
    host: env!("NPU_BUILD_HOST"),
    target: env!("NPU_BUILD_TARGET"),
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
    let machines = if build.host == build.target {
        build.target.to_owned()
    } else {
        format!("{}, built on {}", build.target, build.host)
    };
    let targets: Vec<String> = report.targets.iter().map(accelerator).collect();
    let features = report.cpu_features.join(", ");
    facts([
        ("commit", commit.unwrap_or_else(unknown)),
        ("compiler", build.rustc.map_or_else(unknown, str::to_owned)),
        ("built for", machines),
        ("profile", build.profile.to_owned()),
        ("targets", targets.join(", ")),
        ("processor", if features.is_empty() { "no features that npukit uses".to_owned() } else { features }),
        ("cores", report.cores.map_or_else(unknown, |cores| cores.to_string())),
    ])
}

/// A target with the number of its instances.
fn accelerator(Accelerator { name, presets, .. }: &Accelerator) -> String {
    format!("{name} ({})", counted(*presets as u64, "preset"))
}
