//! Costs beyond cycles, for all targets: energy adds up, and the host's steps and copies count.

use npukit::Source;
use npukit::costs::{Costs, Energy, EnergyParts, HostRates, HostTime, TECHNOLOGIES, Technology};
use npukit::verbs::compile::compile;
use npukit::verbs::explore::{self, Resume, Space, explore};
use npukit::verbs::time::{Report, Request, Sinks, time_with};

use crate::memory::Memory;
use crate::segments::{decoder, source};

/// Targets with their machines; `+ext` supports all operators.
const TARGETS: [&str; 4] = ["tcu", "opu", "drra:3x4+ext", "pccx"];

/// A program with 5 rows of 4 numbers of 16 bits: instructions move 8 bytes per row.
const MATMUL: &str = include_str!("../../../../examples/tcu/matmul.s");

/// A figure for everything. The numbers differ, so that exchanged counts are found.
const TABLE: &str = r#"
name = "round numbers"
source = "made up"
[mac]
int8 = { pj = 1, source = "made up" }
int16 = { pj = 2, source = "made up" }
bf16 = { pj = 3, source = "made up" }
[memory]
registers = { pj_per_byte = 0.5, source = "made up" }
sram = [{ bytes = 4294967296, pj_per_byte = 1, source = "made up" }]
dram = { pj_per_byte = 100, source = "made up" }
"#;

fn table() -> Technology {
    Technology::from_toml("t.toml", TABLE).unwrap()
}

fn costs() -> Costs {
    Costs { host: HostRates::parse("5,400e6"), technology: Some(table()) }
}

fn timed(source: &Source, costs: Costs, files: &Memory) -> Report {
    let request = Request { source: source.clone(), costs, ..Request::default() };
    time_with(&request, Sinks::default(), files.context()).unwrap()
}

fn picojoules(joules: Option<f64>) -> f64 {
    joules.unwrap() * 1e12
}

/// Asserts that two figures are equal within rounding.
fn assert_near(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.max(1.0), "{what}: {found} is not {expected}");
}

/// Asserts that the energies of layers add up to the total, and the energies of parts, too.
fn assert_adds_up(what: &str, energy: &Energy) {
    let total = &energy.total;
    assert!(energy.unknown.is_empty() && !energy.layers.is_empty(), "{what}: {:?}", energy.unknown);
    let of_layers = |part: &dyn Fn(&EnergyParts) -> Option<f64>| {
        energy.layers.iter().map(|layer| picojoules(part(layer))).sum::<f64>()
    };
    assert!(picojoules(total.joules) > 0.0 && picojoules(total.macs) > 0.0, "{what}: {total:?}");
    assert_near(what, of_layers(&|layer| layer.joules), picojoules(total.joules));
    assert_near(what, of_layers(&|layer| layer.macs), picojoules(total.macs));
    for (name, joules) in &total.memories {
        assert_near(
            &format!("{what}, {name}"),
            of_layers(&|layer| layer.memories[name]),
            picojoules(*joules),
        );
    }
    let parts = total.memories.values().chain([&total.macs]).map(|joules| picojoules(*joules)).sum();
    assert_near(what, parts, picojoules(total.joules));
}

/// Asserts that every step has its time, and that the sum is the accelerator's, the steps' and the
/// copies'.
fn assert_host(what: &str, report: &Report) -> HostTime {
    let host = report.host.clone().unwrap();
    assert_eq!(host.steps.len(), report.host_steps.len(), "{what}");
    for (time, step) in host.steps.iter().zip(&report.host_steps) {
        assert_eq!((&time.node, time.elements.is_some()), (&step.node, true), "{what}");
    }
    let steps: f64 = host.steps.iter().map(|step| step.milliseconds.unwrap()).sum();
    assert_near(what, host.steps_ms.unwrap(), steps);
    assert_near(what, host.copies_ms.unwrap(), host.copied_bytes.unwrap() as f64 / 400e3);
    // Some fabrics of drra have no clock.
    assert_eq!(host.latency_ms.is_some(), report.latency_ms.is_some(), "{what}");
    if let Some(chip) = report.latency_ms {
        assert_near(what, host.latency_ms.unwrap(), chip + steps + host.copies_ms.unwrap());
    }
    host
}

