//! `npu --version --verbose`: how the command was built, and the computer it runs on.

use std::num::NonZero;
use std::thread::available_parallelism;

use serde::Serialize;

use crate::targets::targets;

/// Information from build time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Build {
    /// Version of npukit.
    pub version: &'static str,
    /// Commit it was built from; `None` outside of a checkout.
    pub commit: Option<&'static str>,
    /// Date of that commit, as `YYYY-MM-DD`.
    pub commit_date: Option<&'static str>,
    /// Version of the Rust compiler; `None` if it does not report it.
    pub rustc: Option<&'static str>,
    /// Target triple of the host that built it.
    pub built_on: &'static str,
    /// Target triple that it was built for.
    pub built_for: &'static str,
    /// Build profile: `debug` or `release`.
    pub profile: &'static str,
}

/// Build, and the computer it runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Build information.
    #[serde(flatten)]
    pub build: Build,
    /// Accelerators that are included.
    pub targets: Vec<Accelerator>,
    /// Features of this processor that npukit has code for.
    pub cpu_features: Vec<&'static str>,
    /// Number of threads that this process may run at once; `None` if the system does not report
    /// it.
    pub cores: Option<usize>,
}

/// Accelerator that is included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Accelerator {
    /// Name of the target.
    pub name: &'static str,
    /// Number of built-in instances.
    pub presets: usize,
}

/// Returns the report for `build` on this computer.
pub fn version(build: Build) -> Report {
    let accelerator = |name, presets| Accelerator { name, presets };
    Report {
        build,
        targets: targets().iter().map(|target| accelerator(target.name, target.presets().len())).collect(),
        cpu_features: cpu_features(),
        cores: available_parallelism().ok().map(NonZero::get),
    }
}

/// Returns the features that the array product has code for and that this processor supports.
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

/// The compiler uses NEON automatically.
#[cfg(target_arch = "aarch64")]
fn cpu_features() -> Vec<&'static str> {
    if std::arch::is_aarch64_feature_detected!("neon") { vec!["neon"] } else { Vec::new() }
}

/// Other processors use portable code.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cpu_features() -> Vec<&'static str> {
    Vec::new()
}
