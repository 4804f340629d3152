//! Lint findings before programs run, compared with the result of running them.

use npukit_numeric::Tensor;
use npukit_opu::internals::op::Order;
use npukit_opu::internals::program::Segment;
use npukit_opu::internals::validate::{program as lint, words};
use npukit_opu::{Activation, Board, OPU, Op, Pool, Post, Program, RunError, Shape, Validity, encode};
use npukit_target::{Finding, InstanceSpec, NoFiles, RunOptions, Severity, TargetError, UninitMemory};

use crate::artifact::program;

/// Returns code, instruction and layer of each finding.
fn found(findings: &[Finding]) -> Vec<(&'static str, Option<usize>, Option<&str>)> {
    findings.iter().map(|finding| (finding.code, finding.instruction, finding.layer.as_deref())).collect()
}

/// Returns the program after a change.
fn changed(change: impl FnOnce(&mut Program)) -> Program {
    let mut program = program();
    change(&mut program);
    program
}

/// Runs once on memory where reading an unwritten byte is a fault.
fn poisoned(program: &Program) -> Result<(), RunError> {
    let mut board = Board::new(program, UninitMemory::Poison)?;
    board.run(&[vec![1; 96]])?;
    board.output(&program.outputs[0]).map(|_| ())
}

const DOUBLE: Option<&str> = Some("double");

#[test]
fn a_sound_program_has_no_findings() {
    assert_eq!(lint(&program()), []);
    poisoned(&program()).unwrap();
}

#[test]
fn faults_are_known_before_anything_runs() {
    for (at, op, code) in [
        (7, Op::Stride { h: 1, w: 1 }, "undefined-register"),
        (10, Op::ShapeIfm(Shape { h: 1, w: 3, c: 16 }), "buffer-invalid"),
        (1, Op::ShapeOfm(Shape { h: 2, w: 4, c: 16 }), "conv-bounds"),
        (9, Op::Pool(Pool { h: 3, w: 1, stride_h: 1, stride_w: 1 }), "pool-bounds"),
    ] {
        let broken = changed(|program| program.instructions[at] = op);
        let all = lint(&broken);
        let Some(finding) = all.iter().find(|finding| finding.is_error()) else { panic!("{code}") };
        let Err(RunError::Fault { source, .. }) = poisoned(&broken) else { panic!("{code}") };
        assert_eq!((finding.code, finding.instruction), (code, Some(source.instruction)));
        assert_eq!((source.kind.name(), finding.severity), (code, Severity::Error));
        assert_eq!(finding.layer.as_deref(), DOUBLE);
    }
    let endless = [Op::ShapeKer { n: 1 }].map(|op| encode(&op, Validity::Corrected).unwrap());
    let config = program().config;
    assert_eq!(found(&words(&endless, &config)), [("missing-end", Some(1), None)]);
    assert_eq!(found(&words(&[9], &config)), [("reserved-opcode", Some(0), None)]);
}

#[test]
fn what_nobody_writes_is_not_read() {
    // The last row of this tile is not part of the input.
    let over = changed(|program| {
        program.instructions[0] = Op::ShapeIfm(Shape { h: 3, w: 3, c: 16 });
    });
    assert_eq!(found(&lint(&over)), [("unwritten-read", Some(10), DOUBLE)]);
    let Err(RunError::Fault { place, source, .. }) = poisoned(&over) else { panic!("read") };
    assert_eq!((source.kind.name(), source.instruction), ("unwritten-read", 10));
    assert!(place.contains("layer `double`") && source.kind.to_string().contains("at 0x180"), "{place}");
    // Channels that are loaded, but never written.
    let few = changed(|program| program.inputs[0].planes.groups[0].channels = 15);
    assert_eq!(found(&lint(&few)), [("unwritten-read", Some(10), DOUBLE)]);
    let zeros = changed(|program| {
        program.inputs[0].planes.groups[0].channels = 15;
        program.inputs[0].planes.groups[0].lanes = 16;
    });
    assert_eq!(lint(&zeros), []);
    poisoned(&zeros).unwrap();
    // An output that is stored elsewhere.
    let elsewhere = changed(|program| program.instructions[13] = Op::Store { addr: 7 });
    assert_eq!(found(&lint(&elsewhere)), [("unwritten-output", None, None)]);
    assert!(matches!(poisoned(&elsewhere), Err(RunError::Unwritten { address: 0x2000_0180, .. })));
}

#[test]
fn a_program_that_changes_its_constants_does_not_run_twice() {
    let spoiling = changed(|program| {
        program.instructions[5] = Op::MemOfm { bank: 1, h: 4, w: 5 };
        program.instructions[13] = Op::Store { addr: 0 };
        program.outputs[0].planes.groups[0].address = (1 << 28) - 6 * 64;
    });
    assert_eq!(found(&lint(&spoiling)), [("overwritten-constant", Some(13), DOUBLE)]);
    let compiled = |program: &Program| {
        let files = npukit_opu::internals::artifact::write(program).unwrap();
        OPU.load("double.opu.toml", &crate::artifact::resolve(&files)).unwrap()
    };
    let x = Tensor::from_f32(vec![1, 16, 2, 3], (0..96).map(|i| i as f32 / 8.0 - 4.0).collect()).unwrap();
    let run = |program: &Program, times| {
        let options = RunOptions { times, unset: UninitMemory::Garbage(3), ..RunOptions::default() };
        compiled(program).run_with(&[("x".to_owned(), x.clone())], &options)
    };
    let [once, twice] = [1, 2].map(|times| std::num::NonZeroU32::new(times).unwrap());
    assert!(run(&spoiling, once).is_ok() && run(&program(), twice).is_ok());
    assert!(matches!(run(&spoiling, twice), Err(TargetError::Unrepeatable { time: 2, .. })));
    // Instruction words are constants, too. Bytes that were not read are initial values, not
    // constants, and may be overwritten.
    let words = changed(|program| program.address = 0x2000_0180);
    assert_eq!(found(&lint(&words))[0].0, "overwritten-constant");
    let first = changed(|program| {
        program.segments.push(Segment { address: 2 << 28, bytes: vec![0; 4 * 5 * 64] });
    });
    assert_eq!(lint(&first), []);
    let over = changed(|program| program.segments.push(Segment { address: 0, bytes: vec![0; 64] }));
    assert_eq!(found(&lint(&over)), [("input-overlap", None, None)]);
}

