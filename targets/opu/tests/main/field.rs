//! Programs over a prime field: those of the compiler are proved, and one that is changed so that its numbers change is not.

use std::collections::HashMap;

use npukit_graph::quantise::{Kind, Quantisation, Scheme};
use npukit_graph::{Graph, ValueId, pass};
use npukit_import::onnx;
use npukit_numeric::Tensor;
use npukit_opu::internals::artifact;
use npukit_opu::internals::program::Program;
use npukit_opu::{Op, Opu};
use npukit_target::{CompileOptions, Compiled, Config, ReadError, Reader, Target};
use npukit_testing::{Random, small_graphs};
use npukit_verify::prove;

struct Files(HashMap<String, Vec<u8>>);

impl Reader for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.0.get(path).cloned().ok_or_else(|| ReadError::Absent { path: path.to_owned() })
    }

    fn list(&self, _path: &str) -> Result<Vec<String>, ReadError> {
        Ok(self.0.keys().cloned().collect())
    }
}

/// Runs of a program whose numbers are others: one that all of them miss is a matter of one in 2^12.
const SEEDS: [u64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/// A network of the zoo as the compiler takes it.
fn network(name: &str) -> Graph {
    let network = npukit_zoo::network(name).unwrap();
    let mut graph = onnx::read(&network.onnx(0), network.name, &onnx::Options::default()).unwrap().graph;
    pass::simplify(&mut graph).unwrap();
    graph
}

/// A program with one fraction length for all values.
fn compiled(graph: &Graph) -> Box<dyn Compiled> {
    let mut quantisation = Quantisation::new(Scheme::default());
    for (index, _) in graph.values.iter().enumerate().filter(|(_, value)| value.constant.is_none()) {
        quantisation.set(ValueId(index as u32), Kind::Activation, 4);
    }
    let options = CompileOptions { quantisation: Some(quantisation), ..CompileOptions::default() };
    Opu.instance(Config::Preset("reference")).unwrap().compile(graph, &options).unwrap()
}

fn files(compiled: &dyn Compiled) -> (String, Files) {
    let files = compiled.files().unwrap();
    (files[0].name.clone(), Files(files.into_iter().map(|file| (file.name, file.bytes)).collect()))
}

fn program(compiled: &dyn Compiled) -> Program {
    let (name, files) = files(compiled);
    artifact::read(&name, &files.0[&name], &mut |name| files.read(name)).unwrap()
}

/// A program read from its files; none when they are refused.
fn loaded(program: &Program) -> Option<Box<dyn Compiled>> {
    let files = artifact::write(program).ok()?;
    let name = files[0].name.clone();
    let files = Files(files.into_iter().map(|file| (file.name, file.bytes)).collect());
    Opu.load(&name, &files).ok()
}

/// Outputs as raw values; none of a program that cannot run.
fn numbers(graph: &Graph, compiled: &dyn Compiled, seed: u64) -> Option<Vec<Vec<i32>>> {
    let mut random = Random::new(seed);
    let input = |&id: &ValueId| {
        let shape = graph.shape(id).to_vec();
        let numbers = random.numbers(shape.iter().product()).into_iter().map(|x| 4.0 * x).collect();
        (graph.value(id).name.clone(), Tensor::from_f32(shape, numbers).unwrap())
    };
    let inputs: Vec<(String, Tensor)> = graph.inputs.iter().map(input).collect();
    Some(compiled.run(&inputs).ok()?.outputs.into_iter().map(|output| output.raw).collect())
}

fn is_proved(graph: &Graph, compiled: &dyn Compiled) -> bool {
    let field = compiled.in_field().unwrap();
    prove(graph, &*field, &[1]).is_ok_and(|proof| proof.is_proved())
}

#[test]
fn programs_of_the_compiler_are_proved() {
    for name in ["mlp", "lenet5"] {
        let graph = network(name);
        let compiled = compiled(&graph);
        assert!(is_proved(&graph, &*compiled), "{name}");
        let (manifest, files) = files(&*compiled);
        assert!(is_proved(&graph, &*Opu.load(&manifest, &files).unwrap()), "{name}, from its files");
    }
    let mut proved = 0;
    for (name, graph) in small_graphs() {
        let instance = Opu.instance(Config::Preset("reference")).unwrap();
        if !instance.check(&graph, &CompileOptions::default()).unwrap().is_empty() {
            continue;
        }
        assert!(is_proved(&graph, &*compiled(&graph)), "{name}");
        proved += 1;
    }
    assert!(proved >= 5, "{proved} small graphs");
}

/// An artifact of integers that does not tell its fraction lengths cannot be compared.
#[test]
fn artifacts_without_fraction_lengths_are_refused() {
    let mut program = program(&*compiled(&network("mlp")));
    program.fractions.clear();
    let loaded = loaded(&program).unwrap();
    let Err(error) = loaded.in_field() else { panic!("it is compared") };
    assert!(error.to_string().contains("fraction lengths"), "{error}");
}

/// Changes one thing of a program.
fn mutated(program: &Program, random: &mut Random) -> Option<(String, Program)> {
    let mut changed = program.clone();
    let last = changed.instructions.len() - 1;
    let at = random.below(last);
    let told = match random.below(8) {
        0 => {
            changed.instructions.remove(at);
            changed.layers.clear();
            format!("{at} dropped")
        }
        1 if at + 1 < last => {
            // Partial sums round in another order, which the field leaves out.
            if matches!(changed.instructions[at..at + 2], [Op::Conv { .. }, Op::Conv { .. }]) {
                return None;
            }
            changed.instructions.swap(at, at + 1);
            format!("{at} swapped")
        }
        2 => {
            let segment = random.below(changed.segments.len());
            let bytes = &mut changed.segments[segment].bytes;
            let byte = random.below(bytes.len());
            bytes[byte] ^= 1 << random.below(8);
            format!("byte {byte} of segment {segment}")
        }
        3 => {
            let segment = random.below(changed.segments.len());
            changed.segments[segment].bytes.rotate_right(64);
            format!("segment {segment} moved")
        }
        _ => {
            // A bit of the instruction's word.
            let word = npukit_opu::encode(&changed.instructions[at]).ok()?;
            let bit = 6 + random.below(26);
            let op = npukit_opu::decode(word ^ 1 << bit).ok()?;
            let told = format!("{at}: {:?} for {:?}", op, changed.instructions[at]);
            changed.instructions[at] = op;
            told
        }
    };
    let is_same = changed == *program || changed.instructions.get(at) == Some(&Op::End);
    (!is_same).then_some((told, changed))
}

/// The counts of what became of mutations.
#[derive(Debug, Default)]
struct Counts {
    other_numbers: usize,
    caught: usize,
    same_numbers: usize,
    of_these_proved: usize,
    not_runnable: usize,
    located: usize,
}

fn judge(name: &str, mutations: usize) -> Counts {
    let graph = network(name);
    let compiled = compiled(&graph);
    let (program, mut random) = (program(&*compiled), Random::new(7));
    let expected: Vec<_> = (1..=2).map(|seed| numbers(&graph, &*compiled, seed)).collect();
    let mut counts = Counts::default();
    while counts.other_numbers + counts.same_numbers < mutations {
        let Some((told, changed)) = mutated(&program, &mut random) else { continue };
        let Some(changed) = loaded(&changed) else { continue };
        let found: Vec<_> = (1..=2).map(|seed| numbers(&graph, &*changed, seed)).collect();
        if found.iter().any(Option::is_none) {
            assert!(!is_proved(&graph, &*changed), "{name}, {told}: it does not run, and is proved");
            counts.not_runnable += 1;
            continue;
        }
        // A constant that meets a rectified sum is seen in every other run only.
        let seeds = if found == expected { &SEEDS[..1] } else { &SEEDS };
        let proof = prove(&graph, &*changed.in_field().unwrap(), seeds);
        let is_proved = proof.as_ref().is_ok_and(npukit_verify::Proof::is_proved);
        if found == expected {
            counts.same_numbers += 1;
            counts.of_these_proved += usize::from(is_proved);
            continue;
        }
        counts.other_numbers += 1;
        assert!(!is_proved, "{name}, {told}: other numbers, and proved");
        counts.caught += 1;
        let culprit = proof.ok().and_then(|proof| proof.counterexample?.culprit);
        counts.located += usize::from(culprit.is_some_and(|culprit| culprit.instruction.is_some()));
    }
    eprintln!("{name}: {counts:?}");
    counts
}

#[test]
fn what_computes_other_numbers_is_not_proved() {
    let counts = [judge("lenet5", 150), judge("mlp", 100)];
    let caught: usize = counts.iter().map(|counts| counts.caught).sum();
    assert!(caught >= 100, "{caught}");
    assert!(
        counts.iter().all(|counts| counts.located == counts.caught),
        "a culprit is not found: {counts:?}"
    );
}
