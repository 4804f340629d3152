//! Programs with deliberate changes: a change of an output must not be proved.

use std::collections::BTreeMap;

use npukit_drra::internals::artifact::Model;
use npukit_drra::internals::artifact::model::read;
use npukit_drra::internals::executable::{Executable, Ready};
use npukit_drra::internals::gather::Source;
use npukit_drra::internals::machine::Machine;
use npukit_drra::internals::op::{Op, ResourceOp};
use npukit_drra::internals::plan::{Step, Task};
use npukit_graph::Graph;
use npukit_import::onnx;
use npukit_numeric::Tensor;
use npukit_target::{Compiled, RunOptions, UninitMemory};
use npukit_verify::{judge, prove};

use crate::field::{Random, extended, plain};
use crate::networks::{CALIBRATION, MLP, compile, fabrics, samples};

/// Kinds of changes: of words of kernels, of constants, and of the driver's moves and loads.
const KINDS: [&str; 10] =
    ["bit", "address", "step", "swapped", "dropped", "doubled", "constant", "gather", "place", "call"];

/// Makes one change; `None` if the program has nothing of the kind, or if a kernel no longer runs.
fn mutate(executable: &mut Executable, kind: &str, random: &mut Random) -> Option<()> {
    match kind {
        "constant" | "gather" | "place" => {
            let step = random.below(executable.plan.steps.len());
            let tasks = &mut executable.plan.steps[step].tasks;
            let task = random.below(tasks.len());
            moved(&mut tasks[task], kind, random)
        }
        "call" => {
            let step = random.below(executable.calls.len());
            let calls: Vec<_> = executable.calls[step].iter_mut().flatten().collect();
            let chosen = random.below(calls.len());
            let (call, _) = calls.into_iter().nth(chosen)?;
            let load = random.below(call.loads.len());
            let vectors = &mut call.loads[load].vectors;
            *vectors = match vectors.start.checked_sub(1) {
                Some(start) => start..vectors.end - 1,
                None => 1..vectors.end + 1,
            };
            Some(())
        }
        _ => {
            let kernel = random.below(executable.kernels.len());
            let ready = &mut executable.kernels[kernel];
            let program = &mut ready.compiled.program;
            let ops = program.decode(&executable.fabric).unwrap();
            let chosen = random.below(program.cells.len());
            let (&place, words) = program.cells.iter_mut().nth(chosen)?;
            reworded(words, &ops[executable.fabric.index(place)?], kind, random)?;
            // The stated cycles are updated, so that they do not reveal the change.
            let mut machine = Machine::new(&executable.fabric, program).ok()?;
            let cycles = machine.run(ready.kernel.limit(), &mut ()).ok()?.cycles;
            ready.compiled.cycles = i64::try_from(cycles).ok();
            Some(())
        }
    }
}

/// Makes one change in the words of a cell.
fn reworded(words: &mut Vec<u32>, ops: &[Op], kind: &str, random: &mut Random) -> Option<()> {
    let of = |is: fn(&ResourceOp) -> bool| {
        let is = |op: &Op| matches!(op, Op::Resource { op, .. } if is(op));
        ops.iter().enumerate().filter(|(_, op)| is(op)).map(|(at, _)| at).collect::<Vec<_>>()
    };
    // The lower bits of a word hold its first address or its number of repetitions.
    let (of_kind, bits) = match kind {
        "address" => (of(|op| matches!(op, ResourceOp::Dsu { .. })), 8),
        "step" => (of(|op| matches!(op, ResourceOp::Rep { .. })), 20),
        _ => ((0..words.len()).collect(), 32),
    };
    let &at = of_kind.get(random.below(of_kind.len()))?;
    let other = (at + 1 + random.below(4)) % words.len();
    match kind {
        "swapped" => words.swap(at, other),
        "dropped" => drop(words.remove(at)),
        "doubled" => words[other] = words[at],
        _ => words[at] ^= 1 << random.below(bits),
    }
    Some(())
}