#[test]
fn residuals_of_another_shape_are_refused_upstream() {
    let post = Post { act: Activation::None, order: Order::ActResPool, res: true };
    let residual = |c| {
        changed(|program| {
            program.instructions[8] = Op::Post(post);
            program.instructions[1] = Op::ShapeOfm(Shape { h: 2, w: 3, c });
            program.outputs[0].planes.groups[0].channels = c;
        })
    };
    assert_eq!(lint(&residual(16)), []);
    let few = lint(&residual(8));
    assert_eq!(found(&few), [("residual-shape-differs", Some(13), DOUBLE)]);
    assert!(few[0].is_error() && few[0].message.contains("make their channels equal"), "{few:?}");
}

#[test]
fn the_order_of_stores_is_told() {
    let again = changed(|program| {
        program.instructions.insert(13, Op::Store { addr: 6 });
        program.layers[0].count += 1;
    });
    let [finding] = &lint(&again)[..] else { panic!("a store over another") };
    assert_eq!((finding.code, finding.instruction, finding.is_error()), ("stored-twice", Some(14), false));
    assert!(finding.message.contains("instruction 13"), "{}", finding.message);
}

#[test]
fn words_are_linted_without_an_artifact() {
    let program = program();
    let instance = OPU.instance(InstanceSpec::Default).unwrap();
    let mut bytes = npukit_opu::encode_program(&program.instructions, Validity::Corrected).unwrap();
    assert_eq!(instance.lint("double.words", &bytes, None).unwrap(), []);
    // Bit 31 of `@stride` is reserved, and a word after `end` is not an instruction.
    bytes[6 * 4 + 3] |= 0x80;
    bytes.extend([0xFF; 4]);
    let findings = instance.lint("double.words", &bytes, None).unwrap();
    assert_eq!(found(&findings), [("reserved-bits", Some(6), None), ("words-behind-end", Some(15), None)]);
    assert!(findings.iter().all(|finding| finding.severity == Severity::Warning));
    assert!(instance.lint("double.words", &bytes[1..], None).is_err());
}

/// Returns code and line of each finding of a text.
fn of_text(text: &str) -> Vec<(&'static str, Option<usize>)> {
    let instance = OPU.instance(InstanceSpec::Default).unwrap();
    let linted = instance.lint_text("p.s", text, &NoFiles).unwrap();
    linted.findings.iter().map(|finding| (finding.code, finding.line)).collect()
}

const SET: &str = "@shape.ifm [1,1,16]\n@shape.ofm [1,1,2]\n@shape.ker 1\n@mem.ifm 0, 1\n@mem.ker 1\n@mem.ofm 3, [1,1]\n\
                   @stride [1,1]\n@shift 9, 0\n@post pool\n@pool [1,1], [1,1]\n";

#[test]
fn what_is_filled_is_used() {
    let all = |body: &str| of_text(&format!("{SET}{body}\nend\n"));
    let (load, conv) = ("ld.ifm 5\nld.ker 1", "conv ifm:[0,0], ker:0");
    assert_eq!(all(&format!("{load}\n{conv}\nstore 7")), []);
    assert_eq!(all(&format!("ld.ker 0\n{load}\n{conv}\nstore 7")), [("unused-load", Some(11))]);
    assert_eq!(all(&format!("{load}\n{conv}\nstore 7\nld.ifm 6")), [("unused-load", Some(15))]);
    assert_eq!(all(&format!("{load}\n{conv}\n{conv}\nstore 7")), [("unread-sums", Some(13))]);
    assert_eq!(all(&format!("{load}\n{conv}\nconv.acc ifm:[0,0], ker:0\nstore 7")), []);
    assert_eq!(all(&format!("{load}\n{conv}")), [("unread-sums", Some(13))]);
}

#[test]
fn registers_are_set_for_a_use() {
    let body = "ld.ifm 5\nld.ker 1\nconv ifm:[0,0], ker:0\nstore 7\nend\n";
    assert_eq!(of_text(&format!("{SET}@stride [2,2]\n{body}")), [("dead-configuration", Some(7))]);
    let both = format!("{SET}{}", body.replace("store 7\n", "@pool [1,1], [2,2]\nstore 7\n"));
    assert_eq!(of_text(&both), [("dead-configuration", Some(10))]);
    let again = format!("{SET}{}", body.replace("end", "@stride [2,2]\nend"));
    assert_eq!(of_text(&again), []);
}

#[test]
fn a_text_allows_each_finding_by_itself() {
    let load = "ld.ifm 5\nld.ifm 5\nld.ifm 5\nld.ker 1\nconv ifm:[0,0], ker:0\nstore 7\nend\n";
    assert_eq!(of_text(&format!("{SET}{load}")), [("unused-load", Some(11)), ("unused-load", Some(12))]);
    let one = load.replacen("ld.ifm 5", "ld.ifm 5 ; npu: allow unused-load", 1);
    assert_eq!(of_text(&format!("{SET}{one}")), [("unused-load", Some(12))]);
    let behind = format!("{SET}{load}store 3 # npu: allow words-behind-end\n");
    assert_eq!(of_text(&behind).len(), 2);
}
