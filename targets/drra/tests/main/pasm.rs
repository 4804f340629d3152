//! PASM programs, from text to words.

use npukit_drra::config::preset;
use npukit_drra::kernel::compile;
use npukit_drra::pasm;

const GUIDE: &str = include_str!("../../kernels/guide.pasm");

#[test]
fn the_guide_problem_is_scheduled_optimally() {
    let kernel = compile(&preset("3x1").unwrap(), "guide.pasm", GUIDE, 0).unwrap();
    let report = kernel.epochs.first().unwrap();
    assert_eq!(report.variables, [("t1".to_owned(), 1)]);
    assert!(kernel.cycles.unwrap() <= 62, "{report:#?}");
    assert_eq!(report.bound, report.cycles, "{report:#?}");
    let start = |name: &str| report.starts.iter().find(|one| one.0 == name).unwrap().1;
    assert_eq!(start("write_c_seq"), start("read_a_seq") + 1);
    assert_eq!(start("write_b"), start("read_ab") + 1);
}

#[test]
fn the_guide_problem_is_laid_out_already() {
    assert_eq!(pasm::format("guide.pasm", GUIDE).unwrap(), GUIDE);
    let printed = pasm::parse("guide.pasm", GUIDE).unwrap().to_string();
    let decimal = GUIDE.replace("0b010000000", "128").replace("0b0110", "6").replace("0b0100", "4");
    let without_comments: Vec<&str> =
        decimal.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), without_comments);
}

#[test]
fn contradictions_are_named_by_their_lines() {
    let text = GUIDE.replace(
        "cstr(\"output_r > write_c\")",
        "cstr(\"output_r > write_c\")\n  cstr(\"output_w < read_ab\")",
    );
    let errors = compile(&preset("3x1").unwrap(), "guide.pasm", &text, 0).unwrap_err();
    let [pasm::PasmError::Schedule { labels, reason, .. }] = &errors.errors[..] else { panic!("{errors:?}") };
    let mut named: Vec<&str> =
        labels.iter().map(|label| &text[label.offset()..label.offset() + label.len()]).collect();
    named.sort_unstable();
    assert_eq!(reason, "these 8 constraints cannot hold together", "{named:#?}");
    assert!(named.contains(&"output_w < read_ab") && named.contains(&"output_r > write_c"), "{named:#?}");
}
