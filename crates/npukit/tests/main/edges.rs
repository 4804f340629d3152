//! If `check` reports that a model fits, every other verb works on it: random networks with unusual
//! features.

#[path = "edges/graphs.rs"]
mod graphs;
#[path = "edges/nodes.rs"]
mod nodes;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use npukit::verbs::check::check;
use npukit::verbs::compile::compile;
use npukit::verbs::diff::values::{self, diff_values};
use npukit::verbs::disasm::{self, disasm};
use npukit::verbs::eval::{self, eval};
use npukit::verbs::lint::lint;
use npukit::verbs::report::{self, report};
use npukit::verbs::run::{self, run};
use npukit::verbs::time::{self, time};
use npukit::verbs::trace::{self, trace};
use npukit::verbs::verify::{self, verify};
use npukit::{Error, InputFile, Source, Tensor};
use npukit_numeric::npy::read_npz;

use crate::memory::Memory;

/// Instances of each target. Each network is tested on one of them.
const INSTANCES: [&[&str]; 4] = [
    &["tcu:pynqz1", "tcu:ultra96v2", "tcu:ultra96v2+lut"],
    &["opu"],
    &["drra:3x4+ext", "drra"],
    &["pccx", "pccx:extended"],
];
const MODEL: &str = "m.onnx";

/// Wrong behavior of a verb.
#[derive(Debug)]
struct Fault {
    seed: u64,
    target: String,
    verb: &'static str,
    message: String,
}

/// Network and instance to test.
struct Subject {
    seed: u64,
    target: String,
    files: Memory,
    inputs: Vec<InputFile>,
    is_calibrated: bool,
    is_finite: bool,
    faults: RefCell<Vec<Fault>>,
}

impl Subject {
    fn new(seed: u64, target: &str) -> Self {
        let network = graphs::network(seed);
        let mut files = Memory::default();
        files.0.insert(MODEL.into(), network.model);
        let inputs = network.inputs.map(|bytes| {
            files.0.insert("x.npz".into(), bytes);
            InputFile::parse("x.npz")
        });
        let inputs: Vec<InputFile> = inputs.into_iter().collect();
        let (is_calibrated, is_finite) = (!inputs.is_empty(), network.is_finite);
        let target = target.to_owned();
        Self { seed, target, files, inputs, is_calibrated, is_finite, faults: RefCell::default() }
    }

    fn source(&self) -> Source {
        let mut source = Source::model(MODEL, &self.target);
        if self.is_calibrated {
            source.calibration.inputs = self.inputs.clone();
        }
        source
    }

    fn fault(&self, verb: &'static str, message: String) {
        self.faults.borrow_mut().push(Fault { seed: self.seed, target: self.target.clone(), verb, message });
    }