#[test]
fn every_target_counts_a_decoder() {
    for target in TARGETS {
        let files = decoder();
        let report = timed(&source(target), costs(), &files);
        assert_adds_up(target, report.energy.as_ref().unwrap());
        let host = assert_host(target, &report);
        assert!(!host.steps.is_empty() && host.elements.unwrap() > 0, "{target}");
        // The clock of pccx counts its copies.
        assert_eq!(host.copied_bytes == Some(0), target == "pccx", "{target}");
    }
}

#[test]
fn an_artifact_costs_what_its_model_does() {
    for target in ["tcu", "opu"] {
        let mut files = decoder();
        let of_model = timed(&source(target), costs(), &files);
        let (_, artifact) = compile(&source(target), files.context()).unwrap();
        let manifest = artifact[0].name.clone();
        files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
        let loaded = timed(&Source::artifact(&manifest), costs(), &files);
        assert_eq!(loaded.host, of_model.host, "{target}");
        assert_eq!(loaded.energy, of_model.energy, "{target}");
    }
}

/// Bytes: dram0 40 + 40, dram1 40, local memory 6 * 40, accumulators 2 * 40. Five rows meet the 16
/// cells of the array.
#[test]
fn a_small_program_is_as_counted_by_hand() {
    let mut files = Memory::default();
    files.0.insert("matmul.s".into(), MATMUL.into());
    let report = timed(&Source::model("matmul.s", "tcu:cmoda7"), costs(), &files);
    let activity = report.time.activity.unwrap();
    assert_eq!((activity.total.macs, activity.total.bytes), (80, vec![80, 40, 240, 80]));
    let energy = report.energy.unwrap();
    let parts = ["dram0", "dram1", "local", "accumulators"].map(|name| energy.total.memories[name]);
    let expected = [8000.0, 4000.0, 240.0, 80.0];
    for (found, expected) in parts.into_iter().zip(expected) {
        assert_near("memory", picojoules(found), expected);
    }
    assert_near("MACs", picojoules(energy.total.macs), 160.0);
    assert_near("all", picojoules(energy.total.joules), 12_480.0);
}

#[test]
fn without_figures_energy_is_unknown() {
    let files = Memory::with_digits();
    let source = |target: &str| Source::model("digits.onnx", target);
    let none = timed(&source("tcu"), Costs::default(), &files);
    assert!(none.energy.is_none() && none.host.is_none() && none.time.activity.is_none());
    let (name, text) = TECHNOLOGIES[0];
    let technology = Technology::from_toml(name, text).unwrap();
    let of = |target: &str| {
        let costs = Costs { technology: Some(technology.clone()), ..Costs::default() };
        timed(&source(target), costs, &files).energy.unwrap()
    };
    assert!(of("tcu").total.joules.is_some());
    // The published table has no brain floating point.
    let unknown = of("pccx");
    assert_eq!((unknown.total.joules, unknown.unknown.len()), (None, 1));
    assert!(unknown.unknown[0].contains("`bf16` in [mac]"), "{:?}", unknown.unknown);
}

#[test]
fn points_of_an_exploration_cost_what_their_machines_do() {
    const SPACE: &str = "target = \"tcu:ultra96v2\"\nminimize = [\"joules\", \"total_milliseconds\"]\n\
                         [parameters]\narray_size = [4, 8]\n[options]\nsearch = [\"quick\"]";
    let files = Memory::with_digits();
    let request = explore::Request {
        models: vec!["digits.onnx".into()],
        space: Space::from_toml(SPACE).unwrap(),
        costs: costs(),
        ..explore::Request::default()
    };
    let resume = Resume { known: Vec::new(), done: &|_| {} };
    let points = explore(&request, resume, files.context()).unwrap().points;
    assert_eq!(points.len(), 2);
    for point in points {
        let mut source = Source::model("digits.onnx", &point.target);
        source.options.insert("search".into(), "quick".into());
        let report = timed(&source, costs(), &files);
        let energy = report.energy.unwrap().total.joules;
        assert_eq!((point.joules, energy.is_some()), (energy, true), "{}", point.target);
        assert_eq!(point.total_milliseconds, report.host.unwrap().latency_ms, "{}", point.target);
    }
}
