//! Program vectors: final registers, the buffers after every step, memory, and faults.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use npukit_asm::assemble;
use npukit_target::sim::Fault;
use npukit_target::{Case, Outcome, sha256};
use serde::Deserialize;

use crate::config::{Types, Validity};
use crate::isa::fault::{Buffer, FaultKind};
use crate::isa::isa;
use crate::isa::op::Op;
use crate::machine::array::Array;
use crate::machine::values::Arithmetic;
use crate::machine::{Loaded, Machine};
use crate::program::Program;

#[derive(Deserialize)]
pub(super) struct CaseFile {
    name: String,
    types: Types,
    program: Words,
    memory_init: Vec<Region>,
    expect: Expect,
}

#[derive(Deserialize)]
pub(super) struct FaultsFile {
    cases: Vec<FaultCase>,
}

#[derive(Deserialize)]
struct FaultCase {
    name: String,
    types: Types,
    program: Words,
    memory_init: Vec<Region>,
    fault: ExpectedFault,
}

#[derive(Deserialize)]
struct ExpectedFault {
    index: usize,
    kind: String,
}

#[derive(Deserialize)]
pub(super) struct DivergentFile {
    cases: Vec<DivergentCase>,
}

#[derive(Deserialize)]
struct DivergentCase {
    name: String,
    types: Types,
    program: Words,
    memory_init: Vec<Region>,
    conformant: Conformant,
}

#[derive(Deserialize)]
struct Conformant {
    memory: Vec<Region>,
}

#[derive(Deserialize)]
struct Words {
    #[serde(default = "default_base")]
    base: u64,
    words: Vec<String>,
    #[serde(default)]
    asm: Vec<String>,
}

fn default_base() -> u64 {
    Program::ADDRESS.into()
}

/// Bytes of memory: listed, or one byte repeated.
#[derive(Deserialize)]
struct Region {
    addr: u64,
    len: usize,
    b64: Option<String>,
    fill: Option<u8>,
    sha256: Option<String>,
}

#[derive(Deserialize)]
struct Expect {
    end_index: usize,
    registers: BTreeMap<String, i64>,
    steps: Vec<Step>,
    memory: Vec<Region>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Step {
    index: usize,
    op: String,
    buffer: String,
    shape: Vec<usize>,
    sha256: String,
    head: String,
}

impl CaseFile {
    pub(super) const fn types(&self) -> Types {
        self.types
    }

    pub(super) const fn instructions(&self) -> usize {
        self.program.words.len()
    }
}

/// Returns a case, run by the literal and by the fast code.
pub(super) fn case(file: CaseFile) -> Vec<Case> {
    let name = file.name.clone();
    vec![Case::new(name, move || {
        let both = [Arithmetic::Literal, Arithmetic::Fast].map(|arithmetic| check_case(&file, arithmetic));
        first_failure(both)
    })]
}

pub(super) fn faults(file: FaultsFile) -> Vec<Case> {
    let case = |case: FaultCase| Case::new(case.name.clone(), move || checked(check_fault(&case)));
    file.cases.into_iter().map(case).collect()
}

pub(super) fn divergent(file: DivergentFile) -> Vec<Case> {
    let case = |case: DivergentCase| {
        Case::new(case.name.clone(), move || {
            let both =
                [Arithmetic::Literal, Arithmetic::Fast].map(|arithmetic| check_divergent(&case, arithmetic));
            first_failure(both)
        })
    };
    file.cases.into_iter().map(case).collect()
}

fn checked(result: Result<(), (String, String)>) -> Outcome {
    match result {
        Ok(()) => Outcome::Passed,
        Err((expected, got)) => Outcome::Failed { expected, got },
    }
}

fn first_failure(results: [Result<(), (String, String)>; 2]) -> Outcome {
    checked(results.into_iter().collect())
}

/// Expected value, and the actual one.
type Difference = (String, String);

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, got: &T) -> Result<(), Difference> {
    if expected == got {
        return Ok(());
    }
    Err((format!("{what} {expected:?}"), format!("{got:?}")))
}

fn wrong(what: impl std::fmt::Display) -> Difference {
    ("a readable vector".to_owned(), what.to_string())
}

/// Creates a machine with the memory and the program of a case.
fn machine(
    types: Types,
    arithmetic: Arithmetic,
    program: &Words,
    regions: &[Region],
) -> Result<(Machine, Loaded), Difference> {
    let mut machine = Machine::with_arithmetic(types, arithmetic);
    for region in regions {
        machine.write(region.addr, &region.bytes()?).map_err(wrong)?;
    }
    let words =
        program.words.iter().map(|word| u32::from_str_radix(word, 16)).collect::<Result<Vec<u32>, _>>();
    let loaded = machine.load(program.base, &words.map_err(wrong)?).map_err(wrong)?;
    Ok((machine, loaded))
}

impl Region {
    fn bytes(&self) -> Result<Vec<u8>, Difference> {
        let bytes = match (&self.b64, self.fill) {
            (Some(text), _) => STANDARD.decode(text).map_err(wrong)?,
            (None, Some(byte)) => vec![byte; self.len],
            (None, None) => return Err(wrong("a region without content")),
        };
        same("a region's bytes:", &self.len, &bytes.len())?;
        Ok(bytes)
    }

