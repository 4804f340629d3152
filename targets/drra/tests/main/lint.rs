//! Unused instructions and ports, and findings that texts allow.

use npukit_drra::DRRA;
use npukit_target::{InstanceSpec, NoFiles};

/// Code and line of each finding.
fn found(name: &str, text: &str) -> Vec<(&'static str, Option<usize>)> {
    let instance = DRRA.instance(InstanceSpec::Preset("3x1+text")).unwrap();
    let linted = instance.lint_text(name, text, &NoFiles).unwrap();
    linted.findings.iter().map(|finding| (finding.code, finding.line)).collect()
}

#[test]
fn what_is_behind_a_halt_is_never_executed() {
    let text = "cell (row=0, col=0)\nhalt()\nwait(cycle=1)\nwait(cycle=2)\nhalt()\n";
    assert_eq!(found("k.asm", text), [("unreachable", Some(3))]);
    assert_eq!(found("k.asm", "cell (row=0, col=0)\nwait(cycle=1)\nhalt()\n"), []);
    // The first text branches over an instruction; the second branches back to it.
    let over = "cell (row=0, col=0)\nbrn(reg=0, target_true=1, target_false=1)\nwait(cycle=1)\nhalt()\n";
    assert_eq!(found("k.asm", over), [("unreachable", Some(3))]);
    let back = "cell (row=0, col=0)\nbrn(reg=0, target_true=1, target_false=1)\nhalt()\nbrn(reg=0, target_true=-2, target_false=-2)\n";
    assert_eq!(found("k.asm", back), []);
    let forever = "cell (row=0, col=0)\nbrn(reg=0, target_true=-1, target_false=-1)\nhalt()\n";
    assert_eq!(found("k.asm", forever), [], "nothing is reported for a program that does not end");
}

#[test]
fn ports_are_configured_to_be_started() {
    let set = "cell (row=0, col=0)\ndsu(slot=1, port=input_buffer)\nrep(slot=1, port=input_buffer, iter=2)\n";
    assert_eq!(found("k.asm", &format!("{set}halt()\n")), [("unused-configuration", Some(2))]);
    assert_eq!(found("k.asm", &format!("{set}act(ports=1, param=1)\nwait(cycle=4)\nhalt()\n")), []);
}

#[test]
fn a_text_allows_findings() {
    let text = "cell (row=0, col=0)\nhalt()\nwait(cycle=1) # npu: allow unreachable\n";
    assert_eq!(found("k.asm", text), []);
    let unused = text.replace("halt()\nwait(cycle=1)", "wait(cycle=1)\nhalt()");
    assert_eq!(found("k.asm", &unused), [("unused-allow", Some(3))]);
    // In PASM, an `allow` comment applies to the whole text.
    let pasm = "# npu: allow unwritten-read wrapped-address\nepoch { rop (row=1, col=0, slot=1, port=1) { dsu rep (iter=4) repx (iter=1) } }\n";
    let codes = |text: &str| found("k.pasm", text).into_iter().map(|(code, _)| code).collect::<Vec<_>>();
    assert_eq!(codes(pasm), ["default-step"]);
    assert_eq!(codes(&format!("{pasm}# npu: allow default-step\n")), [""; 0]);
    let instance = DRRA.instance(InstanceSpec::Preset("3x1+text")).unwrap();
    let message = |text: &str| instance.assemble("k.pasm", text, &NoFiles).unwrap().warnings;
    assert!(message(pasm)[0].contains("[default-step]"));
    assert_eq!(message(&format!("# npu: allow default-step\n{pasm}")), Vec::<String>::new());
    assert_eq!(codes(&format!("{pasm}# npu: allow default-stop\n")), ["default-step", "unknown-lint"]);
}
