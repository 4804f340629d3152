//! Breakpoints of lines, instructions and data: [`Set`] records which ones the editor has set.

use std::collections::BTreeMap;

use npukit_debug::{Command, Debugger, PointKind, parse};
use serde_json::{Value, json};

use crate::dap::values::{instruction, number, reference, source, text};

/// Ids of points by the kind of request that set them. Each request replaces the points of the
/// previous one of its kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Set {
    /// Ids of line breakpoints, by file.
    lines: BTreeMap<String, Vec<u32>>,
    instructions: Vec<u32>,
    data: Vec<u32>,
}

/// Returns the breakpoints in the arguments.
fn wanted(arguments: &Value) -> impl Iterator<Item = &Value> {
    arguments.get("breakpoints").and_then(Value::as_array).into_iter().flatten()
}

fn clear(debugger: &mut Debugger, ids: &mut Vec<u32>) {
    for id in ids.drain(..) {
        debugger.remove_point(id);
    }
}

/// Finds the file of the program that an editor means; the editor's path may be longer.
fn file_of(debugger: &Debugger, arguments: &Value) -> Result<String, String> {
    let source = arguments.get("source").ok_or("`source` is missing")?;
    let path = text(source, "path")?;
    let is_it = |name: &str| {
        let name = name.strip_prefix("./").unwrap_or(name); // Default: there is no `./`.
        path == name || path.strip_suffix(name).is_some_and(|folder| folder.ends_with(['/', '\\']))
    };
    let found = debugger.texts().map(|(name, _)| name).find(|name| is_it(name));
    // Default: a file outside the program has no instructions.
    Ok(found.map_or(path.clone(), str::to_owned))
}

impl Set {
    /// `setBreakpoints`: replaces the breakpoints of one file.
    pub fn lines(&mut self, debugger: &mut Debugger, arguments: &Value) -> Result<Value, String> {
        let file = file_of(debugger, arguments)?;
        let ids = self.lines.entry(file.clone()).or_default();
        clear(debugger, ids);
        let mut set = Vec::new();
        for wanted in wanted(arguments) {
            let line = number(wanted, "line")?;
            let instructions = debugger.instructions_at(Some(&file), line).to_vec();
            let first = instructions.first().copied();
            let added: Vec<u32> = instructions
                .into_iter()
                .map(|instruction| debugger.add_point(PointKind::Instruction(instruction)))
                .collect();
            ids.extend(&added);
            set.push(match (first, added.first()) {
                (Some(instruction), Some(id)) => json!({
                    "id": id, "verified": true, "line": line, "source": source(&file),
                    "instructionReference": reference(instruction),
                }),
                _ => json!({ "verified": false, "line": line, "message": "no instruction begins at this line" }),
            });
        }
        Ok(json!({ "breakpoints": set }))
    }

    /// `setInstructionBreakpoints`: replaces the breakpoints at instructions.
    pub fn instructions(&mut self, debugger: &mut Debugger, arguments: &Value) -> Result<Value, String> {
        clear(debugger, &mut self.instructions);
        let (mut set, count) = (Vec::new(), debugger.listing()?.len());
        for wanted in wanted(arguments) {
            let found = instruction(wanted, "instructionReference")?;
            let offset = wanted.get("offset").and_then(Value::as_i64).map_or(0, |offset| offset); // Default: not given.
            let found = found.checked_add_signed(offset as isize);
            set.push(match found.filter(|&found| found < count) {
                Some(found) => {
                    let id = debugger.add_point(PointKind::Instruction(found));
                    self.instructions.push(id);
                    json!({ "id": id, "verified": true, "instructionReference": reference(found) })
                }
                None => json!({ "verified": false, "message": "this instruction does not exist" }),
            });
        }
        Ok(json!({ "breakpoints": set }))
    }

    /// `setDataBreakpoints`: a data id is a range, and a condition is written as in `watch`.
    pub fn data(&mut self, debugger: &mut Debugger, arguments: &Value) -> Result<Value, String> {
        clear(debugger, &mut self.data);
        let mut set = Vec::new();
        for wanted in wanted(arguments) {
            let range = text(wanted, "dataId")?;
            let on = match wanted.get("accessType").and_then(Value::as_str) {
                Some("read") => "read",
                Some("readWrite") => "access",
                _ => "write",
            };
            let condition =
                wanted.get("condition").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            // Default: no condition.
            let condition = condition.map(|condition| format!(" if {condition}")).unwrap_or_default();
            set.push(match parse(&format!("watch {range} {on}{condition}"), debugger) {
                Ok(Some(Command::Point(kinds))) => {
                    let ids: Vec<u32> = kinds.into_iter().map(|kind| debugger.add_point(kind)).collect();
                    self.data.extend(&ids);
                    json!({ "id": ids.first(), "verified": true })
                }
                Ok(_) => json!({ "verified": false, "message": "this is not a range of a memory" }),
                Err(fault) => json!({ "verified": false, "message": fault.message }),
            });
        }
        Ok(json!({ "breakpoints": set }))
    }
}

/// `dataBreakpointInfo`: names of variables are ranges, and serve as data ids.
pub(crate) fn data_info(debugger: &Debugger, arguments: &Value) -> Result<Value, String> {
    let name = text(arguments, "name")?;
    Ok(match parse(&format!("watch {name}"), debugger) {
        Ok(Some(_)) => json!({
            "dataId": name, "description": name, "accessTypes": ["read", "write", "readWrite"], "canPersist": true,
        }),
        _ => json!({ "dataId": null, "description": "this is not a range of a memory" }),
    })
}

/// `gotoTargets`: returns the first step of each instruction of a line.
pub(crate) fn goto_targets(debugger: &Debugger, arguments: &Value) -> Result<Value, String> {
    let (file, line) = (file_of(debugger, arguments)?, number(arguments, "line")?);
    let instructions = debugger.instructions_at(Some(&file), line);
    let target = |&instruction: &usize| {
        let step = debugger.machine().steps_of(instruction).first().copied()?;
        let label = debugger.step_line(step);
        Some(
            json!({ "id": step, "label": label, "line": line, "instructionPointerReference": reference(instruction) }),
        )
    };
    Ok(json!({ "targets": instructions.iter().filter_map(target).collect::<Vec<_>>() }))
}
