//! Functions without a table, approximated by straight lines: the option `functions=lines`.
//!
//! Each function is built from one that rises from one limit to another and is odd around zero. A
//! sum of clipped multiples of the operand, `sum of slope * clip(x, -end, end)`, follows it by
//! lines that end at the limit. The SIMD unit has all of these operations. Swish and Gelu multiply
//! the result by the operand. The largest error is reported.

use std::f64::consts::SQRT_2;

use npukit_graph::op::{Binary, BinaryKind, Clip, Unary, UnaryKind};
use npukit_graph::{Graph, Op, Operator};
use npukit_numeric::NumberFormat;
use npukit_target::Approximation;

use super::add_floats;
use super::parts::{Parts, replace_nodes};
use crate::config::Config;

/// Number of lines on either side of zero.
const LINES: usize = 4;
/// Grid points per unit of the scaled operand at which errors are measured.
const GRID: f64 = 32.0;
/// End of the grid; beyond it, every function is at its limit.
const END: f64 = 10.0;

/// A function, described by one that rises from minus `limit` to `limit`.
#[derive(Clone, Copy)]
struct Form {
    rising: fn(f64) -> f64,
    limit: f64,
    /// Whether the result is multiplied by the operand.
    is_gate: bool,
    /// Factor of the operand.
    alpha: f64,
}

/// Lines with coefficients rounded to the number format.
#[derive(Clone, Debug, PartialEq)]
struct Lines {
    /// For each line, where it ends, and by how much it is steeper than the next.
    ends: Vec<[f64; 2]>,
}

/// Returns the graph with lines instead of every supported function, and these functions. `None`
/// without such a function, or if the instance has tables.
pub fn drawn(graph: &Graph, config: &Config) -> Option<(Graph, Vec<Approximation>)> {
    if config.has_lookup() {
        return None;
    }
    let format = config.data_type.format();
    let approximated: Vec<Approximation> = graph
        .nodes
        .iter()
        .filter_map(|node| {
            let form = Form::of_op(&node.op)?;
            let error = form.fitted(format).error(&form);
            let method = format!(
                "is approximated by {LINES} lines on either side of zero; the error is up to {error:.4}, plus rounding"
            );
            Some(Approximation { node: node.name.clone(), op: node.op.name().to_owned(), method })
        })
        .collect();
    if approximated.is_empty() {
        return None;
    }
    let mut drawn = graph.clone();
    replace_nodes(&mut drawn, |parts, node| {
        parts.draw(node.inputs.first().copied()?, &Form::of_op(&node.op)?, format)
    });
    Some((drawn, approximated))
}

/// Returns one sentence per kind of function.
pub fn sentences(approximated: &[Approximation]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for text in approximated.iter().map(|one| format!("{} {}", one.op, one.method)) {
        if !notes.contains(&text) {
            notes.push(text);
        }
    }
    notes
}

impl Parts<'_> {
    fn draw(&mut self, x: npukit_graph::ValueId, form: &Form, format: NumberFormat) -> Option<()> {
        let mut sum = None;
        for &[end, slope] in &form.fitted(format).ends {
            let clipped = self.add("clipped", Clip { min: -end as f32, max: end as f32 }, &[x])?;
            let slope = self.number(slope)?;
            let line = self.add("line", Binary { kind: BinaryKind::Mul }, &[clipped, slope])?;
            sum = match sum {
                Some(sum) => self.add("sum", Binary { kind: BinaryKind::Add }, &[sum, line]),
                None => Some(line),
            };
        }
        // Functions with a limit of one half are between zero and one, so they are shifted by the
        // limit.
        let (shift, low) = if form.limit < 1.0 { (form.limit, 0.0) } else { (0.0, -form.limit) };
        let mut result = sum?;
        if shift > 0.0 {
            let shift = self.number(shift)?;
            result = self.add("shifted", Binary { kind: BinaryKind::Add }, &[result, shift])?;
        }
        let result =
            self.add("limited", Clip { min: low as f32, max: (form.limit + shift) as f32 }, &[result])?;
        if form.is_gate {
            self.add("gated", Binary { kind: BinaryKind::Mul }, &[x, result])?;
        }
        Some(())
    }

    fn number(&mut self, value: f64) -> Option<npukit_graph::ValueId> {
        let base = format!("{}/number", self.name);
        add_floats(self.graph, &base, vec![1], vec![value as f32])
    }
}

impl Form {
    fn of_op(op: &Op) -> Option<Self> {
        match op {
            Op::Unary(Unary { kind }) => Self::of(*kind),
            _ => None,
        }
    }

