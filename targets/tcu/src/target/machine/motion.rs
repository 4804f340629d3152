//! [`TcuMachine::product_in_motion`]: a MatMul inside the array, cycle by cycle.
//!
//! The clock determines the cycles in which rows enter and results leave. In between, the circuit
//! determines which element works: element (k, j) on lane k of a row, k + j cycles after the row
//! has entered (`rtl/tcu_systolic_array.sv`). Lane k has k delay registers before the array, column
//! j has N - 1 - j after it, so that a result is complete 2N - 1 cycles after its row.

use npukit_numeric::{NumberFormat, Saturations};
use npukit_target::motion::{Motion, Names, PlaceKind, ValueKind, Visit};
use npukit_target::{TargetError, execute, real_of};

use super::{MAX_CYCLES, TcuMachine, attempt};
use crate::clock::Clock;
use crate::clock::timing::estimate;
use crate::isa::op::{Memory, Op, Strided};

/// Largest array that is drawn, in rows and columns.
const LARGEST: usize = 16;
/// Maximum number of drawn input rows of a product.
const MAX_ROWS: u64 = 16;

impl TcuMachine {
    /// Implements [`npukit_target::Machine::motion`].
    pub(super) fn product_in_motion(&self) -> Result<Option<Motion>, TargetError> {
        let Some(op @ &Op::MatMul { accumulate, zeroes, local, accumulator, size }) =
            self.program.ops.get(self.position)
        else {
            return Ok(None);
        };
        let lanes = self.program.config.array_size;
        if lanes > LARGEST {
            let message = format!(
                "the array has {lanes} x {lanes} elements; at most {LARGEST} x {LARGEST} are drawn in motion"
            );
            return Err(TargetError::failed(message));
        }
        let drawn = Op::MatMul { accumulate: false, zeroes, local, accumulator, size: size.min(MAX_ROWS) };
        let product = Product { lanes, rows: self.rows(op, &drawn)?, weights: self.weights() };
        let mut motion = product.motion(self.program.config.data_type.format());
        let target = if accumulate { "+= acc" } else { "acc" };
        let names = product.rows.iter().zip(0..).map(|(_, row)| format!("{target}[{}]", accumulator.at(row)));
        motion.rows.extend(names);
        motion.notes.push(format!(
            "Element (k, j) works on lane k of a row k + j cycles after the row enters; its sum goes down, \
             and after {} cycles the row's result is complete.",
            product.latency()
        ));
        if product.waits() {
            motion.notes.push("Results wait in a queue until the accumulators take them.".to_owned());
        }
        if size > MAX_ROWS {
            motion.notes.push(format!("The first {MAX_ROWS} of {size} rows are drawn."));
        }
        Ok(Some(motion))
    }

    /// Returns the rows of the weights: the bias first, then one per lane.
    fn weights(&self) -> Vec<Vec<i32>> {
        let lanes = self.program.config.array_size;
        self.machine.weights(0, lanes as u64 + 1).chunks_exact(lanes).map(<[i32]>::to_vec).collect()
    }

    /// Executes the drawn rows on a copy, and times the whole instruction `op`.
    fn rows(&self, op: &Op, drawn: &Op) -> Result<Vec<Row>, TargetError> {
        let Op::MatMul { zeroes, local, accumulator, size, .. } = *drawn else { return Ok(Vec::new()) };
        let mut machine = self.machine.clone();
        execute(|| attempt(&mut machine, drawn, false))?;
        let vector =
            |memory, run: Strided, row| machine.read(memory, run.at(row), 1).map_err(TargetError::failed);
        let row = |(row, (enters, leaves))| {
            let input = if zeroes {
                vec![0; self.program.config.array_size]
            } else {
                vector(Memory::Local, local, row)?
            };
            // If rows are registered, a row reaches the first element one cycle later.
            let enters = enters + u64::from(self.program.config.registered_rows);
            Ok(Row { enters, leaves, input, result: vector(Memory::Accumulators, accumulator, row)? })
        };
        (0..size).zip(self.times(op)?).map(row).collect()
    }

    /// Returns the cycles at which the rows of the next instruction enter the array and its results
    /// leave.
    fn times(&self, op: &Op) -> Result<Vec<(u64, u64)>, TargetError> {
        let (config, before) = (&self.program.config, &self.program.ops[..self.position]);
        let cycles = estimate(config, before).cycles.saturating_add(estimate(config, &[*op]).cycles);
        if cycles > MAX_CYCLES {
            let message =
                format!("the clock supports at most {MAX_CYCLES} cycles, this step is after {cycles}");
            return Err(TargetError::failed(message));
        }
        let mut meter = Clock::new(config, self.program.memory).map_err(TargetError::failed)?.meter();
        meter.run(before);
        let rows = meter.rows(op);
        if meter.hangs() {
            return Err(TargetError::failed(
                "the hardware never executes this step; `npu time` gives the reason",
            ));
        }
        Ok(rows)
    }
}

/// A row of a product.
struct Row {
    /// Cycle in which it enters the array.
    enters: u64,
    /// Cycle in which the accumulators take its result.
    leaves: u64,
    input: Vec<i32>,
    /// Result of the machine, before it is added to anything.
    result: Vec<i32>,
}

