//! The released circuit: `npu lint` on programs that it executes differently, and runs of programs
//! on it.

use std::collections::BTreeSet;

use npukit_drra::internals::config::preset;
use npukit_drra::internals::machine::Machine;
use npukit_drra::{DRRA, Fabric, Program, Revision};
use npukit_graph::op::{Dft, MatMul};
use npukit_graph::{Graph, ValueInfo};
use npukit_numeric::ElementType;
use npukit_target::{
    CompileOptions, Finding, HazardMode, Instance, InstanceSpec, NoFiles, RunOptions, TargetError,
    UninitMemory,
};
use serde_json::{Value, json};

use crate::golden;

fn instance(name: &str) -> Box<dyn Instance> {
    DRRA.instance(InstanceSpec::Preset(name)).unwrap()
}

/// Returns the words of a kernel or program of the golden vectors, as in a file.
fn bytes(kernel: &Value) -> Vec<u8> {
    let mut text = String::new();
    for cell in kernel["cells"].as_array().unwrap() {
        text += &format!("cell {} {}\n", cell["row"], cell["col"]);
        for word in cell["words"].as_array().unwrap() {
            let word = word.as_str().unwrap().trim_start_matches("0x");
            text += &format!("{:032b}\n", u32::from_str_radix(word, 16).unwrap());
        }
    }
    text.into_bytes()
}

fn codes(findings: &[Finding]) -> BTreeSet<&'static str> {
    findings.iter().filter(|finding| finding.is_error()).map(|finding| finding.code).collect()
}

/// Exactly the differences of the circuit are found.
#[test]
fn kernels_that_came_out_wrong_are_found() {
    let file = golden::json("released_kernels.json");
    let (early, narrow, next) = ("early-configuration", "narrow-field", "repx-next-level");
    for kernel in file["kernels"].as_array().unwrap() {
        let expected: &[&str] = match kernel["name"].as_str().unwrap() {
            "avg_mac_64x4" | "dft12_mac_16x24" | "digits_mlp_mac_10x33" => &[early],
            "conv3_mac_64x27" | "mm64_mac_64x64" => &[early, next],
            "digits_mlp_mac_32x65" => &[narrow, next],
            "bn_mac_144x2" => &[narrow],
            _ => &[],
        };
        let found = instance("3x1").lint("k.bin", &bytes(kernel), None).unwrap();
        assert_eq!(codes(&found), expected.iter().copied().collect(), "{}: {found:?}", kernel["name"]);
    }
}

/// A finding names the instruction, counted over all cells.
#[test]
fn findings_name_instructions() {
    let file = golden::json("released_kernels.json");
    let kernel = &file["kernels"][1];
    assert_eq!(kernel["name"], "avg_mac_64x4");
    let found = instance("3x1").lint("k.bin", &bytes(kernel), None).unwrap();
    let early: Vec<&Finding> = found.iter().filter(|finding| finding.is_error()).collect();
    assert_eq!(early[0].instruction, Some(9));
    let text = "cell (0, 0), instruction 9: in cycle 9: slot 1, port 0: the last address was in cycle 8; it may be \
                configured in cycle 10 at the earliest";
    assert_eq!(early[0].message, text);
    // Under `+text`, both readings agree.
    let seed = instance("3x1+text").lint("k.bin", &bytes(kernel), None).unwrap();
    assert_eq!(codes(&seed), BTreeSet::new());
}

/// The assembler reports every difference between the circuit and the ISA document, with its line.
#[test]
fn the_assembler_warns_of_what_the_circuit_does() {
    let cell = "cell (row=1, col=0)\n";
    let top = "cell (row=0, col=0)\n";
    for (place, text, code) in [
        (cell, "evt(slot=4) rep(slot=4, iter=130)", "[narrow-field]"),
        (cell, "evt(slot=4) rep(slot=4, iter=2, delay=64)", "delay=64 becomes delay=0"),
        (cell, "evt(slot=4) rep(slot=4, iter=2) repx(slot=4, iter=1, step=0)", "[repx-high-parts]"),
        (cell, "dsu(slot=1) rep(slot=1, iter=2) repx(slot=1, iter=1, step=0)", "[repx-next-level]"),
        (cell, "dsu(slot=1, init_addr=4) rep(slot=1, iter=2)", "[first-address]"),
        (top, "dsu(slot=1) rep(slot=1, iter=2, step=-1)", "step=-1 is taken as 127 [negative-step]"),
        (cell, "brn(reg=1)", "[no-branch]"),
        (
            cell,
            "calc(mode=add, operand2=3, result=1) calc(mode=mul, operand1=1, operand2=2, result=1)",
            "computes r1 = 0, not 6 [other-result]",
        ),
    ] {
        let warnings =
            instance("3x1").assemble("k.asm", &format!("{place}{text}"), &NoFiles).unwrap().warnings;
        assert!(
            warnings.iter().any(|message| message.contains(code) && message.contains("line 2")),
            "{text}: {warnings:?}"
        );
        let seed =
            instance("3x1+text").assemble("k.asm", &format!("{place}{text}"), &NoFiles).unwrap().warnings;
        assert!(!seed.iter().any(|message| message.contains(code)), "{text}: {seed:?}");
    }
}

