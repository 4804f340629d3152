//! Formats the tree of `who` as text.

use std::fmt::Write as _;

use super::{number_text, real_text};
use crate::Debugger;
use crate::place::Range;
use crate::who::{ADDRESSES, Node};

impl Debugger {
    /// Returns the tree of a range as text.
    pub(super) fn tree(&mut self, range: &Range, depth: usize) -> Result<String, String> {
        let nodes = self.who(range, depth)?;
        self.writer = Some(nodes.first().and_then(|node| node.writer));
        let mut text = String::new();
        nodes.iter().for_each(|node| self.branch(node, 0, &mut text));
        if let Some(others) = (range.end - range.start).checked_sub(ADDRESSES).filter(|&others| others > 0) {
            let _ = writeln!(text, "and {others} other addresses");
        }
        Ok(text)
    }

    fn branch(&self, node: &Node, level: usize, text: &mut String) {
        let indent = "  ".repeat(level);
        let role = if node.role.is_empty() { String::new() } else { format!("{} ", node.role) };
        let name = self.run_text(node.run, node.lane);
        let more = if node.count > node.values.len() { " ..." } else { "" };
        let real = |&number: &i64| number_text(number, self.machine().real(node.run.memory, number));
        let values: Vec<String> = node.values.iter().map(real).collect();
        let _ = write!(text, "{indent}{role}{name} = {}{more}", values.join(" "));
        if !node.floats.is_empty() {
            let floats: Vec<String> = node.floats.iter().map(|&float| real_text(float)).collect();
            let _ = write!(text, ", in float {}{more}", floats.join(" "));
        }
        match (node.writer, &node.placed) {
            (Some(_), _) => text.push('\n'),
            (None, Some(placed)) => {
                let _ = writeln!(text, ": {placed}");
            }
            (None, None) => text.push_str(": there before the first step\n"),
        }
        let Some(step) = node.writer else { return };
        let cut = if node.is_cut { " ..." } else { "" };
        let _ = writeln!(text, "{indent}  {}{cut}", self.step_line(step));
        node.from.iter().for_each(|node| self.branch(node, level + 2, text));
    }
}
