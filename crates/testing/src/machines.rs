//! Programs in the debugger: checks what a machine reports of a step against the effect of the
//! step.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use npukit_target::{
    Accessed, AddressRun, AsmOptions, Compiled, Instance, Machine, MachineMemory, MachineOptions, NoFiles,
    Operand, Placed, PlacedKind, Scalar, SegmentPlan, SegmentedInstance, TargetError,
};

use crate::compiled::Subject;
use crate::graphs::divided_graph;
use crate::{Random, Suite};

/// Number of steps of a program after which all numbers are compared.
const LOOKED: usize = 600;
/// Largest memory that is compared as a whole, in numbers.
const WHOLE: u64 = 1 << 15;
/// Number of compared addresses around each used address.
const AROUND: u64 = 16;
/// Number of texts of a graph that are run as assembly programs.
const TEXTS: usize = 2;
/// Number of steps of a program whose operands are changed.
const STEPS: usize = 12;
/// Numbers changed before each of these steps.
const CHANGED: usize = 16;

/// Effects of changed numbers on results.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    /// Number of changed operands.
    declared: usize,
    /// Number of changed operands that changed the result.
    effective: usize,
    /// Number of other changed numbers.
    undeclared: usize,
}

impl Suite {
    /// Tests that no number of a memory changes in a step that does not report writing it.
    pub fn writes(&self) {
        let mut changes = 0;
        self.each_machine(|name, mut machine| changes += self.untold_writes(name, &mut *machine));
        assert!(changes > 0 || !self.is_debugged(), "the programs did not change any memory");
    }

    /// Tests that outputs equal the graph's where a machine also computes in float.
    pub fn floats(&self) {
        let mut judged = 0;
        self.each_compiled(|_, subject, compiled| {
            let Some(mut machine) = with_graph(subject, compiled) else { return };
            while machine.position() < machine.steps() {
                machine.step().unwrap_or_else(|error| panic!("{}: {error}", subject.name));
            }
            judged += judge_floats(subject, compiled, &*machine, self.floats);
        });
        assert!(judged > 0 || !self.is_debugged(), "no float output was compared");
    }

    /// Tests that a result changes only with the operands that its step reports, and that many of
    /// these have an effect.
    pub fn operands(&self) {
        let mut all = Tried::default();
        self.each_machine(|name, machine| {
            let Tried { declared, effective, undeclared } = undeclared_operands(name, machine);
            all = Tried {
                declared: all.declared + declared,
                effective: all.effective + effective,
                undeclared: all.undeclared + undeclared,
            };
        });
        let is_tried = all.declared > 0 && all.undeclared > 0;
        assert!(is_tried || !self.is_debugged(), "too little was changed: {all:?}");
        let is_enough = all.effective as f64 >= self.operands_with_effect * all.declared as f64;
        assert!(is_enough, "too few operands have an effect: {all:?}");
    }

