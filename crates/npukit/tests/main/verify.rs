//! Proofs of programs, tested by deliberately changed programs: a change that affects an output
//! must be detected.

use std::collections::BTreeMap;

use npukit::verbs::compile::compile;
use npukit::verbs::verify::{Request, verify};
use npukit::verbs::zoo::zoo;
use npukit::{ArtifactFile, Compiled, Error, ModelOptions, Source};
use npukit_graph::{Graph, pass};
use npukit_numeric::{SplitMix64, Tensor};
use npukit_shared::{needs, shared};
use npukit_target::resealed;
use npukit_verify::{Proof, judge, prove};

use crate::memory::Memory;

/// Returns a random number below `count`.
fn below(random: &mut SplitMix64, count: usize) -> usize {
    (random.bits() % count as u64) as usize
}

/// Model compiled for a target, as files.
struct Subject {
    target: String,
    graph: Graph,
    manifest: String,
    files: BTreeMap<String, Vec<u8>>,
    samples: Vec<Vec<(String, Tensor)>>,
}

/// Outputs of a program for each sample; `None` if the machine stops or refuses the program.
type Results = Option<Vec<Vec<i32>>>;

impl Subject {
    fn new(network: &str, target: &str) -> Self {
        let mut files = Memory::default();
        files.0.insert("m.onnx".into(), zoo(network, 1).unwrap().1);
        let source = Source::model("m.onnx", target);
        let mut graph = source.graph(files.context()).unwrap();
        pass::simplify(&mut graph).unwrap();
        let (_, artifact) = compile(&source, files.context()).unwrap();
        let manifest = artifact[0].name.clone();
        let files = artifact.into_iter().map(|ArtifactFile { name, bytes }| (name, bytes)).collect();
        let network = npukit_models::zoo::network(network).unwrap();
        let input = graph.value(graph.inputs[0]).name.clone();
        let sample = |seed| vec![(input.clone(), network.sample(seed).unwrap())];
        let samples = (0..3).map(sample).collect();
        let target = target.split(':').next().unwrap().to_owned();
        Self { target, graph, manifest, files, samples }
    }

    /// Loads the artifact with these files instead of its own, as if they had been written by the
    /// compiler.
    fn load(&self, files: &BTreeMap<String, Vec<u8>>) -> Option<Box<dyn Compiled>> {
        let changes: Vec<(&[u8], &[u8])> =
            self.files.iter().map(|(name, bytes)| (&bytes[..], &files[name][..])).collect();
        let sealed = files.iter().map(|(name, bytes)| match std::str::from_utf8(bytes) {
            Ok(text) if name.ends_with(".json") => (name.clone(), resealed(text, &changes).into_bytes()),
            _ => (name.clone(), bytes.clone()),
        });
        let files: BTreeMap<String, Vec<u8>> = sealed.collect();
        npukit::target(&self.target).unwrap().load(&self.manifest, &files).ok()
    }

    fn results(&self, program: &dyn Compiled) -> Results {
        let run = |sample: &Vec<(String, Tensor)>| program.run(sample).ok();
        let outputs = self.samples.iter().map(|sample| Some(run(sample)?.outputs));
        Some(outputs.collect::<Option<Vec<_>>>()?.into_iter().flatten().map(|output| output.raw).collect())
    }

    /// Returns the proof; `None` if the machine stops, or if there are hazards.
    fn proof(&self, program: &dyn Compiled) -> Option<Proof> {
        prove(&self.graph, &*program.in_field().ok()?, &[1, 2]).ok()
    }

    fn is_proved(&self, program: &dyn Compiled) -> bool {
        let Ok(field) = program.in_field() else { return false };
        judge(&self.graph, &*field, &[1, 2]).is_ok_and(|proof| proof.is_proved())
    }

    /// Returns the file whose name has this suffix.
    fn file(&self, ending: &str) -> String {
        self.files.keys().find(|name| name.ends_with(ending)).unwrap().clone()
    }
}