/// Makes one change in a move or a load.
fn moved(task: &mut Task, kind: &str, random: &mut Random) -> Option<()> {
    match kind {
        "constant" => {
            let mut operands = task.operands_mut().into_iter();
            let words = operands.find_map(|gather| match &mut gather.source {
                Source::Constant(words) => Some(words),
                Source::Value(_) => None,
            })?;
            let mut changed = words.to_vec();
            let (at, other) = (random.below(changed.len()), random.below(changed.len()));
            match random.below(3) {
                0 => changed.swap(at, other),
                1 => changed.rotate_left(1),
                _ => {}
            }
            if changed[..] == words[..] {
                changed[at] ^= 1 << random.below(16);
            }
            *words = changed.into();
        }
        "gather" => {
            let operands = task.operands_mut();
            let chosen = random.below(operands.len());
            let gather = operands.into_iter().nth(chosen)?;
            let axes = if random.below(2) == 0 { &mut gather.vectors } else { &mut gather.elements };
            match axes.len() {
                0 => gather.offset ^= 1,
                count => axes[random.below(count)].1 ^= 1 << random.below(3),
            }
        }
        _ => {
            let (Task::Vectors { to, .. }
            | Task::Dots { to, .. }
            | Task::Nest { to, .. }
            | Task::Move { to, .. }) = task
            else {
                return None;
            };
            let axis = random.below(to.axes.len());
            to.axes[axis].1 ^= 1 << random.below(3);
        }
    }
    Some(())
}

/// Returns the outputs for each sample; `None` if the machine stops, or if hardware would behave
/// differently.
fn results(model: &Model, inputs: &[Tensor]) -> Option<Vec<Vec<i32>>> {
    let name = &model.executable.plan.values[model.executable.plan.inputs[0]].name;
    let options = RunOptions { unset: UninitMemory::Garbage(3), ..RunOptions::default() };
    let run = |input: &Tensor| model.run_with(&[(name.clone(), input.clone())], &options).ok();
    let outputs = inputs.iter().map(|input| Some(run(input)?.outputs)).collect::<Option<Vec<_>>>()?;
    Some(outputs.into_iter().flatten().map(|output| output.raw).collect())
}

/// Program of a model.
struct Subject {
    name: String,
    model: Model,
    graph: Graph,
    inputs: Vec<Tensor>,
}

impl Subject {
    fn new(name: String, (executable, graph): (Executable, Graph)) -> Self {
        let shape = graph.shape(graph.inputs[0]).to_vec();
        let inputs = (0..3).map(|seed| Random(seed).tensor(&shape)).collect();
        let model = Model::new("m".to_owned(), "drra:test".to_owned(), executable, 0);
        Self { name, model, graph, inputs }
    }

    /// Reads the program from its files, as a user would.
    fn reread(&self, executable: Executable) -> Option<Model> {
        let Model { name, target, macs, .. } = self.model.clone();
        let files = Model::new(name, target, executable, macs).files().ok()?;
        let files: BTreeMap<_, _> = files.into_iter().map(|file| (file.name, file.bytes)).collect();
        let give = |path: &str| Ok(files[path].clone());
        read("m.plan.json", &give).ok()
    }

    fn is_proved(&self, model: &Model) -> bool {
        let Ok(field) = model.in_field() else { return false };
        judge(&self.graph, &*field, &[1, 2]).is_ok_and(|proof| proof.is_proved())
    }

