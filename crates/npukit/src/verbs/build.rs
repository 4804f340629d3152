//! `npu build`: makes a bitstream of a system that `npu rtl --board` wrote.
//!
//! Libraries do not start processes: the command implements [`Workshop`].

mod workshop;

use std::ffi::OsStr;

use npukit_target::Phase;
use serde::Serialize;

use crate::boards::ecp5::{
    BITSTREAM, Clock, ROUTED, Routed, SCRIPT, SYSTEM, Share, Step, System, Tool, script, steps, system_step,
};
use crate::boards::{Board, Manifest};
use crate::error::Error;

pub use workshop::{BuildError, Workshop};

/// Bitstream with its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// Board and FPGA.
    pub board: String,
    /// Full name of the FPGA.
    pub part: String,
    /// Used resources of the FPGA.
    pub resources: Vec<Share>,
    /// Clocks after routing, the most critical first.
    pub clocks: Vec<Clock>,
    /// Files written: the bitstream first.
    pub files: Vec<String>,
}

/// Files of a build, which the caller writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Bitstream.
    pub bitstream: Vec<u8>,
    /// Addresses of the system for the drivers, `board.json`.
    pub addresses: Vec<u8>,
}

/// File in which the first step puts the addresses of the system.
const ADDRESSES: &str = "board.json";

/// Makes the bitstream of the system in a folder, whose manifest has the text `manifest`.
///
/// # Errors
///
/// Returns [`Error::Build`] for a bad manifest, missing tools, failed steps, and clocks that are
/// not reached; [`Error::Board`] for an unknown board.
pub fn build(folder: &str, manifest: &str, shop: &dyn Workshop) -> Result<(Report, Built), Error> {
    let manifest: Manifest = serde_json::from_str(manifest)
        .map_err(|error| BuildError::NoSystem { folder: folder.to_owned(), reason: error.to_string() })?;
    let board = Board::named(&manifest.board)?;
    // All tools are found before the first of them works for minutes.
    let programs = [Tool::Python, Tool::Yosys, Tool::Nextpnr, Tool::Ecppack].map(|tool| shop.find(tool));
    let [python, yosys, nextpnr, ecppack] = programs;
    let (python, programs) = (python?, [yosys?, nextpnr?, ecppack?]);
    shop.begin()?;
    run(&system_step(board, &manifest), &python, shop)?;
    let system: System = parsed(SYSTEM, shop)?;
    if !system.is_plain() {
        let reason = "a name has other characters than letters, digits, `_`, `.` and `-`".to_owned();
        return Err(BuildError::Folder { path: SYSTEM.to_owned(), reason }.into());
    }
    shop.write(SCRIPT, script(&system).as_bytes())?;
    for (step, program) in steps(board, &manifest, &system).iter().zip(&programs) {
        run(step, program, shop)?;
    }
    let routed: Routed = parsed(ROUTED, shop)?;
    let clocks = routed.clocks();
    if let Some(slow) = clocks.iter().find(|clock| !clock.is_met()) {
        return Err(too_slow(slow).into());
    }
    let report = Report {
        target: manifest.target,
        board: board.title.to_owned(),
        part: board.part.to_owned(),
        resources: routed.shares(),
        clocks,
        files: Vec::new(),
    };
    Ok((report, Built { bitstream: shop.read(BITSTREAM)?, addresses: shop.read(ADDRESSES)? }))
}

fn run(step: &Step, program: &OsStr, shop: &dyn Workshop) -> Result<(), BuildError> {
    let _phase = Phase::begin(step.name);
    shop.run(step, program)
}

/// Reads a JSON file that a step wrote.
fn parsed<T: serde::de::DeserializeOwned>(name: &str, shop: &dyn Workshop) -> Result<T, BuildError> {
    serde_json::from_slice(&shop.read(name)?)
        .map_err(|error| BuildError::Folder { path: name.to_owned(), reason: error.to_string() })
}

