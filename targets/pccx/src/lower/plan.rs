//! L2 addresses of values while the layers run: [`Plan`].

use std::fmt::Write;

use super::memory::Region;
use crate::program::host::Layer;

/// Region of L2 and the value that a layer stores there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    /// Index of the layer.
    layer: usize,
    region: Region,
    /// Name of the value; `None` for scratch data of the layer.
    holds: Option<String>,
}

/// Addresses that a program uses, in the order of allocation.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    placed: Vec<Placed>,
}

impl Plan {
    /// Records that `layer` has allocated `region`.
    pub fn allocate(&mut self, layer: usize, region: Region) {
        self.placed.push(Placed { layer, region, holds: None });
    }

    /// Records that `region` now contains `name`.
    pub fn hold(&mut self, layer: usize, region: Region, name: &str) {
        let of_layer = self.placed.iter_mut().rev().take_while(|placed| placed.layer == layer);
        let mut unnamed = of_layer.filter(|placed| placed.region == region && placed.holds.is_none());
        let holds = Some(name.to_owned());
        match unnamed.next() {
            Some(placed) => placed.holds = holds,
            // The region of an operand that later steps do not use.
            None => self.placed.push(Placed { layer, region, holds }),
        }
    }

    /// Prints one line per address, below the layer that allocates it. The two numbers are the
    /// maximum of words in use at once, and the total.
    pub fn print(&self, layers: &[Layer], [maximum, aggregate]: [u64; 2]) -> String {
        let mut text = format!("L2: {maximum} words at most in use at once, {aggregate} placed\n");
        for (index, layer) in layers.iter().enumerate() {
            let start = self.placed.partition_point(|placed| placed.layer < index);
            let end = self.placed.partition_point(|placed| placed.layer <= index);
            // The result is ignored because writing to a string cannot fail.
            let _ = writeln!(text, "{}", layer.name);
            let mut lines: Vec<String> = Vec::new();
            for line in self.placed[start..end].iter().map(Placed::print) {
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            text.extend(lines);
        }
        text
    }
}

impl Placed {
    fn print(&self) -> String {
        let Region { base, values } = self.region;
        let end = self.region.head() + self.region.words();
        // Default: scratch data has no name.
        let holds = self.holds.as_deref().unwrap_or("(scratch)");
        format!("  L2 {base}..{end}: {values} values, {holds}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_to_the_region_it_was_allocated_for() {
        let mut plan = Plan::default();
        let [x, y] = [1, 4].map(|base| Region { base, values: 9 });
        plan.allocate(0, x);
        plan.allocate(0, y);
        plan.hold(0, x, "x");
        // The result overwrites its operand in the same region.
        plan.hold(1, x, "y");
        plan.allocate(1, y);
        plan.allocate(1, y);
        let layers = ["a", "b"].map(|name| Layer { name: name.to_owned(), ..Layer::default() });
        let expected = "L2: 6 words at most in use at once, 6 placed\n\
            a\n  L2 1..3: 9 values, x\n  L2 4..6: 9 values, (scratch)\n\
            b\n  L2 1..3: 9 values, y\n  L2 4..6: 9 values, (scratch)\n";
        assert_eq!(plan.print(&layers, [6, 6]), expected);
    }
}
