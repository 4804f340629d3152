//! Unused results of assembly programs, and findings that they allow.

use npukit_pccx::PCCX;
use npukit_target::{InstanceSpec, NoFiles};

/// Returns code and line of each finding.
fn found(text: &str) -> Vec<(&'static str, Option<usize>)> {
    let instance = PCCX.instance(InstanceSpec::Default).unwrap();
    let linted = instance.lint_text("p.s", text, &NoFiles).unwrap();
    linted.findings.iter().map(|finding| (finding.code, finding.line)).collect()
}

const FILLED: &str = ".data l2[0:8], 1.0\n.output y, l2[0x100]\n";

#[test]
fn results_that_nobody_reads_are_found() {
    let exp = "cvo exp, src=0, dst=0x100, len=8\n";
    assert_eq!(found(&format!("{FILLED}{exp}")), []);
    assert_eq!(found(&format!("{FILLED}{exp}{exp}")), [("unread-result", Some(3))]);
    // The second instruction reads the result of the first. If it writes only part of a word, it
    // does not overwrite the word.
    assert_eq!(found(&format!("{FILLED}{exp}cvo exp, src=0x100, dst=0x100, len=8\n")), []);
    assert_eq!(found(&format!("{FILLED}{exp}cvo exp, src=0, dst=0x100, len=4\n")), []);
    let left = format!("{FILLED}{exp}cvo exp, src=0, dst=0x200, len=8\n");
    assert_eq!(found(&left), [("unread-result", Some(4))]);
    assert_eq!(found(&left.replace(".output y, l2[0x100]\n", "")), [], "the result may be used later");
}

#[test]
fn shapes_are_set_for_a_use() {
    let set = "memset cache=fmap, idx=0, a=1, b=1, c=8\n";
    let load = "memcpy host->l2, dst=0, shape=0\n";
    assert_eq!(found(&format!("{set}{set}{load}")), [("dead-configuration", Some(1))]);
    assert_eq!(found(&format!("{set}{load}{set}memcpy host->l2, dst=0x80, shape=0\n")), []);
    assert_eq!(found(&format!("{set}{}{load}", set.replace("idx=0", "idx=1"))), []);
}

#[test]
fn a_text_allows_findings() {
    let exp = "cvo exp, src=0, dst=0x100, len=8";
    assert_eq!(found(&format!("{FILLED}{exp} ; npu: allow unread-result\n{exp}\n")), []);
    assert_eq!(found(&format!("{FILLED}// npu: allow unread-result\n{exp}\n{exp}\n")), []);
    assert_eq!(found("# npu: allow unwritten-l2\ncvo exp, src=0, dst=8, len=8\n"), []);
    assert_eq!(found(&format!("{FILLED}{exp} # npu: allow unread-result\n")), [("unused-allow", Some(3))]);
}