    /// Compares memory with the region, and the region with its own hash.
    fn check(&self, machine: &Machine) -> Result<(), Difference> {
        let mut got = vec![0; self.len];
        machine.read(self.addr, &mut got).map_err(wrong)?;
        let expected = self.bytes()?;
        let place = expected.iter().zip(&got).position(|(expected, got)| expected != got);
        if let Some(place) = place {
            let address = self.addr + place as u64;
            return same(&format!("byte {address:#x} is"), &expected[place], &got[place]);
        }
        self.sha256.as_ref().map_or(Ok(()), |hash| same("hash of memory", hash, &sha256(&got)))
    }
}

fn check_case(case: &CaseFile, arithmetic: Arithmetic) -> Result<(), Difference> {
    let (mut machine, mut program) = machine(case.types, arithmetic, &case.program, &case.memory_init)?;
    check_text(&case.program)?;
    let mut recorder = Recorder::default();
    let end = machine.run(&mut program, &mut |machine, index, op| recorder.before(machine, index, op));
    let end = end.map_err(|fault| (format!("`end` at {}", case.expect.end_index), fault.to_string()))?;
    same("`end` at", &case.expect.end_index, &end)?;
    let registers =
        machine.registers().named().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    same("registers", &case.expect.registers, &registers)?;
    for (expected, got) in case.expect.steps.iter().zip(&recorder.steps) {
        same("step", expected, got)?;
    }
    same("steps:", &case.expect.steps.len(), &recorder.steps.len())?;
    case.expect.memory.iter().try_for_each(|region| region.check(&machine))
}

/// Checks that the text of a program assembles to its words.
fn check_text(program: &Words) -> Result<(), Difference> {
    let bytes = assemble(&isa(Validity::Corrected), "program", &program.asm.join("\n")).map_err(wrong)?.bytes;
    let words = bytes.chunks(4).map(|word| word.iter().rev().map(|byte| format!("{byte:02x}")).collect());
    same("words", &program.words, &words.collect())
}

/// Records the buffer that each step fills.
#[derive(Default)]
struct Recorder {
    steps: Vec<Step>,
    pending: Option<Pending>,
}

/// Step with a buffer that is recorded after the step.
struct Pending {
    index: usize,
    op: Op,
    buffer: Buffer,
}

impl Recorder {
    fn before(&mut self, machine: &Machine, index: usize, op: &Op) {
        if let Some(Pending { index, op, buffer }) = self.pending.take()
            && let Ok(array) = machine.buffer(buffer)
        {
            self.note(index, &op, buffer.name(), array);
        }
        // An instruction with undefined registers faults and fills no buffer.
        let filled = op
            .effects(machine.registers(), machine.types(), Validity::Corrected)
            .ok()
            .and_then(|effects| effects.writes);
        self.pending = filled.map(|buffer| Pending { index, op: *op, buffer });
        // A store writes its array only to memory, not to a buffer.
        if let (Op::Store { .. }, Ok(array)) = (op, machine.store_result()) {
            self.note(index, op, "store", &array);
        }
    }

    fn note(&mut self, index: usize, op: &Op, buffer: &str, array: &Array) {
        let bytes = array.elements.to_bytes();
        let head = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let (op, buffer, shape) = (op.mnemonic().to_owned(), buffer.to_owned(), array.shape.clone());
        self.steps.push(Step { index, op, buffer, shape, sha256: sha256(&bytes), head });
    }
}

fn check_fault(case: &FaultCase) -> Result<(), Difference> {
    let expected = (case.fault.index, case.fault.kind.as_str());
    let (mut machine, mut program) = machine(case.types, Arithmetic::Fast, &case.program, &case.memory_init)?;
    // The state of the machine before the last fetched instruction.
    let mut last = (0, machine.clone());
    let result = machine.run(&mut program, &mut |machine, index, _| last = (index, machine.clone()));
    let Err(Fault { instruction, kind }) = result else {
        return Err((format!("fault {} at {}", expected.1, expected.0), format!("{result:?}")));
    };
    same("fault", &expected, &(instruction, kind.name()))?;
    // An instruction that was not fetched cannot have changed the machine.
    if last.0 == instruction { unchanged(&last.1, &machine, &kind) } else { Ok(()) }
}

/// Checks that the faulting instruction changed nothing: registers, buffers, and the memory that
/// programs write.
fn unchanged(before: &Machine, after: &Machine, kind: &FaultKind) -> Result<(), Difference> {
    let what = format!("nothing changed by {}:", kind.name());
    same(&what, before.registers(), after.registers())?;
    for buffer in [Buffer::Ifm, Buffer::Ker, Buffer::Bias, Buffer::Ofm] {
        same(&what, &before.buffer(buffer), &after.buffer(buffer))?;
    }
    if before.has_the_memory_of(after) { Ok(()) } else { Err((what, "memory changed".to_owned())) }
}

fn check_divergent(case: &DivergentCase, arithmetic: Arithmetic) -> Result<(), Difference> {
    let (mut machine, mut program) = machine(case.types, arithmetic, &case.program, &case.memory_init)?;
    machine.run(&mut program, &mut |_, _, _| ()).map_err(|fault| ("`end`".to_owned(), fault.to_string()))?;
    case.conformant.memory.iter().try_for_each(|region| region.check(&machine))
}
