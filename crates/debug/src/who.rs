//! Origin of a number: a tree of writers and operands back to constants and inputs.

use std::collections::{BTreeSet, HashSet};

use npukit_target::{AddressRun, Machine, Placed, Scalar};

use crate::Debugger;
use crate::machine::{chain, read};
use crate::place::Range;

/// Maximum number of nodes in a tree; further operands are cut.
const MOST: usize = 256;
/// Maximum number of addresses of a range or operand that are followed.
pub(crate) const ADDRESSES: u64 = 1 << 13;
/// Approximate maximum number of operand addresses collected for one node.
const GATHERED: u64 = 1 << 18;
/// Maximum number of lanes that are followed if all lanes are requested.
const LANES: usize = 64;
/// Number of values stored per node.
const VALUES: usize = 8;

/// Numbers, and the step that wrote them.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Role of the numbers in the parent instruction, in a word or two.
    pub role: &'static str,
    /// Consecutive addresses of the numbers.
    pub run: AddressRun,
    /// Lane at each address; `None` for all lanes.
    pub lane: Option<usize>,
    /// Number of executed steps at which the numbers are read.
    pub at: usize,
    /// First machine values of the numbers at that step.
    pub values: Vec<i64>,
    /// First float reference values at that step; empty if unknown.
    pub floats: Vec<f64>,
    /// Number of values, including those not stored.
    pub count: usize,
    /// Step that wrote the numbers; `None` if no step did.
    pub writer: Option<usize>,
    /// Tensor that contains the numbers, if no step wrote them or the tensor is an output.
    pub placed: Option<String>,
    /// Whether operands are left out: the node is already in the tree, or exceeds a limit.
    pub is_cut: bool,
    /// Operands of the writing step.
    pub from: Vec<Node>,
}

/// Key that groups operands: role, memory, lane, and the number of executed steps when they are
/// read.
type Kind = (&'static str, usize, Option<usize>, usize);

/// State of a search for origins.
struct Search<'a> {
    debugger: &'a Debugger,
    machine: &'a dyn Machine,
    seen: HashSet<(AddressRun, Option<usize>, Option<usize>)>,
    nodes: usize,
}

impl Debugger {
    /// Traces the numbers that a range holds now back by `depth` instructions.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn who(&self, range: &Range, depth: usize) -> Result<Vec<Node>, String> {
        let mut search = Search { debugger: self, machine: &*self.now, seen: HashSet::new(), nodes: 0 };
        let mut nodes = search.nodes("", range.run(), range.lane, self.position(), depth);
        self.evaluate(&mut nodes)?;
        Ok(nodes)
    }

    /// Reads the values of all nodes in the order of steps, so that the program runs at most once.
    fn evaluate(&self, nodes: &mut [Node]) -> Result<(), String> {
        let mut moments = BTreeSet::new();
        nodes.iter().for_each(|node| node.moments(&mut moments));
        let mut machine: Option<Box<dyn Machine>> = None;
        for at in moments {
            let copy = self.copy_before(at).position();
            let here = machine.take().filter(|machine| machine.position() >= copy);
            let mut here = here.map_or_else(|| self.at(at), Ok)?;
            while here.position() < at {
                here.step().map_err(|error| chain(&error))?;
            }
            nodes.iter_mut().for_each(|node| node.evaluate(&*here));
            machine = Some(here);
        }
        Ok(())
    }
}