    fn of(kind: UnaryKind) -> Option<Self> {
        let half =
            Self { rising: |x| 1.0 / (1.0 + (-x).exp()) - 0.5, limit: 0.5, is_gate: false, alpha: 1.0 };
        match kind {
            UnaryKind::Sigmoid => Some(half),
            // Tanh is a sigmoid of twice the slope.
            UnaryKind::Tanh => Some(Self { rising: |x| (x / 2.0).tanh(), limit: 1.0, alpha: 2.0, ..half }),
            UnaryKind::Swish { alpha } if alpha > 0.0 => {
                Some(Self { is_gate: true, alpha: alpha.into(), ..half })
            }
            UnaryKind::Gelu { .. } => Some(Self { rising: |x| normal(x) - 0.5, is_gate: true, ..half }),
            _ => None,
        }
    }

    /// Evaluates the approximated function for a non-negative operand.
    fn at(&self, x: f64) -> f64 {
        (self.rising)(self.alpha * x)
    }

    /// Returns the lines with the least error that small steps from a good initial guess reach.
    /// Numbers are rounded to the format.
    fn fitted(&self, format: NumberFormat) -> Lines {
        let mut ends = [0.8, 1.6, 2.6, 4.2].map(|end| end / self.alpha);
        let mut best = Lines::through(self, &ends, format);
        let mut step = 0.4 / self.alpha;
        while step > 1e-3 / self.alpha {
            let mut is_better = false;
            for line in 0..LINES {
                for by in [-step, step] {
                    let mut tried = ends;
                    tried[line] += by;
                    let is_ordered = tried[0] > 0.0 && tried.is_sorted_by(|a, b| a < b);
                    let lines = Lines::through(self, &tried, format);
                    if is_ordered && lines.error(self) < best.error(self) {
                        (ends, best, is_better) = (tried, lines, true);
                    }
                }
            }
            if !is_better {
                step /= 2.0;
            }
        }
        best
    }
}

impl Lines {
    /// Returns lines that meet the function where they end; the last one ends at the limit.
    fn through(form: &Form, ends: &[f64; LINES], format: NumberFormat) -> Self {
        let value = |line: usize| if line + 1 == LINES { form.limit } else { form.at(ends[line]) };
        let slope = |line: usize| match line {
            0 => value(0) / ends[0],
            LINES.. => 0.0,
            _ => (value(line) - value(line - 1)) / (ends[line] - ends[line - 1]),
        };
        // Rounding up ensures that the sum reaches the limit and is clipped there.
        let step = format.step().unwrap_or(0.0); // Default: floats are not rounded here.
        let up = |x: f64| if step > 0.0 { (x / step).ceil() * step } else { x };
        let line = |line: usize| [up(ends[line]), up(slope(line) - slope(line + 1))];
        Self { ends: (0..LINES).map(line).collect() }
    }

    /// Returns the largest distance to the function on the grid.
    fn error(&self, form: &Form) -> f64 {
        let distance = |place: usize| {
            let x = place as f64 / GRID / form.alpha;
            let line = |[end, slope]: &[f64; 2]| slope * x.min(*end);
            let drawn = self.ends.iter().map(line).sum::<f64>().min(form.limit);
            (drawn - form.at(x)).abs() * if form.is_gate { x } else { 1.0 }
        };
        (0..=(END * GRID) as usize).map(distance).fold(0.0, f64::max)
    }
}

/// Returns the standard normal distribution function, by the error function.
fn normal(x: f64) -> f64 {
    0.5 * (1.0 + erf(x / SQRT_2))
}

/// Error function. Source: Abramowitz and Stegun, 7.1.6 (a series that converges everywhere).
fn erf(x: f64) -> f64 {
    const LARGE: f64 = 5.0;
    if x.abs() > LARGE {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while f64::abs(term) > 1e-16 * f64::abs(sum) {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    sum * (-x * x).exp() * 2.0 / std::f64::consts::PI.sqrt()
}

#[cfg(test)]
mod tests {
    use npukit_graph::op::GeluForm;
    use npukit_numeric::FixedFormat;

    use super::*;

    #[test]
    fn lines_are_near_the_functions() {
        let format = NumberFormat::Fixed(FixedFormat { width: 16, binary_point: 8 });
        for (kind, most) in [
            (UnaryKind::Sigmoid, 0.011),
            (UnaryKind::Tanh, 0.025),
            (UnaryKind::Swish { alpha: 1.0 }, 0.05),
            (UnaryKind::Gelu { form: GeluForm::Exact }, 0.05),
        ] {
            for format in [format, NumberFormat::Float32] {
                let form = Form::of(kind).map(|form| form.fitted(format).error(&form));
                assert!(form.is_some_and(|error| error < most), "{kind:?} {format}: {form:?}");
            }
        }
        assert!(Form::of(UnaryKind::Exp).is_none());
    }

    /// Source: Abramowitz and Stegun, table 7.1.
    #[test]
    fn the_error_function_is_that_of_the_table() {
        for (x, expected) in
            [(0.0, 0.0), (0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0)]
        {
            assert!((erf(x) - expected).abs() < 1e-9, "{x}");
            assert!((erf(-x) + expected).abs() < 1e-9, "{x}");
        }
    }
}
