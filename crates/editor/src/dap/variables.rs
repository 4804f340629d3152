//! Data that an editor shows: scopes and variables, bytes of memories, the listing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use npukit_debug::{Debugger, Line, Scale};
use npukit_target::{AddressRun, MachineMemory};
use serde_json::{Value, json};

use crate::dap::values::{instruction, number, reference, source, text};

/// Reference to the memories with more than one address.
const MEMORIES: usize = 1;
/// Reference to the memories with one address.
const REGISTERS: usize = 2;
/// Reference to the accesses of the next step.
const STEP: usize = 3;
/// Reference to the addresses of tensors.
const TENSORS: usize = 4;
/// Reference to the first memory; memory `n` has the reference `MEMORY + n`.
const MEMORY: usize = 1000;
/// Default number of variables in a response.
const SHOWN: usize = 256;
/// Maximum number of bytes or instructions in a response.
const MOST: usize = 1 << 16;

fn is_register(memory: &MachineMemory) -> bool {
    memory.depth <= 1
}

/// `scopes`: returns the four scopes.
pub(crate) fn scopes(debugger: &Debugger) -> Value {
    let machine = debugger.machine();
    let registers = machine.memories().iter().filter(|memory| is_register(memory)).count();
    let memories = machine.memories().len() - registers;
    let accesses = machine.accesses(debugger.position()).len();
    let scope = |name: &str, reference: usize, count: usize| json!({ "name": name, "variablesReference": reference, "namedVariables": count, "expensive": false });
    let all = [
        scope("Memories", MEMORIES, memories),
        scope("Registers", REGISTERS, registers),
        scope("Next step", STEP, accesses),
        scope("Tensors", TENSORS, machine.placed().len()),
    ];
    json!({ "scopes": all })
}

/// `variables`: returns the variables of a scope or a memory.
pub(crate) fn variables(debugger: &Debugger, arguments: &Value) -> Result<Value, String> {
    let machine = debugger.machine();
    let all = match number(arguments, "variablesReference")? {
        MEMORIES => named(debugger, |memory| !is_register(memory)),
        REGISTERS => named(debugger, is_register),
        STEP => {
            let accesses = machine.accesses(debugger.position());
            let one = |accessed: npukit_target::Accessed| {
                let name = debugger.run_text(accessed.run, None);
                let value = if accessed.is_write { "writes" } else { "reads" };
                json!({ "name": name, "value": value, "evaluateName": name, "variablesReference": 0 })
            };
            accesses.into_iter().map(one).collect()
        }
        TENSORS => {
            let one = |placed: &npukit_target::Placed| {
                let at = debugger.run_text(placed.run, None);
                json!({ "name": placed.name, "value": at, "type": placed.kind.name(), "evaluateName": at, "variablesReference": 0 })
            };
            machine.placed().iter().map(one).collect()
        }
        other => {
            let memory = other.checked_sub(MEMORY).filter(|&place| place < machine.memories().len());
            addresses(debugger, memory.ok_or("unknown variables reference")?, arguments)?
        }
    };
    Ok(json!({ "variables": all }))
}

/// Returns the selected memories as variables.
fn named(debugger: &Debugger, is_meant: impl Fn(&MachineMemory) -> bool) -> Vec<Value> {
    let memories = debugger.machine().memories().iter().enumerate().filter(|(_, memory)| is_meant(memory));
    let one = |(place, memory): (usize, &MachineMemory)| {
        if is_register(memory) {
            return row(debugger, place, 0);
        }
        let value = format!("{} x {}, {} bits", memory.depth, memory.lanes, memory.bits);
        json!({
            "name": memory.name, "value": value, "evaluateName": memory.name, "memoryReference": memory.name,
            "variablesReference": MEMORY + place, "indexedVariables": memory.depth,
        })
    };
    memories.map(one).collect()
}

