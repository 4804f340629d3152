//! `npu --version --verbose`: what the command is built of, and what it finds on this machine.

use std::num::NonZero;
use std::thread::available_parallelism;

use serde::Serialize;

use crate::targets::targets;

/// What is known of a build when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Build {
    /// Version of npukit.
    pub version: &'static str,
    /// Commit it was built from, none outside of a checkout.
    pub commit: Option<&'static str>,
    /// Day of that commit, as `YYYY-MM-DD`.
    pub commit_date: Option<&'static str>,
    /// The compiler, none where it does not tell.
    pub rustc: Option<&'static str>,
    /// The machine that it was built on, as a triple of the compiler.
    pub built_on: &'static str,
    /// The machine that it was built for.
    pub built_for: &'static str,
    /// `debug` or `release`.
    pub profile: &'static str,
}

/// What a build is made of, and the machine it runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The build.
    #[serde(flatten)]
    pub build: Build,
    /// The accelerators.
    pub targets: Vec<Accelerator>,
    /// Features of this processor that npukit has code for.
    pub cpu_features: Vec<&'static str>,
    /// Threads that this process may run at once; none where the system does not tell.
    pub cores: Option<usize>,
}

/// An accelerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Accelerator {
    /// Its name.
    pub name: &'static str,
    /// How many instances of it come with npukit.
    pub presets: usize,
}

/// What there is to say of `build`, here.
pub fn version(build: Build) -> Report {
    let accelerator = |name, presets| Accelerator { name, presets };
    Report {
        build,
        targets: targets().iter().map(|target| accelerator(target.name, target.presets().len())).collect(),
        cpu_features: cpu_features(),
        cores: available_parallelism().ok().map(NonZero::get),
    }
}

/// Features that the array product has code for, as far as this processor has them.
#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    let all = [
        ("avx2", has!("avx2")),
        ("fma", has!("fma")),
        ("avx512f", has!("avx512f")),
        ("avx512bw", has!("avx512bw")),
        ("avx512dq", has!("avx512dq")),
        ("avx512vl", has!("avx512vl")),
        ("avx512vnni", has!("avx512vnni")),
    ];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

/// The compiler uses NEON by itself.
#[cfg(target_arch = "aarch64")]
fn cpu_features() -> Vec<&'static str> {
    if std::arch::is_aarch64_feature_detected!("neon") { vec!["neon"] } else { Vec::new() }
}

/// There is portable code alone.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cpu_features() -> Vec<&'static str> {
    Vec::new()
}