fn too_slow(clock: &Clock) -> BuildError {
    let total: f64 = clock.path.iter().map(|passed| passed.nanoseconds).sum();
    let path = match (clock.path.first(), clock.path.last()) {
        (Some(first), Some(last)) => {
            format!("its slowest path takes {total:.1} ns, from `{}` to `{}`", first.module, last.module)
        }
        _ => "the report has no path".to_owned(),
    };
    BuildError::Slow {
        clock: clock.name.clone(),
        achieved: clock.achieved_mhz,
        needed: clock.needed_mhz,
        path,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::ffi::OsString;

    use super::*;

    /// Workshop whose tools write what real ones wrote for a small system.
    #[derive(Default)]
    struct Fake {
        missing: Option<Tool>,
        failing: Option<&'static str>,
        ran: RefCell<Vec<String>>,
        files: RefCell<BTreeMap<String, Vec<u8>>>,
        routed: &'static str,
    }

    impl Fake {
        fn new(routed: &'static str) -> Self {
            Self { routed, ..Self::default() }
        }
    }

    impl Workshop for Fake {
        fn find(&self, tool: Tool) -> Result<OsString, BuildError> {
            let (variable, install) = (tool.variable(), tool.install());
            match self.missing == Some(tool) {
                true => Err(BuildError::Tool { tool: tool.title(), tried: String::new(), install, variable }),
                false => Ok(tool.names()[0].into()),
            }
        }

        fn begin(&self) -> Result<(), BuildError> {
            self.ran.borrow_mut().push("begin".to_owned());
            Ok(())
        }

        fn run(&self, step: &Step, program: &OsStr) -> Result<(), BuildError> {
            self.ran.borrow_mut().push(format!("{} {}", program.display(), step.arguments.join(" ")));
            if self.failing == Some(step.name) {
                let (status, log) = ("exit status: 1".to_owned(), "x.log".to_owned());
                return Err(BuildError::Step { step: step.name, status, output: String::new(), log });
            }
            let system = r#"{"top": "ulx3s", "sources": ["a.sv", "cpu.v"], "constraints": "ulx3s.lpf",
                             "device": "x", "clock_hz": 1}"#;
            let files = match step.tool {
                Tool::Python => vec![(SYSTEM, system), (ADDRESSES, "{}")],
                Tool::Yosys => vec![],
                Tool::Nextpnr => vec![(ROUTED, self.routed)],
                Tool::Ecppack => vec![(BITSTREAM, "bits")],
            };
            for (name, text) in files {
                self.write(name, text.as_bytes())?;
            }
            Ok(())
        }

        fn read(&self, name: &str) -> Result<Vec<u8>, BuildError> {
            let missing = || BuildError::Folder { path: name.to_owned(), reason: "missing".to_owned() };
            self.files.borrow().get(name).cloned().ok_or_else(missing)
        }

        fn write(&self, name: &str, contents: &[u8]) -> Result<(), BuildError> {
            self.files.borrow_mut().insert(name.to_owned(), contents.to_vec());
            Ok(())
        }
    }

    const MANIFEST: &str = r#"{"board": "ulx3s", "target": "unit:ulx3s", "clock_mhz": 50.0}"#;
    const ROUTED_FAST: &str = r#"{
      "utilization": {"DP16KD": {"used": 150, "available": 208}, "TRELLIS_COMB": {"used": 20000, "available": 83640}},
      "fmax": {"$glbnet$sys": {"achieved": 52.5, "constraint": 50.0}},
      "critical_paths": [{"from": "posedge $glbnet$sys", "to": "posedge $glbnet$sys", "path": [
        {"delay": 5.5, "type": "clk-to-q", "from": {"cell": "t.ram.m_0", "port": "CLK"}, "to": {"cell": "t.ram.m_0", "port": "Q"}},
        {"delay": 1.5, "type": "routing", "from": {"cell": "t.ram.m_0", "port": "Q"}, "to": {"cell": "t.array.x_LUT4_A", "port": "A"}},
        {"delay": 0.25, "type": "logic", "from": {"cell": "t.array.x_LUT4_A", "port": "A"}, "to": {"cell": "t.array.x_LUT4_A", "port": "F"}}
      ]}]
    }"#;

    #[test]
    fn tools_run_in_order_and_their_report_is_read() {
        let shop = Fake::new(ROUTED_FAST);
        let (report, built) = build("out", MANIFEST, &shop).unwrap();
        assert_eq!((&built.bitstream[..], &built.addresses[..]), (&b"bits"[..], &b"{}"[..]));
        let ran = shop.ran.borrow();
        assert_eq!(ran[0], "begin", "no tool works before all were found");
        assert!(ran[1].contains("npukit_litex.soc ulx3s") && ran[1].ends_with("--hertz 50000000"), "{ran:?}");
        assert!(ran[3].contains("--85k --package CABGA381 --speed 6 --json netlist.json"), "{ran:?}");
        let script = String::from_utf8(shop.read(SCRIPT).unwrap()).unwrap();
        assert!(script.contains("read_verilog -sv a.sv\nread_verilog cpu.v\n"), "{script}");
        assert_eq!(report.resources[0], Share { resource: "LUT", used: 20_000, available: 83_640 });
        let path: Vec<_> =
            report.clocks[0].path.iter().map(|passed| (passed.module.as_str(), passed.nanoseconds)).collect();
        assert_eq!(path, [("t.ram", 5.5), ("t.array", 1.75)]);
    }

    #[test]
    fn names_with_a_meaning_for_tools_are_refused() {
        let system = |top: &str, source: &str| System {
            top: top.to_owned(),
            sources: vec!["a.sv".to_owned(), source.to_owned()],
            constraints: "a.lpf".to_owned(),
        };
        assert!(system("ulx3s", "npu_queue.sv").is_plain());
        for (top, source) in
            [("a; exec", "b.v"), ("a", "b.v\nexec"), ("a", "../b.v"), ("a", "-b"), ("", "b.v")]
        {
            assert!(!system(top, source).is_plain(), "{top:?} {source:?}");
        }
    }

    #[test]
    fn a_slow_clock_is_named_with_its_path() {
        let slow: &str = Box::leak(ROUTED_FAST.replace("52.5", "43.7").into_boxed_str());
        let error = build("out", MANIFEST, &Fake::new(slow)).unwrap_err().to_string();
        assert!(error.contains("43.7 MHz") && error.contains("7.2 ns, from `t.ram` to `t.array`"), "{error}");
    }

    #[test]
    fn a_missing_tool_is_told_before_any_runs() {
        for tool in [Tool::Python, Tool::Yosys, Tool::Nextpnr, Tool::Ecppack] {
            let shop = Fake { missing: Some(tool), ..Fake::new(ROUTED_FAST) };
            assert!(matches!(build("out", MANIFEST, &shop), Err(Error::Build(BuildError::Tool { .. }))));
            assert!(shop.ran.borrow().is_empty(), "{tool:?}");
        }
    }

    #[test]
    fn a_failed_step_ends_the_build() {
        for failing in ["system", "synthesis", "place and route", "bitstream"] {
            let shop = Fake { failing: Some(failing), ..Fake::new(ROUTED_FAST) };
            let error = build("out", MANIFEST, &shop).unwrap_err();
            assert!(matches!(&error, Error::Build(BuildError::Step { step, .. }) if *step == failing));
        }
    }

    #[test]
    fn bad_manifests_are_refused() {
        for text in ["", "{}", r#"{"board": "ulx3s"}"#, r#"{"board": 1, "target": "x", "clock_mhz": 1}"#] {
            let error = build("out", text, &Fake::new(ROUTED_FAST)).unwrap_err();
            assert!(matches!(error, Error::Build(BuildError::NoSystem { .. })), "{text}: {error}");
        }
        let unknown = MANIFEST.replace("ulx3s\",", "ulx4\",");
        assert!(matches!(build("out", &unknown, &Fake::new(ROUTED_FAST)), Err(Error::Board(_))));
    }
}