/// Makes a manifest of a program's words, and runs it with the options.
fn run(kernel: &Value, fabric: &str, options: RunOptions) -> Result<Vec<i32>, TargetError> {
    let rows = json!([{ "name": "y", "row": 0, "rows": 2 }]);
    let image: String = (0..1024_u32)
        .map(|row| {
            let word = |index: u32| ((row * 16 + index) * 7919 % 251) as i16 - 125;
            let bits: String = (0..16).rev().map(|index| format!("{:016b}", word(index))).collect();
            format!("{row} {bits}\n")
        })
        .collect();
    let manifest =
        json!({ "name": "k", "architecture": fabric, "program": "k.bin", "image": "i.bin", "outputs": rows });
    let (manifest, words) = (manifest.to_string(), bytes(kernel));
    let files = move |path: &str| {
        Ok(match path {
            "d/k.drra" => manifest.clone().into_bytes(),
            "d/k.bin" => words.clone(),
            _ => image.clone().into_bytes(),
        })
    };
    let result = DRRA.load("d/k.drra", &files)?.run_with(&Vec::new()[..], &options)?;
    Ok(result.outputs[0].raw.clone())
}

/// If circuit and ISA document differ, neither is chosen silently.
#[test]
fn what_differs_is_refused_unless_chosen() {
    let file = golden::json("released_kernels.json");
    let kernel = |name: &str| {
        let kernels = file["kernels"].as_array().unwrap();
        kernels.iter().find(|kernel| kernel["name"] == name).unwrap()
    };
    let wrong = kernel("bn_mac_144x2");
    let meaning = |meaning| RunOptions { meaning, ..RunOptions::default() };
    match run(wrong, "3x1", RunOptions::default()) {
        Err(TargetError::Differs(findings)) => assert_eq!(codes(&findings), ["narrow-field"].into()),
        other => panic!("{other:?}"),
    }
    let [text, circuit] =
        [HazardMode::Sequential, HazardMode::Hardware].map(|one| run(wrong, "3x1", meaning(one)).unwrap());
    assert_ne!(text, circuit);
    let right = kernel("mul32_mult_32x1");
    let all = [HazardMode::Agreed, HazardMode::Sequential, HazardMode::Hardware];
    let [a, b, c] = all.map(|one| run(right, "3x1", meaning(one)).unwrap());
    assert!(a == b && b == c);
}

/// `vec_mult_32` with one `wait` changed.
fn shortened(from: &str, to: &str) -> Value {
    let mut program = golden::json("vec_mult_32.json");
    let words = program["cells"][1]["words"].as_array_mut().unwrap();
    let place = words.iter_mut().find(|word| word.as_str() == Some(from)).unwrap();
    *place = json!(to);
    program
}

/// Results that are read too early are zeros, or a fault that names the position.
#[test]
fn what_nobody_wrote_is_not_read() {
    let poison = RunOptions { unset: UninitMemory::Poison, ..RunOptions::default() };
    let (program, fabric) = (golden::json("vec_mult_32.json"), "3x1");
    assert_eq!(run(&program, fabric, poison).unwrap(), run(&program, fabric, RunOptions::default()).unwrap());
    // The rows leave in cycles 46 and 47, eleven cycles too early, when the other cell does not
    // take them.
    let early = shortened("0x1000001f", "0x10000014");
    assert!(run(&early, fabric, RunOptions::default()).is_ok(), "zeros");
    let message = run(&early, fabric, poison).unwrap_err().to_string();
    assert_eq!(
        message,
        "cycle 57, cell (2, 0), slot 2, port 2: takes data in a cycle in which nothing is sent to it"
    );
    // Both cells read too early: the words starting at 22 are not written yet.
    let mut both = shortened("0x1000001f", "0x10000014");
    let words = both["cells"][2]["words"].as_array_mut().unwrap();
    let place = words.iter_mut().find(|word| word.as_str() == Some("0x10000030")).unwrap();
    *place = json!("0x10000025");
    let message = run(&both, fabric, poison).unwrap_err().to_string();
    assert_eq!(message, "cycle 47, cell (1, 0), slot 3, port 3: register 23 is read before it is written");
}

/// A dpu does not read an unwritten register either.
#[test]
fn unwritten_registers_are_named() {
    let fabric = preset("3x1").unwrap();
    let text = "cell (row=1, col=0)\ndsu(slot=2, port=word_read) rep(slot=2, port=word_read, iter=3) act(ports=2, param=2)
        wait(cycle=5) halt()";
    let program = npukit_drra::internals::asm::assemble(&fabric, "x", text).unwrap().program;
    let mut machine = Machine::new(&fabric, &program).unwrap();
    machine.unset(UninitMemory::Poison);
    let message = machine.run(1000, &mut ()).unwrap_err().to_string();
    assert_eq!(message, "cycle 3, cell (1, 0), slot 2, port 1: register 0 is read before it is written");
    machine.unset(UninitMemory::Garbage(5));
    assert!(machine.run(1000, &mut ()).is_ok());
    assert_ne!(machine.cells()[1].rfs[1].rows[0], [0; 16]);
}