/// Kinds of changes: a bit of an instruction, two instructions, a constant.
const KINDS: [&str; 5] = ["bit", "swapped", "dropped", "doubled", "constant"];

/// Returns the files with one change.
fn mutated(
    subject: &Subject,
    kind: &str,
    (words, width): (&str, usize),
    constants: &str,
    random: &mut SplitMix64,
) -> BTreeMap<String, Vec<u8>> {
    let mut files = subject.files.clone();
    let instructions = subject.files[words].len() / width;
    let (at, other) = (below(random, instructions), below(random, instructions.min(8)) + 1);
    let other = (at + other).min(instructions - 1);
    let bytes = files.get_mut(words).unwrap();
    match kind {
        "bit" => bytes[at * width + below(random, width)] ^= 1 << below(random, 8),
        "swapped" => (0..width).for_each(|i| bytes.swap(at * width + i, other * width + i)),
        "dropped" => bytes[at * width..][..width].fill(0),
        "doubled" => bytes.copy_within(at * width..(at + 1) * width, other * width),
        _ => {
            let constants = files.get_mut(constants).unwrap();
            let (at, other) = (below(random, constants.len()), below(random, constants.len()));
            if below(random, 2) == 0 {
                constants.swap(at, other)
            } else {
                constants[at] ^= 1 << below(random, 8)
            }
        }
    }
    files
}

/// Counts per kind of change: changes made; refused by the loader or the machine; changing an
/// output for some sample; of these, missed by the proof; detected by the proof without changing an
/// output for these samples.
fn table(subject: &Subject, count: usize, seed: u64) -> BTreeMap<&'static str, [usize; 5]> {
    let program = subject.load(&subject.files).unwrap();
    let expected = subject.results(&*program).unwrap();
    assert!(subject.proof(&*program).unwrap().is_proved());
    let (words, constants) = (subject.file(".tprog"), subject.file(".tdata"));
    let width = subject.files[&words].len() / program.report().instructions;
    let mut random = SplitMix64::new(seed);
    let mut table: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for number in 0..count {
        let kind = KINDS[number % KINDS.len()];
        let files = mutated(subject, kind, (&words, width), &constants, &mut random);
        let row = table.entry(kind).or_default();
        row[0] += 1;
        let Some(program) = subject.load(&files) else {
            row[1] += 1;
            continue;
        };
        let results = subject.results(&*program);
        let is_proved = subject.is_proved(&*program);
        match results {
            None => {
                row[1] += 1;
                assert!(!is_proved, "{kind} {number}: proved, and the machine stops");
            }
            Some(results) if results != expected => {
                row[2] += 1;
                row[3] += usize::from(is_proved);
            }
            Some(_) => row[4] += usize::from(!is_proved),
        }
    }
    table
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what one runs it for")]
fn what_changes_an_output_is_not_proved() {
    // `NPUKIT_MUTATIONS=2000` tries 2,000 changes; this is the default.
    let all = std::env::var("NPUKIT_MUTATIONS").map_or(200, |count| count.parse().unwrap());
    for (network, target, count) in [("lenet5", "tcu:pynqz1", all * 3 / 4), ("mlp", "tcu:zcu104", all / 4)] {
        let found = table(&Subject::new(network, target), count, 1);
        println!(
            "{network} on {target}: for each kind: made, refused, changing an output, of these missed, detected in addition"
        );
        for (kind, row) in &found {
            println!("  {kind:<9} {row:?}");
        }
        let sum = |column: usize| found.values().map(|row| row[column]).sum::<usize>();
        assert_eq!((sum(0), sum(3)), (count, 0), "{network} on {target}");
        assert!(sum(2) > count / 4, "{network} on {target}: changes that change nothing judge nothing");
    }
}

