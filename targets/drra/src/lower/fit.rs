//! [`unfit`]: features that generated kernels avoid because they are untested on the released
//! circuit.

use std::collections::BTreeMap;

use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric};
use crate::isa::op::{ActMode, Op, ResourceOp};
use crate::isa::program::Program;

/// Words that each cell of a released fabric can be loaded with.
const MAX_WORDS: usize = 64;
/// Levels of a port.
const MAX_LEVELS: usize = 4;

/// Returns the untested features of a program as messages; empty for fabrics other than the
/// released circuit.
pub(super) fn unfit(fabric: &Fabric, program: &Program) -> Vec<String> {
    let Ok(ops) = program.decode(fabric) else { return Vec::new() };
    if !fabric.options.revision.is_released() {
        return Vec::new();
    }
    let cells = fabric.places().zip(&fabric.cells).zip(&ops);
    let found = cells.flat_map(|((place, cell), ops)| {
        of_cell(cell, ops).into_iter().map(move |reason| format!("cell {place}: {reason}"))
    });
    found.collect()
}

fn of_cell(cell: &Cell, ops: &[Op]) -> Vec<String> {
    let mut found = Vec::new();
    if ops.len() > MAX_WORDS {
        found.push(format!("{} words; it holds at most {MAX_WORDS}", ops.len()));
    }
    let mut levels: BTreeMap<(u8, u8), usize> = BTreeMap::new();
    for (pc, op) in ops.iter().enumerate() {
        let wrong = match *op {
            Op::Brn { .. } | Op::Calc { .. } | Op::Act { mode: ActMode::Map, .. } => true,
            Op::Resource { slot, op } => of_port(cell.component_at(slot), slot, op, &mut levels),
            _ => false,
        };
        found
            .extend(wrong.then(|| {
                format!("instruction {pc} ({}) is untested on the released circuit", op.mnemonic())
            }));
    }
    found
}

fn of_port(
    component: Option<Component>,
    slot: u8,
    op: ResourceOp,
    levels: &mut BTreeMap<(u8, u8), usize>,
) -> bool {
    match op {
        ResourceOp::Repx { .. } | ResourceOp::Trans { .. } => true,
        ResourceOp::Evt { port } => {
            levels.insert((slot, port), 0);
            false
        }
        ResourceOp::Dsu { port, dynamic, base, .. } => {
            levels.insert((slot, port), 0);
            dynamic || (base != 0 && component == Some(Component::Rf))
        }
        ResourceOp::Rep { port, .. } => {
            let count = levels.entry((slot, port)).or_default();
            *count += 1;
            *count > MAX_LEVELS
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::preset;
    use crate::config::revision::Revision;
    use crate::isa::asm::assemble;

    /// Messages for a program of the computing cell.
    fn reasons(fabric: &Fabric, text: &str) -> Vec<String> {
        unfit(fabric, &assemble(fabric, "test", &format!("cell (row=1, col=0)\n{text}")).unwrap().program)
    }

    #[test]
    fn what_no_run_has_shown_is_named() {
        let fabric = preset("3x1").unwrap();
        let rep = |port: &str| format!("rep(slot=1, port={port}, iter=2) ");
        let open = |port: &str| format!("dsu(slot=1, port={port}) ");
        let four = |port: &str| format!("{}{}", open(port), rep(port).repeat(4));
        for (text, expected) in [
            ("brn(reg=1)".to_owned(), vec!["instruction 0 (brn)"]),
            ("wait(cycle=1) calc(mode=add, operand2=1, result=1)".to_owned(), vec!["instruction 1 (calc)"]),
            ("act(mode=map, param=1)".to_owned(), vec!["instruction 0 (act)"]),
            ("act(ports=2, param=1)".to_owned(), vec![]),
            (
                format!("{}{}repx(slot=1, port=word_read, iter=1)", open("word_read"), rep("word_read")),
                vec!["instruction 2 (repx)"],
            ),
            (
                format!("{}trans(slot=1, port=word_read, delay=1)", open("word_read")),
                vec!["instruction 1 (trans)"],
            ),
            // Register files of the circuit start at address 0.
            ("dsu(slot=1, port=word_read, init_addr=4)".to_owned(), vec!["instruction 0 (dsu)"]),
            ("dsu(slot=1, port=word_read, init_addr=0)".to_owned(), vec![]),
            // Four levels of each port, and again after it is opened.
            (four("word_read"), vec![]),
            (format!("{}{}", four("word_read"), four("word_write")), vec![]),
            (format!("{}{}", four("word_read"), four("word_read")), vec![]),
            (format!("{}{}", four("word_read"), rep("word_read")), vec!["instruction 5 (rep)"]),
            (
                format!("{}{}", four("word_read"), rep("word_read").repeat(2)),
                vec!["instruction 5 (rep)", "instruction 6 (rep)"],
            ),
            (format!("{}{}", four("word_read"), rep("word_write")), vec![]),
        ] {
            let expected: Vec<String> = expected
                .iter()
                .map(|what| format!("cell (1, 0): {what} is untested on the released circuit"))
                .collect();
            assert_eq!(reasons(&fabric, &text), expected, "{text}");
            assert_eq!(reasons(&fabric.clone().of_revision(Revision::Text), &text), [""; 0], "{text}");
        }
    }

    #[test]
    fn memories_begin_anywhere() {
        let fabric = preset("3x1").unwrap();
        let text = "cell (row=0, col=0) dsu(slot=1, port=input_buffer, init_addr=4)";
        assert_eq!(unfit(&fabric, &assemble(&fabric, "test", text).unwrap().program), [""; 0]);
    }

    #[test]
    fn a_cell_has_64_words() {
        let fabric = preset("3x1").unwrap();
        assert_eq!(reasons(&fabric, &"wait(cycle=1) ".repeat(64)), [""; 0]);
        for words in [65, 66] {
            let expected = format!("cell (1, 0): {words} words; it holds at most 64");
            assert_eq!(reasons(&fabric, &"wait(cycle=1) ".repeat(words)), [expected]);
        }
    }
}
