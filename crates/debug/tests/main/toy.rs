//! [`Toy`]: a tiny machine for debugger tests, simple enough to check with pen and paper.
//!
//! `m` has 16 addresses of two numbers in sixteenths, clamped to 8 bits plus sign; `r` is a
//! register with one address.

use std::sync::Arc;

use npukit_asm::{ListedWord, ListingLine, Sources};
use npukit_base::Span;
use npukit_target::motion::{Motion, Names, PlaceKind, ValueKind, Visit};
use npukit_target::{
    Accessed, AddressRun, Floats, Machine, MachineMemory, Moment, Operand, Outline, Placed, PlacedKind,
    ProgramText, Scalar, StepLayers, TargetError,
};

pub const DEPTH: u64 = 16;
const LANES: usize = 2;
const MOST: i64 = 255;

/// Instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Sets both numbers of an address: to this value, and this value plus 1.
    Set(u64, i64),
    /// Stores the sum of the last two addresses at the first.
    Add(u64, u64, u64),
    /// Loads the first number of an address into the register.
    Load(u64),
    /// Stops the machine with a fault.
    Trap,
    /// Writes the address unchanged and makes it unreadable afterwards.
    Lock(u64),
    /// Word that cannot be listed; the whole program then has no listing.
    Unlisted,
}

struct Program {
    ops: Vec<Op>,
    outline: Outline,
}

/// State of the machine.
#[derive(Clone)]
pub struct Toy {
    program: Arc<Program>,
    position: usize,
    pub m: Vec<i64>,
    pub r: i64,
    exact: Vec<f64>,
    saturated: u64,
    locked: Option<u64>,
}

impl Toy {
    /// Returns a machine before the first of `ops`; address 0 holds an input, 16 and -32.
    pub fn new(ops: &[Op]) -> Self {
        let memory = |name: &str, depth, lanes| MachineMemory {
            name: name.to_owned(),
            depth,
            lanes,
            bits: 9,
            is_signed: true,
        };
        let memories = vec![memory("m", DEPTH, LANES), memory("r", 1, 1)];
        let placed =
            vec![Placed { name: "x".to_owned(), kind: PlacedKind::Input, run: AddressRun::dense(0, 0, 1) }];
        let names = vec!["first".to_owned(), "second half".to_owned()];
        let of = (0..ops.len()).map(|step| usize::from(step >= ops.len() / 2)).collect();
        let layers = StepLayers { names, of };
        let mut m = vec![0; DEPTH as usize * LANES];
        (m[0], m[1]) = (16, -32);
        let exact = m.iter().map(|&number| number as f64 / 16.0).collect();
        let outline =
            Outline { layers, placed, ..Outline::new(("toy".to_owned(), "toy:small".to_owned()), memories) };
        let program = Arc::new(Program { ops: ops.to_vec(), outline });
        Self { program, position: 0, m, r: 0, exact, saturated: 0, locked: None }
    }

    /// Returns a text with one instruction per line, after a first line without one.
    pub fn text(ops: &[Op]) -> ProgramText {
        let mut text = "; a program\n".to_owned();
        let mut spans = Vec::new();
        for op in ops {
            let start = text.len();
            text += &format!("{op:?}\n");
            spans.push(Span { start, end: text.len() - 1 });
        }
        let sources = Sources::of_texts([("p.toy".to_owned(), text)]);
        let places = spans.iter().map(|&span| sources.place(0, span, None).unwrap()).collect();
        ProgramText { sources, places, ..ProgramText::default() }
    }

    fn put(&mut self, address: u64, lane: usize, number: i64, exact: f64) {
        let place = address as usize * LANES + lane;
        let clamped = number.clamp(-MOST - 1, MOST);
        self.saturated += u64::from(clamped != number);
        self.m[place] = clamped;
        self.exact[place] = exact;
    }
}