/// For a program with a store to a wrong address, the first wrong value is at that store.
#[test]
fn a_wrong_address_is_found() {
    let subject = Subject::new("mlp", "tcu:pynqz1");
    let words = subject.file(".tprog");
    let instructions = subject.load(&subject.files).unwrap().report().instructions;
    let width = subject.files[&words].len() / instructions;
    let mut seen = 0;
    for at in (0..instructions).step_by(41) {
        let mut files = subject.files.clone();
        let word = &mut files.get_mut(&words).unwrap()[at * width..][..width];
        // Swaps the halves of the operands' lowest byte, which is usually an address.
        word[0] = word[0].rotate_left(4);
        let Some(program) = subject.load(&files) else { continue };
        let Some(proof) = subject.proof(&*program).filter(|proof| !proof.is_proved()) else { continue };
        let found = proof.counterexample.unwrap();
        let culprit = found.culprit.unwrap();
        assert!(culprit.layer.is_some() || culprit.instruction.is_none(), "{at}: {culprit:?}");
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn a_model_is_proved_and_another_one_is_refused() {
    let mut files = Memory::default();
    for network in ["mlp", "lenet5"] {
        files.0.insert(format!("{network}.onnx"), zoo(network, 1).unwrap().1);
    }
    let source = Source::model("mlp.onnx", "tcu:pynqz1");
    let report = verify(&Request { source: source.clone(), ..Request::default() }, files.context()).unwrap();
    assert!(report.proved && report.counterexample.is_none() && report.uncovered.is_empty(), "{report:?}");
    let (_, artifact) = compile(&source, files.context()).unwrap();
    let manifest = artifact[0].name.clone();
    for ArtifactFile { name, bytes } in artifact {
        files.0.insert(name, bytes);
    }
    let of = |path: &str| Request {
        source: Source { path: path.to_owned(), ..Source::default() },
        artifact: Some(manifest.clone()),
        ..Request::default()
    };
    assert!(verify(&of("mlp.onnx"), files.context()).unwrap().proved);
    let error = verify(&of("lenet5.onnx"), files.context()).unwrap_err();
    assert!(matches!(error, Error::UnfitArtifact { .. } | Error::Target(_)), "{error}");
}

/// Returns whether the published program `name` in a folder computes a model, and what it was
/// compared with.
fn published((folder, name): (&str, &str), model: &str, resize_half_pixel: Option<bool>) -> (bool, String) {
    let mut files = Memory::default();
    for ending in ["tmodel", "tprog", "tdata"] {
        let file = format!("{name}.{ending}");
        let bytes = std::fs::read(shared("golden/tcu/programs").join(folder).join(&file)).unwrap();
        files.0.insert(file, bytes);
    }
    files.0.insert("m.onnx".into(), std::fs::read(shared("models").join(model)).unwrap());
    let reading = ModelOptions { resize_half_pixel, ..ModelOptions::default() };
    let source = Source { path: "m.onnx".into(), model: reading, ..Source::default() };
    let request =
        Request { source, artifact: Some(format!("{name}.tmodel")), seeds: vec![1], ..Request::default() };
    let report = verify(&request, files.context()).unwrap();
    assert_eq!(report.proved, report.counterexample.is_none());
    (report.proved, report.order)
}

/// Programs of the original compiler, whose manifests only contain rows of vectors.
#[needs(NPUKIT_SHARED)]
#[test]
fn published_programs_are_proved() {
    let resnet = ("resnet20v2_zcu104", "resnet20v2_cifar_onnx_zcu104");
    let (is_proved, order) = published(resnet, "resnet20v2_cifar.onnx", None);
    assert!(is_proved && order.contains("Tensil's compiler"), "{order}");
    // The caller of the program computes the softmax; the files do not specify this.
    assert!(!published(resnet, "resnet20v2_cifar_softmax.onnx", None).0);
    let speech = ("speech_commands", "speech_commands_onnx_speech_robot");
    assert!(published(speech, "speech_commands.onnx", Some(true)).0);
    // The standard interpretation of Resize at opset 10 gives another network.
    assert!(!published(speech, "speech_commands.onnx", Some(false)).0);
}