/// A product inside the array.
struct Product {
    /// Number of rows and columns of the array.
    lanes: usize,
    rows: Vec<Row>,
    weights: Vec<Vec<i32>>,
}

/// Indices of the places of the array.
struct Places {
    /// Delay registers of each lane, in the order in which a number passes them.
    before: Vec<Vec<usize>>,
    /// Elements by lane and column.
    elements: Vec<Vec<usize>>,
    /// Delay registers of each column, in the order in which a sum passes them.
    after: Vec<Vec<usize>>,
    /// Queue of results by column; empty unless a result waits for the accumulators.
    queue: Vec<usize>,
    /// Memory of the result of each row and column.
    results: Vec<Vec<usize>>,
}

impl Product {
    /// Returns the motion, without the names of the results.
    fn motion(&self, format: NumberFormat) -> Motion {
        let mut motion = Motion::new(Names { held: "weight", operand: "input", sum: "partial sum" });
        motion.rows = [String::from("bias")]
            .into_iter()
            .chain((0..self.lanes).map(|lane| format!("lane {lane}")))
            .chain((1..self.lanes).map(|_| String::from("delay")))
            .chain(self.waits().then(|| String::from("queue")))
            .collect();
        let places = self.places(&mut motion, format);
        for (row, results) in self.rows.iter().zip(&places.results) {
            self.inputs(row, &places, &mut motion, format);
            self.sums(row, (&places, results), &mut motion, format);
        }
        motion
    }

    /// Number of cycles from a row to its result.
    const fn latency(&self) -> u64 {
        2 * self.lanes as u64 - 1
    }

    /// Whether a result waits for the accumulators.
    fn waits(&self) -> bool {
        self.rows.iter().any(|row| row.leaves > row.enters + self.latency())
    }

    fn places(&self, motion: &mut Motion, format: NumberFormat) -> Places {
        let (lanes, first) = (self.lanes, self.lanes - 1);
        let weight = |row: usize, column: usize| real_of(format, self.weights[row][column].into());
        for column in 0..lanes {
            motion.place(PlaceKind::Register, (0, first + column), weight(0, column));
        }
        let mut register = |row, column| motion.place(PlaceKind::Register, (row, column), None);
        let before =
            (0..lanes).map(|lane| (0..lane).map(|at| register(lane + 1, first - lane + at)).collect());
        let before = before.collect();
        let after = (0..lanes)
            .map(|column| (column..first).map(|at| register(lanes + 1 + at, first + column)).collect());
        let after = after.collect();
        let last = lanes + 1 + first;
        let queued = if self.waits() { lanes } else { 0 };
        let queue: Vec<usize> = (0..queued).map(|column| register(last, first + column)).collect();
        let elements = (0..lanes).map(|lane| {
            let element =
                |column| motion.place(PlaceKind::Unit, (lane + 1, first + column), weight(lane + 1, column));
            (0..lanes).map(element).collect()
        });
        let elements = elements.collect();
        let below = last + queue.len().min(1);
        let results = (below..below + self.rows.len()).map(|row| {
            let place = |column| motion.place(PlaceKind::Memory, (row, first + column), None);
            (0..lanes).map(place).collect()
        });
        let results = results.collect();
        Places { before, elements, after, queue, results }
    }

    /// Adds the inputs of a row: each goes to the right, through its lane.
    fn inputs(&self, row: &Row, places: &Places, motion: &mut Motion, format: NumberFormat) {
        for (lane, &number) in row.input.iter().enumerate() {
            let way = places.before[lane].iter().chain(&places.elements[lane]);
            let value = real_of(format, number.into());
            let visit = |(cycle, &place)| Visit { cycle, place, value };
            motion.value(ValueKind::Operand, (row.enters..).zip(way).map(visit).collect());
        }
    }

    /// Adds the sums of a row: each goes down, from the bias through its column to its result.
    fn sums(
        &self,
        row: &Row,
        (places, results): (&Places, &[usize]),
        motion: &mut Motion,
        format: NumberFormat,
    ) {
        for (column, &result) in results.iter().enumerate() {
            let mut sum = self.weights[0][column];
            let mut sums = Vec::new();
            for (&input, weights) in row.input.iter().zip(&self.weights[1..]) {
                sum = format.mac(input, weights[column], sum, &mut Saturations::default());
                sums.push(sum);
            }
            let elements = places.elements.iter().map(|lane| lane[column]).zip(sums);
            let after = places.after[column].iter().map(|&place| (place, sum));
            let way = (row.enters + column as u64..).zip(elements.chain(after));
            let visit =
                |cycle, place, number: i32| Visit { cycle, place, value: real_of(format, number.into()) };
            let mut visits: Vec<Visit> =
                way.map(|(cycle, (place, number))| visit(cycle, place, number)).collect();
            if let Some(&queue) = places.queue.get(column) {
                let waiting = row.enters + self.latency()..row.leaves;
                visits.extend(waiting.map(|cycle| visit(cycle, queue, sum)));
            }
            visits.push(visit(row.leaves, result, row.result[column]));
            motion.value(ValueKind::Sum, visits);
        }
    }
}
