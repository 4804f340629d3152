//! Proofs of deliberately changed programs: a change that affects an output must not be proved.

use std::collections::BTreeMap;

use npukit_graph::Graph;
use npukit_opu::internals::program::Program;
use npukit_opu::{Addend, DataType, Op, Validity, decode, encode};
use npukit_target::{Compiled, RunResult};
use npukit_testing::Random;
use npukit_verify::prove;

use super::field::{compiled, is_proved, judged, loaded, network, program, sample};

/// Kinds of changes: a bit of a word (an address, a size, a stride, a flag), two instructions, or
/// constants.
const KINDS: [&str; 6] = ["bit", "bit", "swapped", "dropped", "doubled", "constant"];

/// Returns the program with one change, and a description of the change; `None` if the program
/// would be the same.
fn mutated(program: &Program, kind: &str, random: &mut Random) -> Option<(String, Program)> {
    let mut changed = program.clone();
    let ops = &mut changed.instructions;
    let last = ops.len() - 1;
    let (at, other) = (random.below(last), random.below(last));
    // In half of the cases, the instructions are adjacent and thus belong to one tile.
    let other = if random.below(2) == 0 { (at + 1).min(last - 1) } else { other };
    let message = match kind {
        "bit" => {
            let word = encode(&ops[at], Validity::Corrected).unwrap() ^ 1 << random.below(32);
            let (before, after) = (ops[at], decode(word, Validity::Corrected).ok()?);
            ops[at] = after;
            format!("{at}: {after:?} for {before:?}")
        }
        "swapped" => {
            ops.swap(at, other);
            format!("{at} and {other} swapped: {:?}, {:?}", ops[other], ops[at])
        }
        "dropped" => {
            ops.remove(at);
            let owner = changed.layers.iter().position(|layer| at < layer.first + layer.count).unwrap();
            changed.layers[owner].count -= 1;
            changed.layers[owner + 1..].iter_mut().for_each(|layer| layer.first -= 1);
            format!("{at} dropped: {:?}", program.instructions[at])
        }
        "doubled" => {
            ops[other] = ops[at];
            format!("{at} at {other}, too")
        }
        _ => constants(&mut changed, random),
    };
    (changed != *program).then_some((message, changed))
}

/// Changes a bit of a constant, swaps two constants, or moves a segment.
fn constants(changed: &mut Program, random: &mut Random) -> String {
    let index = random.below(changed.segments.len());
    let segment = &mut changed.segments[index];
    let (byte, other) = (random.below(segment.bytes.len()), random.below(segment.bytes.len()));
    match random.below(8) {
        0 => segment.address += 64,
        1 => segment.bytes.rotate_right(64),
        2 | 3 => segment.bytes.swap(byte, other),
        _ => segment.bytes[byte] ^= 1 << random.below(8),
    }
    format!("bytes {byte} and {other} of segment {index}")
}

/// Seeds and sizes of samples: small numbers, and larger numbers that saturate.
const SAMPLES: [(u64, f32); 3] = [(1, 1.0), (2, 4.0), (3, 0.5)];

/// Returns the outputs as raw values; `None` if the program cannot run.
fn numbers(graph: &Graph, compiled: &dyn Compiled) -> Option<Vec<Vec<i32>>> {
    let run = |&(seed, size): &(u64, f32)| compiled.run(&sample(graph, seed, size)).ok();
    let outputs = SAMPLES.iter().map(|sample| Some(run(sample)?.outputs)).collect::<Option<Vec<_>>>()?;
    Some(outputs.into_iter().flatten().map(|output| output.raw).collect())
}

/// Whether two programs compute the same if sums are rounded to `2^-16` of their value, for samples
/// that do not saturate. Then only rounding and saturation differ.
fn differ_by_rounding(graph: &Graph, [before, after]: [&Program; 2]) -> bool {
    let precise = |program: &Program| {
        let mut program = program.clone();
        program.config.types.otype = "fx32_16".parse::<DataType>().unwrap();
        loaded(&program).unwrap()
    };
    let [before, after] = [before, after].map(precise);
    let mut judged = 0;
    let is_same = SAMPLES.iter().all(|&(seed, size)| {
        let inputs = sample(graph, seed, size);
        let [before, after] = [&before, &after].map(|program| program.run(&inputs).unwrap());
        let raw = |run: &RunResult| run.outputs.iter().map(|output| output.raw.clone()).collect::<Vec<_>>();
        let saturates = before.saturations.results + after.saturations.results > 0;
        judged += usize::from(!saturates);
        saturates || raw(&before) == raw(&after)
    });
    is_same && judged > 0
}

/// Whether a sum that is added to others was swapped with another sum, or with an instruction after
/// the sums.
fn is_of_sums(before: &Program, after: &Program) -> bool {
    let pairs = before.instructions.iter().zip(&after.instructions);
    let changed: Vec<_> = pairs.filter(|(before, after)| before != after).collect();
    let is_sum = |op: &Op| matches!(op, Op::Conv { addend: Addend::Ofm, .. });
    changed.len() == 2 && changed.iter().any(|(before, _)| is_sum(before))
}

/// Number of changes of one kind, by result.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    made: usize,
    /// Changes that the loader or the machine rejects.
    refused: usize,
    /// Changes of some output for some sample.
    other_numbers: usize,
    /// Of `other_numbers`: only the rounding order of sums differs.
    of_rounding: usize,
    /// Of `other_numbers`: proved nevertheless. Must be 0.
    missed: usize,
    /// Changes without effect on the outputs of these samples that are not proved.
    seen_beside: usize,
    /// Changes without effect that are proved.
    harmless: usize,
}

