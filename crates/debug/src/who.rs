//! Who wrote a number, from what: a tree back to constants and inputs.

use std::collections::{BTreeSet, HashSet};

use npukit_target::{AddressRun, Machine, Placed, Scalar};

use crate::Debugger;
use crate::machine::{chain, read};
use crate::place::Range;

/// Nodes of a tree at most: what lies behind is not followed.
const MOST: usize = 256;
/// Addresses of a range or an operand that are followed.
pub(crate) const ADDRESSES: u64 = 1 << 13;
/// Addresses of operands that are gathered for a node, about.
const GATHERED: u64 = 1 << 18;
/// Numbers of an address that are followed where all of them are asked for.
const LANES: usize = 64;
/// Values of a node that are kept.
const VALUES: usize = 8;

/// Numbers, and who wrote them.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What they are to the instruction above, in a word or two.
    pub role: &'static str,
    /// Where they lie: addresses one after the other.
    pub run: AddressRun,
    /// Which of the numbers of each address; none for all of them.
    pub lane: Option<usize>,
    /// Steps that are done when they are looked at.
    pub at: usize,
    /// What they are then: the machine's numbers, the first of them.
    pub values: Vec<i64>,
    /// The same in float, where it is known.
    pub floats: Vec<f64>,
    /// How many there are.
    pub count: usize,
    /// The step that wrote them; none where nobody has.
    pub writer: Option<usize>,
    /// The tensor that they belong to, where nobody wrote them, or an output.
    pub placed: Option<String>,
    /// Whether they are in the tree already, or behind its end, or come from more than it has room for.
    pub is_cut: bool,
    /// What the step made them from.
    pub from: Vec<Node>,
}

/// What operands have in common that are told together: role, memory, lane, and steps done when they are looked at.
type Kind = (&'static str, usize, Option<usize>, usize);

/// The search.
struct Search<'a> {
    debugger: &'a Debugger,
    machine: &'a dyn Machine,
    seen: HashSet<(AddressRun, Option<usize>, Option<usize>)>,
    nodes: usize,
}

impl Debugger {
    /// Who wrote what a range holds now, from what: `depth` instructions back.
    ///
    /// # Errors
    ///
    /// Memory that cannot be read.
    pub fn who(&self, range: &Range, depth: usize) -> Result<Vec<Node>, String> {
        let mut search = Search { debugger: self, machine: &*self.now, seen: HashSet::new(), nodes: 0 };
        let mut nodes = search.nodes("", range.run(), range.lane, self.position(), depth);
        self.evaluate(&mut nodes)?;
        Ok(nodes)
    }

    /// Puts the values into all nodes, in the order of steps: the program runs once at most.
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
    /// The nodes of addresses: one for each run of them that one step wrote.
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

    /// What a step made some addresses from, and whether there is more than the tree has room for.
    fn operands(
        &mut self,
        step: usize,
        run: AddressRun,
        lane: Option<usize>,
        depth: usize,
    ) -> (Vec<Node>, bool) {
        // Addresses by what they are and where, in the order in which the step has them.
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
                let at = operand.since.unwrap_or(step); // Default: as it was before the step.
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

    /// The tensor in which addresses lie that nobody wrote.
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

/// The numbers of the first addresses that can be read: a buffer may be smaller than its memory.
fn readable(machine: &dyn Machine, mut run: AddressRun) -> Vec<i64> {
    loop {
        match read(machine, run) {
            Ok(numbers) => return numbers,
            Err(_) if run.count > 1 => run.count /= 2,
            Err(_) => return Vec::new(),
        }
    }
}

/// Addresses in order as runs without a gap.
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
    /// The steps at which it and what is below it are looked at.
    fn moments(&self, moments: &mut BTreeSet<usize>) {
        moments.insert(self.at);
        self.from.iter().for_each(|node| node.moments(moments));
    }

    /// Takes the values of what is looked at where `machine` stands.
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
        // Default: without a model there are no floats.
        let floats = floats.map(|floats| range.chosen(&floats, lanes)).unwrap_or_default();
        self.floats = floats.into_iter().take(VALUES).collect();
    }
}
