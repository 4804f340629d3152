//! [`Remaining`]: where a program saturates on the samples, and why no power of two helped.

use npukit_graph::rescale::{Ranges, Scales};
use npukit_graph::{Graph, Operator, ValueId};
use npukit_target::{Layer, Saturation};

use super::{Exponents, exponent};
use crate::report::rescale::Remaining;

/// Compiled graph and the information about it.
pub(super) struct Look<'a> {
    pub graph: &'a Graph,
    pub exponents: &'a Exponents,
    /// Exponents of inputs and outputs.
    pub scales: &'a Scales,
    /// Graph before rescaling, and the ranges of its values.
    pub original: &'a Graph,
    pub ranges: &'a Ranges,
    /// Largest magnitude in the number format.
    pub largest: f64,
}

impl Look<'_> {
    /// Returns the layers that saturate.
    pub fn at(&self, saturations: &[Saturation], layers: &[Layer]) -> Vec<Remaining> {
        saturations.iter().map(|saturation| self.one(saturation, layers)).collect()
    }

    fn one(&self, saturation: &Saturation, layers: &[Layer]) -> Remaining {
        let values =
            layers.iter().find(|layer| layer.name == saturation.layer).map(|layer| layer.results.clone());
        // Default: empty for a layer that the program does not name.
        let values = values.unwrap_or_default();
        let known = values.iter().filter_map(|name| Some((name.as_str(), self.magnitude(name)?)));
        let most = known.max_by(|a, b| a.1.total_cmp(&b.1));
        let reason = match most {
            None => "the range of its results is unknown".to_owned(),
            Some((name, magnitude)) => self.reason(name, magnitude),
        };
        let magnitude = most.map(|(_, magnitude)| magnitude);
        let (layer, count) = (saturation.layer.clone(), saturation.count);
        Remaining { layer, is_input: false, count, values, magnitude, reason }
    }

    /// Returns the inputs that do not fit, if elements of inputs saturate.
    pub fn inputs(&self, count: u64) -> Vec<Remaining> {
        let unfit = self.original.inputs.iter().filter_map(|&id| {
            let name = &self.original.value(id).name;
            let exponent = exponent(self.scales, name);
            let magnitude = f64::from(self.ranges.of(id)) / f64::from(exponent).exp2();
            (magnitude > self.largest).then(|| Remaining {
                layer: name.clone(),
                is_input: true,
                count,
                values: vec![name.clone()],
                magnitude: Some(magnitude),
                reason: self.reason(name, magnitude),
            })
        });
        if count == 0 { Vec::new() } else { unfit.collect() }
    }

    /// Returns the largest magnitude of a value as stored. Copies with another exponent are called
    /// `NAME/2^s`.
    fn magnitude(&self, name: &str) -> Option<f64> {
        let id =
            self.original.find_value(name).or_else(|| self.original.find_value(name.split("/2^").next()?))?;
        let exponent = exponent(self.exponents, name);
        Some(f64::from(self.ranges.of(id)) / f64::from(exponent).exp2())
    }

    fn reason(&self, name: &str, magnitude: f64) -> String {
        let largest = self.largest;
        if magnitude <= largest {
            return format!(
                "`{name}` fits, with {magnitude:.4} of {largest:.4}, but intermediate sums do not"
            );
        }
        let id = self.graph.find_value(name);
        if id.is_some_and(|id| self.graph.is_output(id)) {
            return format!(
                "`{name}` is an output and cannot be scaled: it reaches {magnitude:.4}, above the maximum of {largest:.4}"
            );
        }
        let readers = id.map_or_else(String::new, |id| self.readers(id));
        let read =
            if readers.is_empty() { String::new() } else { format!(", and {readers} reads it unscaled") };
        format!("`{name}` reaches {magnitude:.4}, {largest:.4} fit{read}")
    }

    /// Returns the operators that read a value.
    fn readers(&self, id: ValueId) -> String {
        let readers = self.graph.nodes.iter().filter(|node| node.inputs.contains(&id));
        let mut names: Vec<&str> = readers.map(|node| node.op.name()).collect();
        names.dedup();
        names.join(" and ")
    }
}