    /// Tests that the debugger runs through all segments of a program, and the host's work between
    /// them, to the outputs of a run.
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
            let names: Vec<String> =
                (0..machine.steps()).filter_map(|step| machine.described(step)).collect();
            assert!(names.iter().any(|name| name == "the host computes `up`"), "{}: {names:?}", subject.name);
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
            undeclared_operands(&subject.name, begins);
        }
    }

    /// Whether the target's machine can step through compiled programs.
    fn is_debugged(&self) -> bool {
        let mut found = false;
        self.each_compiled(|_, subject, compiled| {
            found |= compiled.machine(&subject.inputs(), &MachineOptions::default()).is_ok();
        });
        found
    }

    /// Runs a program, and looks for numbers that a step changed but did not report. Steps of a
    /// long program are sampled after some consecutive ones. Returns the number of changes.
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
            // Assembly programs may stop with an error.
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
                    let is_declared = writes
                        .iter()
                        .any(|write| write.memory == run.memory && write.place(address).is_some());
                    assert!(
                        is_declared,
                        "{name}, step {step}: {memory}[{address}] changes from {was:?} to {is:?}, but the step does not report it"
                    );
                }
                *before = now;
            }
        }
        changes
    }

    /// Calls `each` with every small graph in the debugger, and with its text as an assembly
    /// program on initialized memories.
    fn each_machine(&self, mut each: impl FnMut(&str, Box<dyn Machine>)) {
        self.each_compiled(|instance, subject, compiled| {
            match compiled.machine(&subject.inputs(), &MachineOptions::default()) {
                Ok(machine) => each(&subject.name, machine),
                Err(TargetError::Unsupported { .. }) => {}
                Err(error) => panic!("{}: {error}", subject.name),
            }
            let name = format!("{}, as an assembly program", subject.name);
            self.asm_machines(instance, subject, compiled).for_each(|machine| each(&name, machine));
        });
    }

    /// Runs the texts of a compiled graph as assembly programs. Empty if the target does not
    /// support them.
    fn asm_machines<'a>(
        &'a self,
        instance: &'a dyn Instance,
        subject: &'a Subject,
        compiled: &dyn Compiled,
    ) -> impl Iterator<Item = Box<dyn Machine>> + 'a {
        self.texts(instance, subject, compiled).into_iter().take(TEXTS).filter_map(|(name, text)| {
            let program = instance.asm_program(&name, text.as_bytes(), &NoFiles).ok()?;
            let mut machine = program.machine(&AsmOptions::default()).ok()?;
            let mut random = Random::new(3);
            for (place, memory) in machine.memories().to_vec().iter().enumerate() {
                if memory.depth * memory.lanes as u64 <= WHOLE {
                    let count = memory.depth as usize * memory.lanes;
                    let numbers: Vec<i64> = (0..count).map(|_| any(memory, &mut random)).collect();
                    // Read-only memories keep their content.
                    let _ = machine.write(place, 0, &numbers);
                }
            }
            Some(machine)
        })
    }
}

/// Compiles a graph in segments; `None` if the instance supports the whole graph.
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

/// Starts the debugger with float values of the graph; `None` if the target has no debugger.
fn with_graph(subject: &Subject, compiled: &dyn Compiled) -> Option<Box<dyn Machine>> {
    let options = MachineOptions { graph: Some(&subject.graph), ..MachineOptions::default() };
    match compiled.machine(&subject.inputs(), &options) {
        Ok(machine) => Some(machine),
        Err(TargetError::Unsupported { .. }) => None,
        Err(error) => panic!("{}: {error}", subject.name),
    }
}

/// Returns a small number that a memory can store.
fn any(memory: &MachineMemory, random: &mut Random) -> i64 {
    let (least, most) = memory.range();
    let span = (most - least).min(1 << 16) as usize;
    let low = least.max(-(span as i128) / 2);
    (low + random.below(span.max(1)) as i128).min(most) as i64
}

/// Compared addresses of each memory: all, or the addresses that the program uses and some around
/// them.
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
        let mut parts = used.remove(&place).unwrap_or_default(); // Default: the memory is not used.
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

/// Reads the numbers at each address of a run; `None` for addresses that cannot be read.
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

