//! Programs under a debugger: what a machine says of a step, held against what the step does.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use npukit_target::{
    Accessed, AddressRun, Compiled, HandOptions, Instance, Machine, MachineMemory, MachineOptions, NoFiles,
    Operand, Placed, PlacedKind, Scalar, SegmentPlan, SegmentedInstance, TargetError,
};

use crate::compiled::Subject;
use crate::graphs::divided_graph;
use crate::{Random, Suite};

/// Steps after which all numbers are looked at, of a program.
const LOOKED: usize = 600;
/// Numbers of a memory that are looked at as a whole at most.
const WHOLE: u64 = 1 << 15;
/// Addresses around those that a program uses that are looked at, too.
const AROUND: u64 = 16;
/// Texts of a graph that are tried by hand.
const TEXTS: usize = 2;
/// Steps of a program whose operands are tried.
const STEPS: usize = 12;
/// Numbers that are changed before each of them.
const CHANGED: usize = 16;

/// What came of changing numbers before a step.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    /// Operands that were changed.
    told: usize,
    /// Those of them with which the result changed.
    effective: usize,
    /// Other numbers that were changed.
    untold: usize,
}

impl Suite {
    /// In every program, no number of a memory changes in a step that does not say it writes there.
    pub fn writes(&self) {
        let mut changes = 0;
        self.each_machine(|name, mut machine| changes += self.untold_writes(name, &mut *machine));
        assert!(changes > 0 || !self.is_debugged(), "no number of any memory has changed");
    }

    /// Where a machine computes in float beside its numbers, outputs are what the graph says.
    pub fn floats(&self) {
        let mut judged = 0;
        self.each_compiled(|_, subject, compiled| {
            let Some(mut machine) = with_graph(subject, compiled) else { return };
            while machine.position() < machine.steps() {
                machine.step().unwrap_or_else(|error| panic!("{}: {error}", subject.name));
            }
            judged += judge_floats(subject, compiled, &*machine, self.floats);
        });
        assert!(judged > 0 || !self.is_debugged(), "no output was compared in float");
    }

    /// No number that a step does not name among the operands of a result changes the result; of those named, many do.
    pub fn operands(&self) {
        let mut all = Tried::default();
        self.each_machine(|name, machine| {
            let Tried { told, effective, untold } = untold_operands(name, machine);
            all = Tried {
                told: all.told + told,
                effective: all.effective + effective,
                untold: all.untold + untold,
            };
        });
        let is_tried = all.told > 0 && all.untold > 0;
        assert!(is_tried || !self.is_debugged(), "too little was changed: {all:?}");
        let is_enough = all.effective as f64 >= self.operands_with_effect * all.told as f64;
        assert!(is_enough, "too few operands have an effect: {all:?}");
    }

    /// A program in segments goes through all of them under a debugger, with what the host does between, to the outputs of a
    /// run.
    pub fn segments(&self) {
        for (instance, _) in self.instances() {
            let instance: Arc<dyn Instance> = Arc::from(instance);
            let subject = Subject::new(&*instance, "divided", &divided_graph());
            let Some(compiled) = divided(&instance, &subject) else { continue };
            let machine = compiled.machine(&subject.inputs(), &MachineOptions::default());
            let mut machine = match machine {
                Err(TargetError::Unsupported { .. }) => continue,
                machine => machine.unwrap_or_else(|error| panic!("{}: {error}", subject.name)),
            };
            let begins = machine.fork();
            let names: Vec<String> = (0..machine.steps()).filter_map(|step| machine.told(step)).collect();
            assert!(names.iter().any(|told| told == "the host computes `up`"), "{}: {names:?}", subject.name);
            assert!(
                {
                    let end = machine.steps();
                    reach(&mut *machine, end)
                },
                "{}",
                subject.name
            );
            let expected =
                compiled.run(&subject.inputs()).unwrap_or_else(|error| panic!("{}: {error}", subject.name));
            let outputs = machine.placed().iter().filter(|placed| placed.kind == PlacedKind::Output);
            let found =
                outputs.filter_map(|Placed { run, .. }| machine.read(run.memory, run.first, run.count).ok());
            let found: Vec<i64> = found.flatten().collect();
            for output in expected.outputs {
                let is_there = output.raw.iter().all(|&raw| found.contains(&raw.into()));
                assert!(is_there, "{}: `{}` is not in memory", subject.name, output.name);
            }
            untold_operands(&subject.name, begins);
        }
    }

    /// Whether the target's machine takes steps of compiled programs.
    fn is_debugged(&self) -> bool {
        let mut found = false;
        self.each_compiled(|_, subject, compiled| {
            found |= compiled.machine(&subject.inputs(), &MachineOptions::default()).is_ok();
        });
        found
    }

