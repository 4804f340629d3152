//! Lint findings of programs in text, each with a program that has it and one without it.

use npukit_target::{InstanceSpec, NoFiles};
use npukit_tcu::TCU;

/// Returns code and line of each finding.
fn found(text: &str) -> Vec<(&'static str, Option<usize>)> {
    let instance = TCU.instance(InstanceSpec::Preset("cmoda7")).unwrap();
    let linted = instance.lint_text("p.s", text, &NoFiles).unwrap();
    linted.findings.iter().map(|finding| (finding.code, finding.line)).collect()
}

/// Adds code that fills the array and eight vectors of local memory, and reads the first eight sums
/// at the end.
fn around(body: &str) -> String {
    format!(".data weights, 0\n.data local[0:8], 1.0\n.output y, acc[0:8]\n{body}\n")
}

#[test]
fn a_sound_program_has_no_findings() {
    assert_eq!(found(&around("matmul local[0], acc[0], 8")), []);
    assert_eq!(found("matmul.zeroes acc[0], 8"), [("unwritten-weights", Some(1))]);
}

#[test]
fn reads_of_what_nothing_has_written_are_found() {
    let moved = "datamove local[0] <- dram0[0], 4\n";
    let used = "loadweights local[0], 5\nmatmul local[4], acc[0], 1\n";
    // Both instructions read more than the move has written. Each vector is reported only once.
    assert_eq!(found(&format!("{moved}{used}")), [("unwritten-read", Some(2))]);
    assert_eq!(found(&format!("{}{used}", moved.replace(", 4", ", 5"))), []);
    assert_eq!(found(&format!(".input x, local\n{used}")), []);
    // An accumulating product reads the old sum, which was not written.
    let adds = around("matmul.acc local[0], acc[0], 8");
    assert_eq!(found(&adds), [("unwritten-read", Some(4))]);
    assert_eq!(found(&format!(".data acc, 0\n{adds}")), []);
    // The host may fill DRAM before the run, so reading it is not a finding.
    assert_eq!(found("datamove local[0] <- dram1[7], 1\ndatamove dram0[0] <- local[0], 1"), []);
}

#[test]
fn registers_are_written_before_they_are_read() {
    let text = around("matmul local[0], acc[0], 8\nsimd out = move(r1), write acc[0]");
    assert_eq!(found(&text), [("unset-register", Some(5))]);
    let set = text.replace("simd out", "simd r1 = move(in), read acc[0]\nsimd out");
    assert_eq!(found(&set), []);
}

#[test]
fn results_that_nobody_reads_are_found() {
    // The result is overwritten completely, or in parts.
    let twice = around("matmul local[0], acc[0], 8\nmatmul local[0], acc[0], 8");
    assert_eq!(found(&twice), [("unread-result", Some(4))]);
    assert_eq!(
        found(
            &twice.replace("acc[0], 8\nmatmul local[0], acc[0], 8", "acc[0], 8\nmatmul local[0], acc[0], 4")
        ),
        []
    );
    let apart = around("matmul local[0], acc[0], 8\nmatmul local[0], acc[0], 4\nmatmul local[4], acc[4], 4");
    assert_eq!(found(&apart), [("unread-result", Some(4))]);
    // If the text declares its outputs, a result that is never read is a finding.
    let left = around("matmul local[0], acc[0], 8\nmatmul local[0], acc[16], 8");
    assert_eq!(found(&left), [("unread-result", Some(5))]);
    assert_eq!(found(&left.replace(".output y, acc[0:8]\n", "")), []);
}