/// Graph of one node with inputs.
fn graph(op: impl Into<npukit_graph::op::Op>, shapes: &[&[usize]]) -> Graph {
    let mut graph = Graph::default();
    let info = |shape: &[usize]| ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
    let inputs =
        shapes.iter().enumerate().map(|(index, shape)| graph.add_input(format!("x{index}"), info(shape)));
    let inputs = inputs.collect::<Vec<_>>();
    graph.outputs = graph.add_node("node", op.into(), inputs, &["y"]).unwrap();
    graph
}

/// Levels and kernels that only the ISA document has are split, nested or spaced, without findings.
#[test]
fn compiled_programs_are_for_the_circuit() {
    let dft = Dft { axis: 0, length: 64, inverse: false, onesided: false };
    let graphs = [
        graph(MatMul, &[&[1, 20], &[20, 4]]),
        graph(MatMul, &[&[2, 70], &[70, 1]]),
        graph(MatMul, &[&[6, 9], &[9, 6]]),
        graph(MatMul, &[&[64, 64], &[64, 64]]),
        graph(MatMul, &[&[9, 577], &[577, 3]]),
        graph(dft, &[&[64, 2]]),
    ];
    for name in ["3x1", "3x1+f11", "3x2", "3x4"] {
        for graph in &graphs {
            let compiled = instance(name).compile(graph, &CompileOptions::default()).unwrap();
            assert_eq!(compiled.lint().unwrap(), [], "{name}");
        }
    }
}

/// Columns start one after the other, and the end returns with the same delay: the plan's cycles
/// are the circuit's.
#[test]
fn columns_start_one_after_the_other() {
    let product = graph(MatMul, &[&[8, 64], &[64, 8]]);
    let cycles = |name: &str| {
        let compiled = instance(name).compile(&product, &CompileOptions::default()).unwrap();
        let time = compiled.time(&Default::default()).unwrap();
        let calls: u64 = time.kinds.iter().map(|kind| kind.vectors).sum();
        (time.cycles["fabric"], calls)
    };
    for (name, more) in [("3x2", 2), ("3x4", 6)] {
        let ((released, calls), (seed, same)) = (cycles(name), cycles(&format!("{name}+text")));
        assert_eq!(calls, same);
        // The released circuit takes one more cycle before rows stream, to configure the memory's
        // port again.
        assert_eq!(released, seed + more * calls, "{name}");
    }
}

/// A fabric's file has its revision.
#[test]
fn files_state_their_revision() {
    let released: Fabric = preset("3x2").unwrap();
    assert_eq!((released.options.revision, released.options.call_skew), (Revision::Released, 1));
    let seed = released.of_revision(Revision::Text);
    let file = npukit_drra::internals::config::to_json(&seed);
    assert_eq!(file["options"]["revision"], "text");
    assert_eq!(npukit_drra::internals::config::from_json(&file.to_string()).unwrap(), seed);
    let mut other = file.clone();
    other["options"] = json!({ "revision": "text", "encoding": "later" });
    let message = npukit_drra::internals::config::from_json(&other.to_string()).unwrap_err().to_string();
    assert!(message.contains("revision `text` has another encoding"), "{message}");
    let revision = |name: &str| instance(name).info().config.clone()["revision"]["name"].clone();
    let named = ["3x1", "3x1+text", "3x1+seed", "3x1+later"].map(revision);
    assert_eq!(named, ["released", "text", "seed", "later"]);
}

/// An early configuration is erased as on the circuit, according to runs on it.
#[test]
fn an_early_configuration_is_erased() {
    let fabric = preset("3x1").unwrap();
    let rows = |gap: u32| {
        let text = format!(
            "cell (row=0, col=0)
            dsu(slot=1, port=input_buffer) rep(slot=1, port=input_buffer, iter=2, step=1)
            dsu(slot=1, port=sram_write) rep(slot=1, port=sram_write, iter=2, step=1) act(ports=5, param=1)
            wait(cycle={gap}) dsu(slot=1, port=input_buffer, init_addr=8) rep(slot=1, port=input_buffer, iter=3)
            dsu(slot=1, port=sram_write, init_addr=8) rep(slot=1, port=sram_write, iter=3) act(ports=5, param=1)
            wait(cycle=5) halt()"
        );
        let program: Program = npukit_drra::internals::asm::assemble(&fabric, "x", &text).unwrap().program;
        let mut machine = Machine::new(&fabric, &program).unwrap();
        machine.set_input(&(0..16).map(|row| (row, [row as i16 + 1; 16])).collect()).unwrap();
        machine.run(1000, &mut ()).unwrap();
        [8, 9, 10].map(|row| machine.cells()[0].iosrams[0].rows[row][0])
    };
    // Addresses in cycles 5 and 6. In L+1 the `dsu` is lost, so a lane of one address precedes the
    // lane that the following `rep` writes.
    assert_eq!(rows(1), [9, 9, 10]);
    assert_eq!(rows(2), [9, 10, 11]);
}