impl Machine for Toy {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    fn steps(&self) -> usize {
        self.program.ops.len()
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        let Some(&op) = self.program.ops.get(self.position) else { return Ok(Vec::new()) };
        match op {
            Op::Set(to, value) => (0..LANES).for_each(|lane| {
                let number = value + lane as i64;
                self.put(to, lane, number, number as f64 / 16.0);
            }),
            Op::Add(to, a, b) => {
                for lane in 0..LANES {
                    let [a, b] = [a, b].map(|address| address as usize * LANES + lane);
                    let (number, exact) = (self.m[a] + self.m[b], self.exact[a] + self.exact[b]);
                    self.put(to, lane, number, exact);
                }
            }
            Op::Load(from) => self.r = self.m[from as usize * LANES],
            Op::Trap => return Err(TargetError::failed("a trap".to_owned())),
            Op::Lock(at) => self.locked = Some(at),
            Op::Unlisted => {}
        }
        self.position += 1;
        Ok(Vec::new())
    }

    fn fork(&self) -> Box<dyn Machine> {
        Box::new(self.clone())
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        if let Some(locked) = self.locked.filter(|at| memory == 0 && (address..address + count).contains(at))
        {
            return Err(TargetError::failed(format!("m[{locked}] is locked")));
        }
        Ok(match memory {
            0 => self.m[address as usize * LANES..(address + count) as usize * LANES].to_vec(),
            _ => vec![self.r],
        })
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        (memory == 0).then(|| number as f64 / 16.0)
    }

    fn floats(&self, memory: usize, address: u64, count: u64) -> Option<Floats> {
        let values = || self.exact[address as usize * LANES..(address + count) as usize * LANES].to_vec();
        (memory == 0).then(|| Floats { values: values(), are: "sums without clamping" })
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        let one = |address| AddressRun::dense(0, address, 1);
        match self.program.ops.get(step) {
            Some(&(Op::Set(to, _) | Op::Lock(to))) => vec![Accessed::write(one(to))],
            Some(&Op::Add(to, a, b)) => {
                vec![Accessed::read(one(a)), Accessed::read(one(b)), Accessed::write(one(to))]
            }
            Some(&Op::Load(from)) => {
                vec![Accessed::read(one(from)), Accessed::write(AddressRun::dense(1, 0, 1))]
            }
            Some(Op::Trap | Op::Unlisted) | None => Vec::new(),
        }
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        let lane = Some(if scalar.memory == 1 { 0 } else { scalar.lane });
        let reads = self.accesses(step).into_iter().filter(|accessed| !accessed.is_write);
        reads.map(|accessed| Operand { role: "summand", run: accessed.run, lane, since: None }).collect()
    }

    /// An addition: an adder per lane holds the first summand, and the sum goes to memory.
    fn motion(&self) -> Result<Option<Motion>, TargetError> {
        let Some(&Op::Add(_, a, b)) = self.program.ops.get(self.position) else { return Ok(None) };
        let mut motion = Motion::new(Names { held: "summand", operand: "number", sum: "sum" });
        motion.rows = vec!["adders".to_owned(), "m".to_owned()];
        for lane in 0..LANES {
            let [a, b] = [a, b].map(|address| self.m[address as usize * LANES + lane] as f64 / 16.0);
            let adder = motion.place(PlaceKind::Unit, (0, lane), a);
            let memory = motion.place(PlaceKind::Memory, (1, lane), None);
            let visit = |late, place, value| Visit { cycle: 2 * self.position as u64 + late, place, value };
            motion.value(ValueKind::Operand, vec![visit(0, adder, b)]);
            motion.value(ValueKind::Sum, vec![visit(0, adder, a + b), visit(1, memory, a + b)]);
        }
        Ok(Some(motion))
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        if self.program.ops.contains(&Op::Unlisted) {
            return Err(TargetError::failed("a word does not decode".to_owned()));
        }
        let line = |(place, op): (usize, &Op)| ListingLine {
            text: format!("{op:?}"),
            word: Some(ListedWord { address: format!("{place:04x}"), bits: format!("{place:02x}") }),
        };
        Ok(self.program.ops.iter().enumerate().map(line).collect())
    }

    fn saturations(&self) -> u64 {
        self.saturated
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let moment = |(step, op): (usize, &Op)| {
            let waits = match op {
                Op::Add(..) => vec![("adder".to_owned(), "operands".to_owned(), 1)],
                _ => Vec::new(),
            };
            Moment { start: 2 * step as u64, end: 2 * step as u64 + 2, waits }
        };
        Ok(self.program.ops.iter().enumerate().map(moment).collect())
    }
}
