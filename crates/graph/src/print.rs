//! Text form of a graph, for `--emit graph` and for tests.
//!
//! There is one line per input, constant, node and output, in graph order, so that equal graphs
//! print equally.

use std::fmt::{Display, Formatter, Result};

use crate::ir::{Graph, Node, ValueId, ValueInfo};

/// Formats type and shape: `f32[1,32,32,3]`.
impl Display for ValueInfo {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let element = format!("{:?}", self.element).to_lowercase();
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        write!(f, "{element}[{}]", sizes.join(","))
    }
}

impl Display for Graph {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "graph {}", self.name)?;
        self.inputs.iter().try_for_each(|&id| writeln!(f, "  input  {}", self.typed(id)))?;
        for value in self.values.iter().filter(|value| value.constant.is_some()) {
            writeln!(f, "  const  {}: {}", value.name, value.info)?;
        }
        self.nodes.iter().try_for_each(|node| self.print_node(f, node))?;
        self.outputs.iter().try_for_each(|&id| writeln!(f, "  output {}", self.typed(id)))
    }
}

impl Graph {
    fn print_node(&self, f: &mut Formatter<'_>, node: &Node) -> Result {
        let list = |ids: &[ValueId]| ids.iter().map(|&id| self.typed(id)).collect::<Vec<_>>().join(", ");
        let (outputs, inputs) = (list(&node.outputs), list(&node.inputs));
        writeln!(f, "  {outputs} = {}({inputs})  # {}", node.op, node.name)
    }

    fn typed(&self, id: ValueId) -> String {
        let value = self.value(id);
        format!("{}: {}", value.name, value.info)
    }
}
