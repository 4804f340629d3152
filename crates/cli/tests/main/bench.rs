//! `npu bench`: figures compared with published ones, and selections.

use crate::npu::Npu;

#[test]
fn a_program_is_measured_beside_its_published_cycles() {
    let report = Npu::new().json(0, &["bench", "programs", "--only", "pynqz1"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(row["instance"], "tcu:pynqz1");
    assert_eq!(row["published"], 1_916_000.0);
    // No program of ResNet-20 takes fewer cycles than its MACs on 64 multipliers.
    assert!(row["found"].as_f64().unwrap() >= 61_475_520.0 / 64.0, "{row}");
    assert_eq!(row["met"].as_bool().unwrap(), row["found"].as_f64() <= row["bar"].as_f64());
    assert_eq!(report["failures"], serde_json::json!([]));
}

#[test]
fn columns_may_be_chosen() {
    let line = ["bench", "programs", "--only", "pynqz1", "--runs", "1", "--columns", "ours,network,instance"];
    let (text, _) = Npu::new().text(0, &line);
    let words = |line: Option<&str>| -> Vec<String> {
        line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let mut lines = text.lines();
    assert_eq!(words(lines.next()), ["ours", "network", "instance"]);
    assert!(words(lines.next()).ends_with(&["resnet20v2".to_owned(), "tcu:pynqz1".to_owned()]), "{text}");
}

#[test]
fn a_name_that_is_none_is_usage() {
    let (_, error) = Npu::new().text(2, &["bench", "--only", "resnet21"]);
    assert!(
        error.contains("unknown network or instance `resnet21`") && error.contains("resnet20v2"),
        "{error}"
    );
}