    /// Runs a program, and looks after each step, of a long one after some that follow each other, for numbers that changed
    /// where it does not write. Gives the changes.
    fn untold_writes(&self, name: &str, machine: &mut dyn Machine) -> usize {
        let mut regions = regions(machine);
        regions.retain(|run| !self.counters.contains(&machine.memories()[run.memory].name.as_str()));
        let first = Random::new(5).below(machine.steps().saturating_sub(LOOKED).max(1));
        reach(machine, first);
        let mut before: Vec<Vec<Option<Vec<i64>>>> =
            regions.iter().map(|&run| numbers(machine, run)).collect();
        let mut changes = 0;
        while machine.position() < machine.steps().min(first + LOOKED) {
            let step = machine.position();
            // Programs by hand may stop.
            if machine.step().is_err() {
                break;
            }
            let writes = machine.accesses(step).into_iter().filter(|accessed| accessed.is_write);
            let writes: Vec<AddressRun> = writes.map(|accessed| accessed.run).collect();
            for (run, before) in regions.iter().zip(&mut before) {
                let now = numbers(machine, *run);
                for (address, (was, is)) in (run.first..).zip(before.iter().zip(&now)) {
                    if was == is || is.is_none() {
                        continue;
                    }
                    changes += 1;
                    let memory = &machine.memories()[run.memory].name;
                    let is_told = writes
                        .iter()
                        .any(|write| write.memory == run.memory && write.place(address).is_some());
                    assert!(
                        is_told,
                        "{name}, step {step}: {memory}[{address}] changes from {was:?} to {is:?}, untold"
                    );
                }
                *before = now;
            }
        }
        changes
    }

    /// Calls `each` with every small graph under a debugger, as it was compiled, and its text by hand on memories that hold
    /// something.
    fn each_machine(&self, mut each: impl FnMut(&str, Box<dyn Machine>)) {
        self.each_compiled(|instance, subject, compiled| {
            match compiled.machine(&subject.inputs(), &MachineOptions::default()) {
                Ok(machine) => each(&subject.name, machine),
                Err(TargetError::Unsupported { .. }) => {}
                Err(error) => panic!("{}: {error}", subject.name),
            }
            let name = format!("{}, by hand", subject.name);
            self.by_hand(instance, subject, compiled).for_each(|machine| each(&name, machine));
        });
    }

    /// The texts of a compiled graph as programs by hand; none where the target takes no such programs.
    fn by_hand<'a>(
        &'a self,
        instance: &'a dyn Instance,
        subject: &'a Subject,
        compiled: &dyn Compiled,
    ) -> impl Iterator<Item = Box<dyn Machine>> + 'a {
        self.texts(instance, subject, compiled).into_iter().take(TEXTS).filter_map(|(name, text)| {
            let program = instance.hand_program(&name, text.as_bytes(), &NoFiles).ok()?;
            let mut machine = program.machine(&HandOptions::default()).ok()?;
            let mut random = Random::new(3);
            for (place, memory) in machine.memories().to_vec().iter().enumerate() {
                if memory.depth * memory.lanes as u64 <= WHOLE {
                    let count = memory.depth as usize * memory.lanes;
                    let numbers: Vec<i64> = (0..count).map(|_| any(memory, &mut random)).collect();
                    // What nobody may fill stays as it is.
                    let _ = machine.write(place, 0, &numbers);
                }
            }
            Some(machine)
        })
    }
}

/// A graph in segments; none where the instance takes all of it.
fn divided(instance: &Arc<dyn Instance>, subject: &Subject) -> Option<Box<dyn Compiled>> {
    let fails = |error: TargetError| -> ! { panic!("{}: {error}", subject.name) };
    let problems = instance.check(&subject.graph, &subject.options).unwrap_or_else(|error| fails(error));
    if problems.is_empty() {
        return None;
    }
    let plan = SegmentPlan::new(&**instance, &subject.graph, &subject.options, &problems);
    let plan = plan.unwrap_or_else(|error| fails(error))?;
    let segmented = SegmentedInstance::new(Arc::clone(instance), plan);
    Some(segmented.compile(&subject.graph, &subject.options).unwrap_or_else(|error| fails(error)))
}

/// A machine with its graph beside it; none where there is no debugger.
fn with_graph(subject: &Subject, compiled: &dyn Compiled) -> Option<Box<dyn Machine>> {
    let options = MachineOptions { graph: Some(&subject.graph), ..MachineOptions::default() };
    match compiled.machine(&subject.inputs(), &options) {
        Ok(machine) => Some(machine),
        Err(TargetError::Unsupported { .. }) => None,
        Err(error) => panic!("{}: {error}", subject.name),
    }
}

/// A small number that a memory may hold.
fn any(memory: &MachineMemory, random: &mut Random) -> i64 {
    let (least, most) = memory.range();
    let span = (most - least).min(1 << 16) as usize;
    let low = least.max(-(span as i128) / 2);
    (low + random.below(span.max(1)) as i128).min(most) as i64
}