#[test]
fn weights_are_loaded_for_a_product() {
    let load = "loadweights local[0], 5\n";
    let filled = ".data local, 1.0\n.output y, acc[0]\n";
    assert_eq!(found(&format!("{filled}{load}matmul local[0], acc[0], 1")), []);
    assert_eq!(
        found(&format!("{filled}{load}{load}matmul local[0], acc[0], 1")),
        [("unused-weights", Some(3))]
    );
    // Rows that are shifted in one by one form one load.
    let rows = "loadweights local[0], 1\n".repeat(5);
    assert_eq!(found(&format!("{filled}{rows}matmul local[0], acc[0], 1")), []);
    assert_eq!(
        found(&format!("{filled}{load}matmul local[0], acc[0], 1\n{load}")),
        [("unused-weights", Some(5))]
    );
    let few = format!("{filled}loadweights local[0], 4\nmatmul local[0], acc[0], 1");
    assert_eq!(found(&few), [("unwritten-weights", Some(4))]);
}

#[test]
fn offsets_are_set_for_a_move() {
    let set = "configure dram0_offset, 1\nconfigure dram0_offset, 2\n";
    assert_eq!(found(set), [("dead-configuration", Some(1))]);
    let used = set.replace("1\nconf", "1\ndatamove local[0] <- dram0[0], 1\nconf");
    assert_eq!(found(&used), []);
    assert_eq!(found("configure dram0_offset, 1\nconfigure dram1_offset, 2\n"), []);
}

#[test]
fn forms_that_hang_are_named() {
    let set = around(
        "matmul local[0], acc[0], 8\nsimd r1 = move(in), read acc[0]\nsimd out = add(r1, in), write acc[0]",
    );
    assert_eq!(found(&set), [("hanging-simd", Some(6))]);
}

#[test]
fn a_text_allows_findings() {
    let lost = "matmul.zeroes.acc acc[4], 1\n";
    let set = ".data acc, 0\n.data weights, 0\n";
    assert_eq!(found(&format!("{set}{lost}{lost}")), [("lost-addition", Some(4))]);
    for allowed in [
        format!("{set}{lost}{} ; npu: allow lost-addition\n", lost.trim()),
        format!("{set}{lost}# npu: allow lost-addition: as it is meant\n{lost}"),
        format!("{set}{lost}// npu: allow\tlost-addition\n\n; for another reason\n{lost}"),
        // The comment is in a macro, at the call of a macro, or at a repetition.
        format!("{set}.macro add\n{} ; npu: allow lost-addition\n.endm\nadd\nadd\n", lost.trim()),
        format!("{set}{lost}.macro add\n{lost}.endm\nadd ; npu: allow lost-addition\n"),
    ] {
        assert_eq!(found(&allowed), [], "{allowed}");
    }
    // The comment is on another line, names another finding, or has no finding.
    let before = format!("{set}{} ; npu: allow lost-addition\n{lost}", lost.trim());
    assert_eq!(found(&before), [("unused-allow", Some(3)), ("lost-addition", Some(4))]);
    let other = format!("{set}{lost}{} ; npu: allow stride, lost-adition\n", lost.trim());
    assert_eq!(
        found(&other),
        [("lost-addition", Some(4)), ("unused-allow", Some(4)), ("unknown-lint", Some(4))]
    );
    assert_eq!(found("noop ; npu: please\n"), [("unknown-lint", Some(1))]);
    assert_eq!(found("noop\n; npu: allow stride\n"), [("unused-allow", Some(2))]);
}

#[test]
fn the_assembler_tells_what_hardware_does_otherwise() {
    let instance = TCU.instance(InstanceSpec::Preset("cmoda7")).unwrap();
    let message = |text: &str| instance.assemble("p.s", text, &NoFiles).unwrap().warnings;
    let lost = "matmul.zeroes.acc acc[4], 1\nmatmul.zeroes.acc acc[4], 1";
    let warnings = message(lost);
    assert!(
        matches!(&warnings[..], [one] if one.starts_with("line 2: ") && one.contains("[lost-addition]")),
        "{warnings:?}"
    );
    assert_eq!(message(&format!("{lost} ; npu: allow lost-addition")), Vec::<String>::new());
    assert!(message("noop ; npu: allow stride")[0].contains("[unused-allow]"));
}