impl Search<'_> {
    /// Returns the nodes of some addresses: one for each run of addresses that one step wrote.
    fn nodes(
        &mut self,
        role: &'static str,
        run: AddressRun,
        lane: Option<usize>,
        at: usize,
        depth: usize,
    ) -> Vec<Node> {
        let mut groups: Vec<(AddressRun, Option<usize>)> = Vec::new();
        for place in 0..run.count.min(ADDRESSES) {
            let address = run.at(place);
            let writer = self.debugger.last_writer(run.memory, address, at);
            match groups.last_mut() {
                Some((group, by)) if *by == writer && group.first + group.count == address => {
                    group.count += 1
                }
                _ => groups.push((AddressRun::dense(run.memory, address, 1), writer)),
            }
        }
        groups.into_iter().map(|(group, writer)| self.node(role, group, lane, at, writer, depth)).collect()
    }

    fn node(
        &mut self,
        role: &'static str,
        run: AddressRun,
        lane: Option<usize>,
        at: usize,
        writer: Option<usize>,
        depth: usize,
    ) -> Node {
        self.nodes += 1;
        let is_new = self.seen.insert((run, lane, writer));
        let is_end = depth == 0 || !is_new || self.nodes >= MOST;
        let (from, is_cut) = match writer {
            Some(step) if !is_end => self.operands(step, run, lane, depth - 1),
            writer => (Vec::new(), writer.is_some()),
        };
        let placed = if writer.is_none() { self.placed(run) } else { None };
        let (values, floats, count) = (Vec::new(), Vec::new(), 0);
        Node { role, run, lane, at, values, floats, count, writer, placed, is_cut, from }
    }

    /// Returns the operands of some addresses that a step wrote, and whether some were left out.
    fn operands(
        &mut self,
        step: usize,
        run: AddressRun,
        lane: Option<usize>,
        depth: usize,
    ) -> (Vec<Node>, bool) {
        // Addresses by role and place, in the order in which the step has them.
        let mut found: Vec<(Kind, Vec<u64>)> = Vec::new();
        let lanes = match lane {
            Some(lane) => lane..lane + 1,
            None => 0..self.machine.memories()[run.memory].lanes.min(LANES),
        };
        let numbers = (0..run.count).flat_map(|place| lanes.clone().map(move |lane| (run.at(place), lane)));
        let (mut gathered, mut is_cut) = (0, false);
        for (address, number) in numbers {
            if gathered > GATHERED {
                is_cut = true;
                break;
            }
            let scalar = Scalar { memory: run.memory, address, lane: number };
            for operand in self.machine.operands(step, scalar) {
                let lane = operand.lane.filter(|_| lane.is_some());
                let count = operand.run.count.min(ADDRESSES);
                is_cut |= count < operand.run.count;
                gathered += count;
                let addresses = (0..count).map(|place| operand.run.at(place));
                let at = operand.since.unwrap_or(step); // Default: its value before the step.
                let key = (operand.role, operand.run.memory, lane, at);
                match found.iter_mut().find(|(kind, _)| *kind == key) {
                    Some((_, all)) => all.extend(addresses),
                    None => found.push((key, addresses.collect())),
                }
            }
        }
        let mut nodes = Vec::new();
        for ((role, memory, lane, at), mut addresses) in found {
            addresses.sort_unstable();
            addresses.dedup();
            for run in runs(memory, &addresses) {
                if self.nodes >= MOST {
                    return (nodes, true);
                }
                nodes.extend(self.nodes(role, run, lane, at, depth));
            }
        }
        (nodes, is_cut)
    }

    /// Returns the tensor that contains addresses which no step wrote.
    fn placed(&self, run: AddressRun) -> Option<String> {
        let (start, end) = (run.first, run.first + run.count);
        let found =
            self.machine.placed().iter().find(|Placed { run: of, .. }| of.meets(run.memory, start, end));
        let filled = || self.debugger.filled(run);
        found
            .map(|Placed { name, kind, .. }| match kind.name() {
                kind if name.starts_with(kind) => name.clone(),
                kind => format!("{kind} `{name}`"),
            })
            .or_else(filled)
    }
}

/// Reads the first addresses that can be read, as a buffer may be smaller than its memory.
fn readable(machine: &dyn Machine, mut run: AddressRun) -> Vec<i64> {
    loop {
        match read(machine, run) {
            Ok(numbers) => return numbers,
            Err(_) if run.count > 1 => run.count /= 2,
            Err(_) => return Vec::new(),
        }
    }
}

/// Groups sorted addresses into runs without a gap.
fn runs(memory: usize, addresses: &[u64]) -> Vec<AddressRun> {
    let mut runs: Vec<AddressRun> = Vec::new();
    for &address in addresses {
        match runs.last_mut() {
            Some(run) if run.first + run.count == address => run.count += 1,
            _ => runs.push(AddressRun::dense(memory, address, 1)),
        }
    }
    runs
}

impl Node {
    /// Collects the steps at which this node and its descendants are read.
    fn moments(&self, moments: &mut BTreeSet<usize>) {
        moments.insert(self.at);
        self.from.iter().for_each(|node| node.moments(moments));
    }

    /// Reads the values of all nodes that are read at the current step of `machine`.
    fn evaluate(&mut self, machine: &dyn Machine) {
        self.from.iter_mut().for_each(|node| node.evaluate(machine));
        if self.at != machine.position() {
            return;
        }
        let lanes = machine.memories()[self.run.memory].lanes;
        let range = Range {
            text: String::new(),
            memory: self.run.memory,
            start: self.run.first,
            end: self.run.first + self.run.count,
            lane: self.lane,
        };
        let numbers = range.chosen(&readable(machine, self.run), lanes);
        self.count = numbers.len();
        self.values = numbers.into_iter().take(VALUES).collect();
        let floats = machine.floats(self.run.memory, self.run.first, self.run.count);
        // Default: without a model, float values are unknown.
        let floats = floats.map(|floats| range.chosen(&floats.values, lanes)).unwrap_or_default();
        self.floats = floats.into_iter().take(VALUES).collect();
    }
}