/// What is looked at of each memory: all of it, or the addresses that the program uses and some around them.
fn regions(machine: &dyn Machine) -> Vec<AddressRun> {
    let mut used: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for step in 0..machine.steps() {
        for Accessed { run, .. } in machine.accesses(step) {
            let (first, last) = (run.first, run.at(run.count.saturating_sub(1)));
            used.entry(run.memory).or_default().push((first.saturating_sub(AROUND), last + AROUND + 1));
        }
    }
    let mut regions = Vec::new();
    for (place, memory) in machine.memories().iter().enumerate() {
        if memory.depth * memory.lanes as u64 <= WHOLE {
            regions.push(AddressRun::dense(place, 0, memory.depth));
            continue;
        }
        let mut parts = used.remove(&place).unwrap_or_default(); // Default: it is not used.
        parts.sort_unstable();
        let mut left = WHOLE;
        let mut end = 0;
        for (first, behind) in parts {
            let (first, behind) = (first.max(end), behind.min(memory.depth).min(first.max(end) + left));
            if first < behind {
                regions.push(AddressRun::dense(place, first, behind - first));
                (left, end) = (left - (behind - first), behind);
            }
        }
    }
    regions
}

/// The numbers at each address of a run; none at those that cannot be read.
fn numbers(machine: &dyn Machine, run: AddressRun) -> Vec<Option<Vec<i64>>> {
    let lanes = machine.memories()[run.memory].lanes;
    match machine.read(run.memory, run.first, run.count) {
        Ok(numbers) => numbers.chunks(lanes).map(|numbers| Some(numbers.to_vec())).collect(),
        Err(_) if run.count == 1 => vec![None],
        Err(_) => {
            let half = run.count / 2;
            let parts = [(run.first, half), (run.first + half, run.count - half)];
            let parts = parts.map(|(first, count)| numbers(machine, AddressRun { first, count, ..run }));
            parts.into_iter().flatten().collect()
        }
    }
}

/// Whether the values of outputs, which the host leaves as they are, are among the floats where outputs lie, all times the
/// same power of two. Gives how many were compared.
fn judge_floats(subject: &Subject, compiled: &dyn Compiled, machine: &dyn Machine, share: f64) -> usize {
    let report = compiled.report();
    let outputs = machine.placed().iter().filter(|placed| placed.kind == PlacedKind::Output);
    let found =
        outputs.filter_map(|placed| machine.floats(placed.run.memory, placed.run.first, placed.run.count));
    let mut found: Vec<f64> = found.flatten().filter(|float| !float.is_nan()).collect();
    found.sort_by(f64::total_cmp);
    let mut judged = 0;
    for (id, expected) in subject.graph.outputs.iter().zip(subject.expected()) {
        let name = &subject.graph.value(*id).name;
        if machine.floats_are().is_none() || report.host_steps.iter().any(|step| &step.output == name) {
            continue;
        }
        let values: Vec<f64> =
            expected.as_f32().expect("outputs are floats").iter().map(|&value| value.into()).collect();
        let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let is_there = |value: f64, scale: f64| {
            let tolerance = share * largest * scale;
            let place = found.partition_point(|float| *float < value * scale - tolerance);
            found.get(place).is_some_and(|float| *float <= value * scale + tolerance)
        };
        let is_found = |exponent: &i32| values.iter().all(|&value| is_there(value, 2f64.powi(*exponent)));
        assert!((-24..=24).any(|exponent| is_found(&exponent)), "{}: `{name}` in float", subject.name);
        judged += 1;
    }
    judged
}

/// Changes numbers before steps, and sees whether results do; panics where one does with what is no operand of it.
fn untold_operands(name: &str, mut machine: Box<dyn Machine>) -> Tried {
    let start = machine.fork();
    let mut random = Random::new(4);
    let mut tried = Tried::default();
    let computes = |&step: &usize| {
        let accesses = machine.accesses(step);
        [false, true].iter().all(|is_write| accesses.iter().any(|accessed| accessed.is_write == *is_write))
    };
    let computing: Vec<usize> = (0..machine.steps()).filter(computes).collect();
    let mut chosen: Vec<usize> =
        (0..STEPS).filter_map(|_| computing.get(random.below(computing.len().max(1)))).copied().collect();
    chosen.sort_unstable();
    chosen.dedup();
    for step in chosen {
        // Programs by hand may stop.
        if !reach(&mut *machine, step) {
            break;
        }
        let writes = machine.accesses(step).into_iter().filter(|accessed| accessed.is_write);
        let writes: Vec<AddressRun> = writes.map(|accessed| accessed.run).collect();
        let result = one_of(&*machine, writes[random.below(writes.len())], &mut random);
        let told = machine.operands(step, result);
        // Behind the last moment in which an operand became what is used, nothing between it and the result is written.
        // Default: operands are what they are before the step.
        let moment = told.iter().map(|operand| operand.since.unwrap_or(step)).max().unwrap_or(step);
        let mut before = start.fork();
        if moment >= step {
            try_result(name, &*machine, (step, result), &told, &mut random, &mut tried);
        } else if reach(&mut *before, moment) {
            try_result(name, &*before, (step, result), &told, &mut random, &mut tried);
        }
    }
    tried
}