    /// Returns five numbers of changes for each kind: made; refused by the reader or the machine;
    /// changing an output; changing an output and proved nevertheless; changing no output and not
    /// proved.
    fn table(&self, count: usize) -> BTreeMap<&'static str, [usize; 5]> {
        let expected = results(&self.model, &self.inputs);
        assert!(expected.is_some() && self.is_proved(&self.model), "{}", self.name);
        let mut random = Random(count as u64);
        let mut table: BTreeMap<&'static str, [usize; 5]> = BTreeMap::new();
        for number in 0..count {
            let kind = KINDS[number % KINDS.len()];
            let mut mutant = self.model.executable.clone();
            let changed = (0..20).find_map(|_| {
                mutant = self.model.executable.clone();
                mutate(&mut mutant, kind, &mut random)
            });
            let row = table.entry(kind).or_default();
            row[0] += 1;
            let read = changed.and_then(|()| self.reread(mutant));
            let Some((read, found)) = read.and_then(|read| Some((results(&read, &self.inputs)?, read)))
            else {
                row[1] += 1;
                continue;
            };
            let is_proved = self.is_proved(&found);
            if Some(&read) == expected.as_ref() {
                row[4] += usize::from(!is_proved);
            } else {
                row[2] += 1;
                row[3] += usize::from(is_proved);
                if is_proved {
                    eprintln!("{}: change {number}, {kind}, is not seen", self.name);
                }
            }
        }
        table
    }
}

fn subjects() -> Vec<Subject> {
    let [(_, wide), (_, narrow), (_, whole)] = fabrics();
    let mlp = onnx::read(MLP, "digits_mlp", &Default::default()).unwrap().graph;
    let mlp = |fabric| (compile(fabric, &mlp, &samples(CALIBRATION)), mlp.clone());
    let subject = |name: &str, compiled| Subject::new(name.to_owned(), compiled);
    vec![
        subject("operators, 3x4 with extensions", plain().compiled(&wide)),
        subject("operators of the extension, 3x4", extended().compiled(&wide)),
        subject("operators, 3x1 with 11 fraction bits", plain().compiled(&narrow)),
        subject("digits perceptron, 3x1", mlp(&whole)),
    ]
}

/// `NPUKIT_MUTATIONS=500` makes that many changes; the default is for every day.
#[test]
fn what_changes_an_output_is_not_proved() {
    let all = std::env::var("NPUKIT_MUTATIONS").map_or(40, |count| count.parse().unwrap());
    let subjects = subjects();
    let (mut made, mut ran, mut missed) = (0, 0, 0);
    for subject in &subjects {
        eprintln!(
            "{}: made, refused, changing an output, of these proved, unchanged output but not proved",
            subject.name
        );
        for (kind, row) in subject.table(all / subjects.len()) {
            eprintln!("  {kind:<9} {row:?}");
            (made, ran, missed) = (made + row[0], ran + row[0] - row[1], missed + row[3]);
        }
    }
    eprintln!("{made} changes, {ran} of them run");
    assert_eq!(missed, 0);
    assert!(ran > made * 2 / 5, "{ran} of {made} run: what is refused judges nothing");
}

/// A wrong address of the output buffer is found, with the instruction, the call and the row.
#[test]
fn a_wrong_constant_is_found_where_its_result_is_written() {
    let [(_, wide), ..] = fabrics();
    let subject = Subject::new("operators".to_owned(), plain().compiled(&wide));
    let mut executable = subject.model.executable.clone();
    let is_conv = |step: &Step| step.op == "Conv" && !step.is_host();
    let step = executable.plan.steps.iter().position(is_conv).unwrap();
    let gather = executable.plan.steps[step].tasks[0].operands_mut().remove(0);
    let Source::Constant(words) = &mut gather.source else { panic!("filters stay") };
    // The last words are weights of the last filter.
    let mut changed = words.to_vec();
    *changed.last_mut().unwrap() ^= 4;
    *words = changed.into();
    let Model { name, target, macs, .. } = subject.model.clone();
    let model = Model::new(name, target, executable, macs);
    let proof = prove(&subject.graph, &*model.in_field().unwrap(), &[1]).unwrap();
    let culprit = proof.counterexample.unwrap().culprit.unwrap();
    assert_eq!(culprit.layer.as_deref(), Some("y0"));
    assert!(culprit.memory.starts_with("output buffer, call "), "{culprit:?}");
    let before: usize =
        model.executable.kernels.iter().map(|ready: &Ready| ready.compiled.program.instructions()).sum();
    assert!(culprit.instruction.is_some_and(|instruction| instruction < before), "{culprit:?}");
}