    /// Returns the result of a verb; a panic, or an error without a valid reason, is a fault.
    fn attempt<T>(&self, verb: &'static str, work: impl FnOnce() -> Result<T, Error>) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(found)) => Some(found),
            Ok(Err(error)) => {
                if !is_true_reason(verb, &error) {
                    self.fault(verb, chain(&error));
                }
                None
            }
            Err(_) => {
                self.fault(verb, "panicked".to_owned());
                None
            }
        }
    }

    fn run(&self, verb: &'static str, source: &Source) -> Option<BTreeMap<String, Tensor>> {
        let request =
            run::Request { source: source.clone(), inputs: self.inputs.clone(), ..run::Request::default() };
        let (_, found) = self.attempt(verb, || run(&request, self.files.context()))?;
        Some(read_npz("y.npz", &found.outputs).unwrap().into_iter().collect())
    }

    fn report(&self, verb: &'static str, source: &Source) {
        let (source, inputs) = (source.clone(), self.inputs.clone());
        let time = time::Request { source: source.clone(), ..time::Request::default() };
        let request = report::Request { source, inputs, time, ..report::Request::default() };
        let found = self.attempt(verb, || report(&request, self.files.context()));
        if found.is_some_and(|found| !found.success) {
            self.fault(verb, "no program".to_owned());
        }
    }

    fn trace(
        &self,
        verb: &'static str,
        source: &Source,
        model: Option<&str>,
    ) -> Option<BTreeMap<String, Tensor>> {
        let (source, inputs, model) = (source.clone(), self.inputs.clone(), model.map(str::to_owned));
        let request = trace::Request { source, inputs, model, ..trace::Request::default() };
        let mut bytes = Vec::new();
        self.attempt(verb, || trace(&request, &mut bytes, self.files.context()))?;
        Some(read_npz("t.npz", &bytes).unwrap().into_iter().collect())
    }

    fn same(
        &self,
        verb: &'static str,
        ours: Option<&BTreeMap<String, Tensor>>,
        theirs: Option<&BTreeMap<String, Tensor>>,
    ) {
        let (Some(ours), Some(theirs)) = (ours, theirs) else { return };
        for (name, tensor) in ours {
            match theirs.get(name) {
                None => self.fault(verb, format!("there is no {name}")),
                Some(other) if !tensor.is_same(other) => {
                    self.fault(verb, format!("{name}: {tensor:?}, and {other:?}"))
                }
                Some(_) => {}
            }
        }
    }

    /// Tests all verbs on a model that fits.
    fn judge(&mut self) {
        let source = self.source();
        let made = self.attempt("compile", || compile(&source, self.files.context()));
        let of_model = self.run("run", &source);
        self.compare(&source);
        let timed = self.attempt("time", || time(&source, self.files.context()));
        self.report("report", &source);
        let traced = self.trace("trace", &source, None);
        self.same("trace, outputs", of_model.as_ref(), traced.as_ref());
        let on_machine = format!("{MODEL}@{}", self.target);
        self.diff("diff", MODEL, &on_machine, None);
        self.verify();
        let Some((_, artifact)) = made else { return };
        let manifest = artifact[0].name.clone();
        self.files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
        let loaded = Source::artifact(&manifest);
        let ran = self.run("run of the artifact", &loaded);
        self.same("run of the artifact, values", of_model.as_ref(), ran.as_ref());
        let again = self.attempt("time of the artifact", || time(&loaded, self.files.context()));
        if let (Some(timed), Some(again)) = (timed, again)
            && timed.time.cycles != again.time.cycles
        {
            self.fault(
                "time of the artifact",
                format!("{:?}, and {:?}", timed.time.cycles, again.time.cycles),
            );
        }
        self.report("report of the artifact", &loaded);
        let traced = self.trace("trace of the artifact", &loaded, None);
        self.same("trace of the artifact, outputs", of_model.as_ref(), traced.as_ref());
        let with_model = Source { calibration: source.calibration, ..loaded };
        self.trace("trace of the artifact and its model", &with_model, Some(MODEL));
        self.diff("diff of the artifact", MODEL, &manifest, Some(MODEL));
        self.attempt("lint", || lint(&manifest, None, self.files.context()));
        let request = disasm::Request { path: manifest, ..disasm::Request::default() };
        self.attempt("disasm", || disasm(&request, self.files.context()));
    }

    fn compare(&self, source: &Source) {
        let (source, inputs) = (source.clone(), self.inputs.clone());
        let request = run::Request { source, inputs, compare: true, dump: true, ..run::Request::default() };
        self.attempt("run --compare --dump", || run(&request, self.files.context()));
    }

    fn diff(&self, verb: &'static str, before: &str, after: &str, model: Option<&str>) {
        let [before, after] = [before, after].map(str::to_owned);
        let model = model.filter(|model| *model != before).map(str::to_owned);
        let source = Source { path: String::new(), target: None, ..self.source() };
        let request = values::Request {
            before,
            after,
            source,
            model,
            inputs: self.inputs.clone(),
            ..values::Request::default()
        };
        self.attempt(verb, || diff_values(&request, self.files.context()));
    }

    fn verify(&self) {
        let request = verify::Request { source: self.source(), ..verify::Request::default() };
        let found = self.attempt("verify", || verify(&request, self.files.context()));
        let Some(found) = found else { return };
        if let Some(witness) = found.witness {
            self.fault("verify", format!("refuted: {witness:?}"));
        } else if let Some(counterexample) = found.counterexample.filter(|_| self.is_finite()) {
            self.fault("verify", format!("differs: {counterexample:?}"));
        }
    }

    /// Whether the model's constants and outputs are finite: proofs do not cover infinity and NaN,
    /// which machines saturate.
    fn is_finite(&self) -> bool {
        if !self.is_finite {
            return false;
        }
        let request = eval::Request { path: MODEL.into(), inputs: self.inputs.clone(), ..Default::default() };
        let outputs = self.attempt("eval", || eval(&request, self.files.context()));
        let outputs = outputs.map(|(_, outputs)| read_npz("y.npz", &outputs).unwrap());
        let all = outputs.into_iter().flatten().flat_map(|(_, tensor)| tensor.reals());
        all.into_iter().all(f64::is_finite)
    }
}

