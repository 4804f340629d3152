//! Version information of the command.

use std::process::Command;

use crate::npu::Npu;

#[test]
fn the_version_is_a_line() {
    let npu = Npu::new();
    let line = format!("npu {}\n", env!("CARGO_PKG_VERSION"));
    for flag in ["-V", "--version"] {
        assert_eq!(npu.text(0, &[flag]).0, line);
    }
    npu.write("npu.toml", "no = \"setting\"\n");
    assert_eq!(npu.text(0, &["--version"]).0, line, "whatever the settings are");
}

#[test]
fn a_build_says_what_it_is_made_of() {
    let npu = Npu::new();
    let (text, _) = npu.text(0, &["--version", "--verbose"]);
    let report = npu.json(0, &["--version"]);
    let is_line =
        |name: &str, value: &str| text.lines().any(|line| line.starts_with(name) && line.contains(value));
    assert!(text.starts_with(&format!("npu {}\n", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(is_line("built for", report["built_for"].as_str().unwrap()), "{text}");
    assert!(is_line("compiler", "rustc 1."), "{text}");
    assert!(is_line("cores", &report["cores"].to_string()), "{text}");
    for (feature, target) in report["cpu_features"].as_array().unwrap().iter().zip(npukit::targets()) {
        assert!(is_line("processor", feature.as_str().unwrap()), "{text}");
        assert!(
            is_line("targets", &format!("{} ({} instances)", target.name, target.presets().len())),
            "{text}"
        );
    }
}

/// The commit is only known in a checkout.
#[test]
fn a_build_of_a_checkout_knows_its_commit() {
    let git = Command::new("git")
        .args(["ls-files", "--error-unmatch", "build.rs"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let is_checkout = git.is_ok_and(|output| output.status.success());
    let report = Npu::new().json(0, &["--version"]);
    let is_hexadecimal = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert_eq!(report["commit"].as_str().is_some_and(is_hexadecimal), is_checkout);
    assert_eq!(report["commit"].is_null(), report["commit_date"].is_null());
}