/// Goes on to a step; whether it gets there.
fn reach(machine: &mut dyn Machine, step: usize) -> bool {
    while machine.position() < step {
        if machine.step().is_err() {
            return false;
        }
    }
    true
}

/// A number of those that a run has.
fn one_of(machine: &dyn Machine, run: AddressRun, random: &mut Random) -> Scalar {
    let address = run.at(random.below(run.count.max(1) as usize) as u64);
    Scalar { memory: run.memory, address, lane: random.below(machine.memories()[run.memory].lanes) }
}

/// Changes numbers where a machine stands, and looks at a result that a step writes, which is this one or comes later.
fn try_result(
    name: &str,
    machine: &dyn Machine,
    (step, result): (usize, Scalar),
    told: &[Operand],
    random: &mut Random,
    tried: &mut Tried,
) {
    let Some(expected) = outcome(machine, step, result) else { return };
    let reads = (machine.position()..=step).flat_map(|step| machine.accesses(step));
    let reads: Vec<AddressRun> =
        reads.filter(|accessed| !accessed.is_write).map(|accessed| accessed.run).collect();
    for turn in 0..CHANGED {
        // Of what is changed some in turn is an operand.
        let operand = told.get(random.below(told.len().max(1))).filter(|_| turn % 2 == 0);
        let changed = match operand {
            Some(&Operand { run, lane, .. }) => {
                let any = one_of(machine, run, random);
                Scalar { lane: lane.unwrap_or(any.lane), ..any } // Default: one of all numbers.
            }
            None => one_of(machine, reads[random.below(reads.len())], random),
        };
        let number = any(&machine.memories()[changed.memory], random);
        let Some((other, is_told)) = with_change(machine, (changed, number), told) else { continue };
        let Some(found) = outcome(&*other, step, result) else { continue };
        tried.told += usize::from(is_told);
        tried.untold += usize::from(!is_told);
        tried.effective += usize::from(is_told && found != expected);
        let text = |scalar: Scalar| {
            let memory = &machine.memories()[scalar.memory].name;
            format!("{memory}[{}].{}", scalar.address, scalar.lane)
        };
        assert!(
            is_told || found == expected,
            "{name}, step {step}: {} changes with {}, which is none of its operands {told:?}",
            text(result),
            text(changed)
        );
    }
}

/// The machine with a number changed, and whether one of the operands told is another then; none where it cannot be changed.
fn with_change(
    machine: &dyn Machine,
    (Scalar { memory, address, lane }, number): (Scalar, i64),
    told: &[Operand],
) -> Option<(Box<dyn Machine>, bool)> {
    let mut numbers = machine.read(memory, address, 1).ok()?;
    if std::mem::replace(&mut numbers[lane], number) == number {
        return None;
    }
    let mut other = machine.fork();
    other.write(memory, address, &numbers).ok()?;
    let is_other = told.iter().any(|operand| held(machine, operand) != held(&*other, operand));
    Some((other, is_other))
}

/// The numbers of an operand.
fn held(machine: &dyn Machine, Operand { run, lane, .. }: &Operand) -> Vec<Option<i64>> {
    let lanes = machine.memories()[run.memory].lanes;
    let wanted = lane.map_or(0..lanes, |lane| lane..lane + 1);
    let mut known: HashMap<u64, Option<Vec<i64>>> = HashMap::new();
    let at = |place| {
        let address = run.at(place);
        let numbers = known.entry(address).or_insert_with(|| machine.read(run.memory, address, 1).ok());
        numbers.clone()
    };
    let all: Vec<Option<Vec<i64>>> = (0..run.count).map(at).collect();
    all.into_iter()
        .flat_map(|numbers| {
            wanted.clone().map(move |lane| numbers.as_ref().and_then(|numbers| numbers.get(lane).copied()))
        })
        .collect()
}

/// A number behind a step; none where the machine stops before, or where it cannot be read.
fn outcome(machine: &dyn Machine, step: usize, result: Scalar) -> Option<i64> {
    let mut machine = machine.fork();
    reach(&mut *machine, step + 1).then_some(())?;
    let numbers = machine.read(result.memory, result.address, 1).ok()?;
    numbers.get(result.lane).copied()
}
