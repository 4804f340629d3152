//! Changed programs: if the result of the bit-exact machine changes, the result of the field must
//! change, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::{Graph, evaluate};
use npukit_numeric::{SplitMix64, Tensor};
use npukit_target::{Compiled, UninitMemory};
use npukit_testing::small_graphs;
use npukit_verify::{judge, prove};

use super::super::PccxField;
use super::{PccxProgram, block, perceptron, ways};
use crate::isa::codec::Codec;
use crate::isa::op::Op;
use crate::machine::Machine;
use crate::machine::weights::WeightImage;
use crate::program::runtime::Session;

/// Returns a random number below `count`; 0 if `count` is 0.
fn below(random: &mut SplitMix64, count: usize) -> usize {
    (random.bits() % count.max(1) as u64) as usize
}

fn inputs(graph: &Graph, seed: u64) -> Vec<Tensor> {
    let mut next = npukit_target::sim::garbage(seed);
    let mut input = |&id: &npukit_graph::ValueId| {
        let shape = graph.shape(id).to_vec();
        let count: usize = shape.iter().product();
        let noise = (0..count).map(|_| (next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect();
        Tensor::from_f32(shape, noise).unwrap()
    };
    graph.inputs.iter().map(&mut input).collect()
}

/// Returns the bits of the outputs on random data; `None` if machine or host fails.
fn bits(program: &PccxProgram, graph: &Graph, seed: u64) -> Option<Vec<Vec<u32>>> {
    let inputs = inputs(graph, seed);
    let mut machine = Machine::with(&program.config, UninitMemory::Garbage(seed)).unwrap();
    let executable = &program.executable;
    let mut session = Session::new(&mut machine, &executable.program, &executable.host).ok()?;
    let outputs = session.run(&inputs).ok()?;
    let of = |tensor: &Tensor| tensor.as_f32().unwrap().iter().map(|value| value.to_bits()).collect();
    Some(outputs.iter().map(of).collect())
}

/// Returns the maximum difference of the outputs to float, on random data.
fn error(outputs: &[Vec<u32>], graph: &Graph, seed: u64) -> f64 {
    let float = evaluate(graph, &inputs(graph, seed)).unwrap();
    let pairs = outputs.iter().zip(&float).flat_map(|(found, float)| found.iter().zip(float.reals()));
    pairs.map(|(&bits, float)| (f64::from(f32::from_bits(bits)) - float).abs()).fold(0.0, f64::max)
}

/// Kinds of changes: an instruction, or other data.
const KINDS: [&str; 10] = [
    "bit",
    "dropped",
    "swapped",
    "doubled",
    "host operand",
    "host dropped",
    "host swapped",
    "binding",
    "weight",
    "constant",
];

/// Changes a program if there is something of this kind; returns the changed instruction, if it is
/// one.
fn change(program: &mut PccxProgram, kind: &str, random: &mut SplitMix64) -> Option<Option<usize>> {
    let codec = Codec::new(&program.config);
    let (program, host) = (&mut program.executable.program, &mut program.executable.host);
    let (code, steps) = (&mut program.code, &mut program.host_ops);
    let (at, step) = (below(random, code.len()), below(random, steps.len()));
    let length = code.len();
    let near = |count: usize, at: usize, random: &mut SplitMix64| {
        (at + 1 + below(random, 8)).min(count.saturating_sub(1))
    };
    match kind {
        "bit" => code[at] = codec.decode(codec.encode(&code[at]).ok()? ^ 1 << below(random, 64)).ok()?,
        "dropped" => code[at] = Op::Kick,
        "swapped" => code.swap(at, near(length, at, random)),
        "doubled" => code[near(length, at, random)] = code[at],
        "host operand" => {
            let operand = below(random, steps.get(step)?.operands.len());
            *steps[step].operands.get_mut(operand)? ^= 1 << below(random, 5);
        }
        "host dropped" => drop((step < steps.len()).then(|| steps.remove(step))?),
        "host swapped" => {
            let other = near(steps.len(), step, random);
            let [left, right] = [step, other].map(|step| steps.get(step).map(|step| step.position));
            steps.swap(step, other);
            (steps[step].position, steps[other].position) = (left?, right?);
        }
        "binding" => {
            let at = below(random, program.bindings.len());
            *program.bindings.get_mut(at)? = below(random, program.images.len()) as u32;
        }
        "weight" => {
            let number = below(random, program.images.len());
            let image = WeightImage::clone(program.images.get(number)?);
            let (n, k) = (image.n(), image.k());
            let mut weights: Vec<i8> = (0..n * k).map(|i| image.weight(i / k, i % k).unwrap()).collect();
            weights[below(random, n * k)] ^= 1 << below(random, 3);
            let mut scales = image.scales().map(<[f32]>::to_vec);
            if let Some(scales) = scales.as_mut().filter(|_| below(random, 2) == 0) {
                scales[below(random, n)] *= 1.25;
            }
            program.images[number] = Arc::new(WeightImage::new(n, k, &weights, scales).ok()?);
        }
        _ => {
            let values = &mut host.graph.values;
            let is_float = |value: &npukit_graph::Value| value.constant.as_ref()?.as_f32().map(drop);
            let constants = (0..values.len()).filter(|&id| is_float(&values[id]).is_some());
            let constants: Vec<usize> = constants.collect();
            let constant = *constants.get(below(random, constants.len()))?;
            let tensor = values[constant].constant.as_ref()?;
            let mut numbers = tensor.as_f32()?.to_vec();
            let at = below(random, numbers.len());
            *numbers.get_mut(at)? *= 1.5;
            let changed = Tensor::from_f32(tensor.shape().to_vec(), numbers).ok()?;
            values[constant].constant = Some(changed.into());
        }
    }
    Some(matches!(kind, "bit" | "dropped" | "swapped" | "doubled").then_some(at))
}

/// A program that can be proved, and its model.
struct Subject {
    name: String,
    graph: Graph,
    make: Box<dyn Fn() -> PccxProgram>,
    expected: [Option<Vec<Vec<u32>>>; 3],
}

const SEEDS: [u64; 3] = [11, 12, 13];

impl Subject {
    /// Whether outputs are about as far from float as the correct program's outputs.
    fn differs_by_rounding(&self, found: &[Option<Vec<Vec<u32>>>; 3]) -> bool {
        let all = SEEDS.iter().zip(found.iter().zip(&self.expected));
        all.into_iter().all(|(&seed, pair)| match pair {
            (Some(found), Some(expected)) => {
                error(found, &self.graph, seed) <= ROUNDED * error(expected, &self.graph, seed)
            }
            _ => false,
        })
    }

    fn all() -> Vec<Self> {
        let mut all = vec![("perceptron", perceptron()), ("block", block())];
        all.extend(small_graphs());
        let mut subjects = Vec::new();
        for (name, graph) in all {
            for (way, config, options) in ways() {
                let (own, name) = (graph.clone(), format!("{name} on {way}"));
                let make = Box::new(move || super::program(&config, &options, &own));
                let program = make();
                let is_proved = super::proof(&program, &graph).is_some_and(|proof| proof.is_proved());
                if is_proved && !program.executable.program.code.is_empty() {
                    let expected = SEEDS.map(|seed| bits(&program, &graph, seed));
                    assert!(expected.iter().all(Option::is_some), "{name}");
                    subjects.push(Self { name, graph: graph.clone(), make, expected });
                }
            }
        }
        subjects
    }
}

/// Maximum ratio of the float error of a proved program to that of the correct one: its numbers
/// share scales with others, and a change of an irrelevant number may change a scale.
const ROUNDED: f64 = 4.0;

/// Counts for one kind of change.
#[derive(Default)]
struct Row {
    made: usize,
    refused: usize,
    stops: usize,
    changing: usize,
    rounded: usize,
    missed: usize,
    harmless: usize,
    beside: usize,
}

/// The proof finds each change that changes a result on some data, or stops the machine, even if
/// the linter already refuses the program. It may also find changes that change no result.
#[test]
fn changed_programs_are_not_proved() {
    // `NPUKIT_MUTATIONS=2000` tests that many changes. The default is small enough for daily use.
    let all = std::env::var("NPUKIT_MUTATIONS").map_or(200, |count| count.parse().unwrap());
    let subjects = Subject::all();
    let mut random = SplitMix64::new(7);
    let mut table: BTreeMap<&str, Row> = BTreeMap::new();
    let (mut missed, mut made) = (Vec::new(), 0);
    while made < all {
        let (subject, kind) = (&subjects[made % subjects.len()], KINDS[below(&mut random, KINDS.len())]);
        let mut program = (subject.make)();
        let Some(_) = change(&mut program, kind, &mut random) else { continue };
        made += 1;
        let row = table.entry(kind).or_default();
        let found = SEEDS.map(|seed| bits(&program, &subject.graph, seed));
        let is_proved = judge(&subject.graph, &PccxField { owner: &program }, &[1, 2])
            .is_ok_and(|proof| proof.is_proved());
        row.made += 1;
        row.refused += usize::from(program.in_field().is_err());
        match (found != subject.expected, is_proved) {
            (true, true) if subject.differs_by_rounding(&found) => row.rounded += 1,
            (true, true) => {
                row.missed += 1;
                missed.push(format!("{} {made}: {kind}", subject.name));
            }
            (true, false) => {}
            (false, true) => row.harmless += 1,
            (false, false) => row.beside += 1,
        }
        row.stops += usize::from(found.contains(&None));
        row.changing += usize::from(found != subject.expected && !found.contains(&None));
    }
    println!(
        "{} programs; of each kind: made, refused by the linter before, stopping the machine,",
        subjects.len()
    );
    println!(
        "changing an output, of these proved twice and rounded differently, missed, harmless, also seen"
    );
    for (kind, row) in &table {
        let Row { made, refused, stops, changing, rounded, missed, harmless, beside } = row;
        println!("  {kind:<13} {:?}", [made, refused, stops, changing, rounded, missed, harmless, beside]);
    }
    let rounded: usize = table.values().map(|row| row.rounded).sum();
    assert!(
        rounded * 100 <= made,
        "{rounded} of {made} are rounded differently: few numbers share scales with irrelevant ones"
    );
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    let changing: usize = table.values().map(|row| row.changing).sum();
    assert!(changing > all / 4, "too few changes have an effect: {changing}");
}

/// In programs with one changed instruction, the layer found is usually the instruction's, and
/// often the instruction is found.
#[test]
fn a_changed_instruction_is_found() {
    let subjects = Subject::all();
    let mut random = SplitMix64::new(3);
    let (mut seen, mut layers, mut exact) = (0, 0, 0);
    for subject in subjects.iter().cycle().take(250) {
        let mut program = (subject.make)();
        let Some(Some(at)) = change(&mut program, "bit", &mut random) else { continue };
        let Ok(proof) = prove(&subject.graph, &PccxField { owner: &program }, &[1]) else { continue };
        let Some(found) = proof.counterexample else { continue };
        let culprit = found.culprit.unwrap();
        let own = &program.executable.host.layers;
        let layer = &own[own.partition_point(|layer| layer.end as usize <= at)].name;
        seen += 1;
        layers += usize::from(culprit.layer.as_ref() == Some(layer));
        exact += usize::from(culprit.instruction == Some(at));
    }
    println!("{seen} found, {layers} with their layer, {exact} with their instruction");
    assert!(seen > 10 && layers * 4 > seen * 3, "{seen} {layers} {exact}");
}