fn table(name: &str, count: usize) -> BTreeMap<&'static str, Row> {
    let graph = network(name);
    let compiled = compiled(&graph);
    assert!(is_proved(&graph, &*compiled), "{name}");
    let (program, mut random) = (program(&*compiled), Random::new(7));
    let expected = numbers(&graph, &*compiled);
    let mut table: BTreeMap<&str, Row> = BTreeMap::new();
    for number in 0..count {
        let kind = KINDS[number % KINDS.len()];
        let row = table.entry(kind).or_default();
        row.made += 1;
        let changed = mutated(&program, kind, &mut random);
        let Some((message, changed, run)) =
            changed.and_then(|(message, changed)| loaded(&changed).map(|run| (message, changed, run)))
        else {
            row.refused += 1;
            continue;
        };
        let (found, is_proved) = (numbers(&graph, &*run), is_proved(&graph, &*run));
        if found.is_none() {
            assert!(!is_proved, "{name}, {message}: it does not run, and is proved");
            row.refused += 1;
        } else if found == expected {
            row.seen_beside += usize::from(!is_proved);
            row.harmless += usize::from(is_proved);
        } else {
            row.other_numbers += 1;
            if is_proved {
                let is_of_sums = is_of_sums(&program, &changed);
                let is_rounding = is_of_sums && differ_by_rounding(&graph, [&program, &changed]);
                row.of_rounding += usize::from(is_rounding);
                row.missed += usize::from(!is_rounding);
                eprintln!(
                    "{name}, {message}: proved, sums swapped: {is_of_sums}, by rounding: {is_rounding}"
                );
            }
        }
    }
    table
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is the result of this test")]
fn what_changes_an_output_is_not_proved() {
    // `NPUKIT_MUTATIONS=500` makes 500 changes. The default number is small.
    let all = std::env::var("NPUKIT_MUTATIONS").ok().map(|count| count.parse::<usize>().unwrap());
    let networks = match all {
        Some(all) => vec![("lenet5", all / 2), ("mlp", all * 3 / 10), ("resnet20v2", all / 5)],
        None => vec![("lenet5", 48), ("mlp", 30)],
    };
    for (name, count) in networks {
        let found = table(name, count);
        for (kind, row) in &found {
            println!("{name}, {kind}: {row:?}");
        }
        let sum = |of: fn(&Row) -> usize| found.values().map(of).sum::<usize>();
        assert_eq!((sum(|row| row.made), sum(|row| row.missed)), (count, 0), "{name}");
        assert!(
            sum(|row| row.other_numbers) > count / 4,
            "{name}: changes that change nothing judge nothing"
        );
    }
}

/// Name of a change of one instruction field, whether the computed numbers are wrong, and the
/// change.
type Change = (&'static str, bool, fn(&Op) -> Option<Op>);

/// For every kind of change, the first instruction with wrong numbers is found, with its layer and
/// address. Right numbers at a wrong place are found where they are used, in their layer or after
/// it.
#[test]
fn what_went_wrong_is_found() {
    let graph = network("lenet5");
    let program = program(&*compiled(&graph));
    let layers = program.layer_of_each();
    let changes: [Change; 5] = [
        ("address of a store", false, |op| match *op {
            Op::Store { addr } => Some(Op::Store { addr: addr + 1 }),
            _ => None,
        }),
        ("address of a tile", true, |op| match *op {
            Op::LoadIfm { addr } => Some(Op::LoadIfm { addr: addr + 1 }),
            _ => None,
        }),
        ("slice", true, |op| match *op {
            Op::Conv { addend, h, w, n } => Some(Op::Conv { addend, h, w, n: n ^ 1 }),
            _ => None,
        }),
        ("sums that are not added to", true, |op| match *op {
            Op::Conv { addend: Addend::Ofm, h, w, n } => Some(Op::Conv { addend: Addend::Zero, h, w, n }),
            _ => None,
        }),
        ("shift", true, |op| match *op {
            Op::Shift { ifm, bias } => Some(Op::Shift { ifm: ifm + 1, bias }),
            _ => None,
        }),
    ];
    for (what, is_own, change) in changes {
        let places =
            (0..program.instructions.len()).filter(|&at| change(&program.instructions[at]).is_some());
        let places: Vec<usize> = places.collect();
        let mut seen = 0;
        for &at in places.iter().step_by(places.len().div_ceil(6)) {
            let mut changed = program.clone();
            changed.instructions[at] = change(&program.instructions[at]).unwrap();
            let Some(run) = loaded(&changed) else { continue };
            if judged(&graph, &*run).is_none_or(|proof| proof.is_proved()) {
                continue;
            }
            let proof = prove(&graph, &*run.in_field().unwrap(), &[1]).unwrap();
            let culprit = proof.counterexample.and_then(|found| found.culprit).unwrap();
            let (instruction, layer) = (culprit.instruction.unwrap(), culprit.layer.unwrap());
            // The store that writes the spoiled results of the changed instruction belongs to the
            // same layer.
            assert!(
                matches!(changed.instructions[instruction], Op::Store { .. }),
                "{what} {at}: {instruction}"
            );
            assert!(instruction > at || !is_own, "{what} {at}: {instruction}");
            assert!(
                !is_own || layer == program.layers[layers[at]].name,
                "{what} {at}: {instruction} of {layer}"
            );
            assert!(culprit.memory == "dram" && culprit.lane < 64, "{what} {at}: {:?}", culprit.address);
            seen += 1;
        }
        assert!(seen >= 2, "{what}: {seen} of {}", places.len());
    }
}