/// Checks that the values of outputs that the host does not change are among the floats at the
/// outputs' addresses, up to a common power of two. Returns the number of compared values.
fn judge_floats(subject: &Subject, compiled: &dyn Compiled, machine: &dyn Machine, share: f64) -> usize {
    let report = compiled.report();
    let outputs = machine.placed().iter().filter(|placed| placed.kind == PlacedKind::Output);
    let found =
        outputs.filter_map(|placed| machine.floats(placed.run.memory, placed.run.first, placed.run.count));
    let mut found: Vec<f64> =
        found.flat_map(|floats| floats.values).filter(|float| !float.is_nan()).collect();
    found.sort_by(f64::total_cmp);
    let mut judged = 0;
    for (id, expected) in subject.graph.outputs.iter().zip(subject.expected()) {
        let name = &subject.graph.value(*id).name;
        if !machine.has_floats() || report.host_steps.iter().any(|step| &step.output == name) {
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

/// Changes numbers before steps and compares results. Panics if a result changes with a number that
/// is not one of its operands.
fn undeclared_operands(name: &str, mut machine: Box<dyn Machine>) -> Tried {
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
        // Assembly programs may stop with an error.
        if !reach(&mut *machine, step) {
            break;
        }
        let writes = machine.accesses(step).into_iter().filter(|accessed| accessed.is_write);
        let writes: Vec<AddressRun> = writes.map(|accessed| accessed.run).collect();
        let result = one_of(&*machine, writes[random.below(writes.len())], &mut random);
        let declared = machine.operands(step, result);
        // After the last operand reached its final value, nothing between it and the result is
        // written.
        let moment = declared.iter().map(|operand| operand.since.unwrap_or(step)).max().unwrap_or(step);
        let mut before = start.fork();
        if moment >= step {
            try_result(name, &*machine, (step, result), &declared, &mut random, &mut tried);
        } else if reach(&mut *before, moment) {
            try_result(name, &*before, (step, result), &declared, &mut random, &mut tried);
        }
    }
    tried
}

/// Continues to a step; returns whether it was reached.
fn reach(machine: &mut dyn Machine, step: usize) -> bool {
    while machine.position() < step {
        if machine.step().is_err() {
            return false;
        }
    }
    true
}

/// Picks a random number of an address run.
fn one_of(machine: &dyn Machine, run: AddressRun, random: &mut Random) -> Scalar {
    let address = run.at(random.below(run.count.max(1) as usize) as u64);
    Scalar { memory: run.memory, address, lane: random.below(machine.memories()[run.memory].lanes) }
}

/// Changes numbers at the current step, and compares a result that this or a later step writes.
fn try_result(
    name: &str,
    machine: &dyn Machine,
    (step, result): (usize, Scalar),
    declared: &[Operand],
    random: &mut Random,
    tried: &mut Tried,
) {
    let Some(expected) = outcome(machine, step, result) else { return };
    let reads = (machine.position()..=step).flat_map(|step| machine.accesses(step));
    let reads: Vec<AddressRun> =
        reads.filter(|accessed| !accessed.is_write).map(|accessed| accessed.run).collect();
    for turn in 0..CHANGED {
        // Every second changed number is an operand.
        let operand = declared.get(random.below(declared.len().max(1))).filter(|_| turn % 2 == 0);
        let changed = match operand {
            Some(&Operand { run, lane, .. }) => {
                let any = one_of(machine, run, random);
                Scalar { lane: lane.unwrap_or(any.lane), ..any } // Default: a lane picked from all numbers.
            }
            None => one_of(machine, reads[random.below(reads.len())], random),
        };
        let number = any(&machine.memories()[changed.memory], random);
        let Some((other, is_declared)) = with_change(machine, (changed, number), declared) else { continue };
        let Some(found) = outcome(&*other, step, result) else { continue };
        tried.declared += usize::from(is_declared);
        tried.undeclared += usize::from(!is_declared);
        tried.effective += usize::from(is_declared && found != expected);
        let text = |scalar: Scalar| {
            let memory = &machine.memories()[scalar.memory].name;
            format!("{memory}[{}].{}", scalar.address, scalar.lane)
        };
        assert!(
            is_declared || found == expected,
            "{name}, step {step}: {} changes with {}, which is not one of its operands {declared:?}",
            text(result),
            text(changed)
        );
    }
}

/// Copies the machine with one number changed; also returns whether one of the reported operands
/// differs then. `None` if the number cannot be changed.
fn with_change(
    machine: &dyn Machine,
    (Scalar { memory, address, lane }, number): (Scalar, i64),
    declared: &[Operand],
) -> Option<(Box<dyn Machine>, bool)> {
    let mut numbers = machine.read(memory, address, 1).ok()?;
    if std::mem::replace(&mut numbers[lane], number) == number {
        return None;
    }
    let mut other = machine.fork();
    other.write(memory, address, &numbers).ok()?;
    let is_other = declared.iter().any(|operand| held(machine, operand) != held(&*other, operand));
    Some((other, is_other))
}

/// Reads the numbers of an operand.
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

/// Reads a number after a step; `None` if the machine stops before it, or the number cannot be
/// read.
fn outcome(machine: &dyn Machine, step: usize, result: Scalar) -> Option<i64> {
    let mut machine = machine.fork();
    reach(&mut *machine, step + 1).then_some(())?;
    let numbers = machine.read(result.memory, result.address, 1).ok()?;
    numbers.get(result.lane).copied()
}