/// Returns the requested addresses of a memory as variables.
fn addresses(debugger: &Debugger, memory: usize, arguments: &Value) -> Result<Vec<Value>, String> {
    let depth = debugger.machine().memories()[memory].depth;
    // Default: one screen, starting at the first address.
    let start = number(arguments, "start").unwrap_or(0) as u64;
    let count = number(arguments, "count").ok().filter(|&count| count > 0).unwrap_or(SHOWN); // Default: as above.
    let end = start.saturating_add(count.min(MOST) as u64).min(depth);
    Ok((start..end).map(|address| row(debugger, memory, address)).collect())
}

/// Returns one address of a memory as a variable.
fn row(debugger: &Debugger, memory: usize, address: u64) -> Value {
    let name = debugger.run_text(AddressRun::dense(memory, address, 1), None);
    let range =
        npukit_debug::Range { text: name.clone(), memory, start: address, end: address + 1, lane: None };
    // Default: an unreadable number shows the reason.
    let value =
        debugger.numbers(&range, Scale::Real).map_or_else(|message| message, |numbers| numbers.join(" "));
    json!({ "name": name, "value": value, "evaluateName": name, "memoryReference": name, "variablesReference": 0 })
}

/// `readMemory`: returns the machine's numbers, each in whole bytes, little-endian.
pub(crate) fn read_memory(debugger: &Debugger, arguments: &Value) -> Result<Value, String> {
    let name = text(arguments, "memoryReference")?;
    let command = npukit_debug::parse(&format!("show {name}"), debugger).map_err(|fault| fault.message)?;
    let Some(npukit_debug::Command::Show(range, _)) = command else {
        return Err("this is not a memory".to_owned());
    };
    let memory = &debugger.machine().memories()[range.memory];
    let size = (memory.bits.div_ceil(8) as usize).max(1);
    let bytes_of_address = (size * memory.lanes.max(1)) as u64;
    let offset = arguments.get("offset").and_then(Value::as_i64).map_or(0, |offset| offset); // Default: not given.
    let count = number(arguments, "count")?.min(MOST);
    let first =
        (range.start * bytes_of_address).checked_add_signed(offset).ok_or("this is before the memory")?;
    let last = first.saturating_add(count as u64).min(memory.depth.saturating_mul(bytes_of_address));
    let (start, end) = (first / bytes_of_address, last.div_ceil(bytes_of_address));
    let mut bytes = Vec::new();
    if start < end {
        for number in debugger.read(AddressRun::dense(range.memory, start, end - start))? {
            bytes.extend(&memory.pattern(number).to_le_bytes()[..size]);
        }
    }
    let skip = (first - start * bytes_of_address) as usize;
    let bytes: Vec<u8> = bytes.into_iter().skip(skip).take(last.saturating_sub(first) as usize).collect();
    let unreadable = count - bytes.len();
    let address = format!("{first:#x}");
    Ok(json!({ "address": address, "unreadableBytes": unreadable, "data": STANDARD.encode(bytes) }))
}

/// `disassemble`: returns lines of the listing.
pub(crate) fn disassemble(debugger: &Debugger, arguments: &Value) -> Result<Value, String> {
    let first = instruction(arguments, "memoryReference")? as i64;
    // Default: not given.
    let offsets =
        ["offset", "instructionOffset"].map(|name| arguments.get(name).and_then(Value::as_i64).unwrap_or(0));
    let first = offsets.into_iter().fold(first, i64::saturating_add);
    let count = number(arguments, "instructionCount")?.min(MOST) as i64;
    let listing = debugger.listing()?;
    let one = |place: i64| {
        let listed = usize::try_from(place).ok().and_then(|place| Some((place, listing.get(place)?)));
        let Some((place, line)) = listed else {
            // Addresses before the first do not exist, but the protocol requires a line for each.
            return json!({ "address": format!("{:#x}", place.max(0)), "instruction": "", "presentationHint": "invalid" });
        };
        let mut shown = json!({ "address": reference(place), "instruction": line.text.trim() });
        if let Some(word) = &line.word {
            shown["instructionBytes"] = word.bits.clone().into();
        }
        if let Some(Line { file, line, column }) = debugger.line(place) {
            (shown["line"], shown["column"], shown["location"]) = (line.into(), column.into(), source(&file));
        }
        shown
    };
    Ok(json!({ "instructions": (first..first.saturating_add(count)).map(one).collect::<Vec<_>>() }))
}