/// Whether an error is a valid answer of a verb: a proof may not cover everything that a target's
/// machine does.
fn is_true_reason(verb: &str, error: &Error) -> bool {
    verb == "verify" && matches!(error, Error::Target(_))
}

/// Formats an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let all = std::iter::successors(Some(error), |error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Numbers of tested networks, and their faults.
#[derive(Default)]
struct Tried {
    fitting: usize,
    refused: usize,
    faults: Vec<Fault>,
}

fn tried(seeds: &[u64]) -> Tried {
    let mut tried = Tried::default();
    for &seed in seeds {
        for instances in INSTANCES {
            let mut subject = Subject::new(seed, instances[(seed % instances.len() as u64) as usize]);
            let checked = subject.attempt("check", || check(&subject.source(), subject.files.context()));
            match checked {
                Some(report) if report.supported => {
                    tried.fitting += 1;
                    subject.judge();
                }
                _ => tried.refused += 1,
            }
            tried.faults.extend(subject.faults.take());
        }
    }
    tried
}

/// Seeds of faults that the first seeds do not show: weights chosen by stored outputs; inputs and
/// constants that are outputs, also in half precision or transposed; rows of several images one
/// after the other.
const FOUND: [u64; 8] = [28, 39, 272, 460, 534, 676, 1552, 1725];

/// Default seeds, or the seeds in `NPUKIT_EDGES`: a count, or `FIRST..END`.
fn seeds() -> Vec<u64> {
    let Ok(message) = std::env::var("NPUKIT_EDGES") else { return (0..16).chain(FOUND).collect() };
    let (first, end) = message.split_once("..").unwrap_or(("0", &message));
    (first.parse().unwrap()..end.parse().unwrap()).collect()
}

/// Writes the network of a seed for inspection, and describes it.
fn keep(seed: u64) -> String {
    let network = graphs::network(seed);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("edges");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{seed}.onnx")), network.model).unwrap();
    if let Some(inputs) = network.inputs {
        std::fs::write(folder.join(format!("{seed}.npz")), inputs).unwrap();
    }
    network.text
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what one runs it for")]
fn what_fits_works_in_every_verb() {
    let seeds = seeds();
    let Tried { fitting, refused, faults } = tried(&seeds);
    println!("{} networks: {fitting} fit, {refused} do not, {} faults", seeds.len(), faults.len());
    for (place, Fault { seed, target, verb, message }) in faults.iter().enumerate() {
        if place == 0 || faults[place - 1].seed != *seed {
            println!("{}", keep(*seed));
        }
        println!("{seed} {target} {verb}: {}", message.replace('\n', " "));
    }
    assert!(fitting > 0 && faults.is_empty(), "{} faults", faults.len());
}
