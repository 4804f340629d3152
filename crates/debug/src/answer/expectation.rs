//! Checks of `expect` commands.

use crate::Debugger;
use crate::command::{Expectation, Scale};
use crate::place::Range;

impl Debugger {
    /// Returns how the program differs from the expectation; `None` if it holds.
    pub(super) fn unexpected(&self, expectation: &Expectation) -> Option<String> {
        let differs = |found: String, expected: String| {
            (found != expected).then(|| format!("expected {expected}, found {found}"))
        };
        let position = self.position();
        match expectation {
            Expectation::Step(step) => differs(format!("step {position}"), format!("step {step}")),
            Expectation::Layer(layer) => differs(self.layer_told(position), format!("layer `{layer}`")),
            Expectation::Cycle(cycle) => match self.moments() {
                Err(message) => Some(message.to_owned()),
                Ok(moments) => {
                    let found = moments.get(position).map_or(0, |moment| moment.start); // Default: after the end.
                    differs(format!("cycle {found}"), format!("cycle {cycle}"))
                }
            },
            Expectation::Line(line) => {
                let here = self.line_here().map(|here| format!("line {}", here.line));
                differs(here.unwrap_or_else(|| "no line".to_owned()), format!("line {line}"))
            }
            Expectation::Text(text) => {
                if let Err(message) = self.listing() {
                    return Some(message.to_owned());
                }
                let found = self.step_text(position);
                (!found.contains(text)).then(|| format!("expected `{text}` in `{found}`"))
            }
            Expectation::Stop(name, id) => {
                let number = |id: Option<u32>| id.map_or_else(String::new, |id| format!(" {id}"));
                let found = format!("{}{}", self.stop().name(), number(id.and(self.stop().point())));
                differs(format!("stop {found}"), format!("stop {name}{}", number(*id)))
            }
            Expectation::Saturations(count) => differs(
                format!("saturations {}", self.machine().saturations()),
                format!("saturations {count}"),
            ),
            Expectation::Hits(count) => match self.hits {
                None => Some("there was no `scan` before".to_owned()),
                Some(found) => differs(format!("hits {found}"), format!("hits {count}")),
            },
            Expectation::Writer(writer) => match self.writer {
                None => Some("there was no `who` before".to_owned()),
                Some(found) => differs(writer_told(found), writer_told(*writer)),
            },
            Expectation::Values { range, scale, values, within } => {
                // Default: an unreadable number is a failure with the machine's reason.
                self.differs(range, *scale, values, *within).unwrap_or_else(Some)
            }
        }
    }

    /// Describes the layer of a step.
    fn layer_told(&self, position: usize) -> String {
        let machine = self.machine();
        let layer = machine.layer(position).and_then(|place| machine.layers().get(place));
        layer.map_or_else(|| "no layer".to_owned(), |name| format!("layer `{name}`"))
    }

    /// Returns the first number of a range that differs by more than `within` from its expected
    /// value.
    fn differs(
        &self,
        range: &Range,
        scale: Scale,
        values: &[f64],
        within: f64,
    ) -> Result<Option<String>, String> {
        let raw = self.raw(range)?;
        let found: Vec<f64> = match scale {
            Scale::Raw | Scale::Hex => raw.iter().map(|&number| number as f64).collect(),
            Scale::Float => self.floats(range)?,
            Scale::Error => self.errors(range, &raw)?,
            // Default: in a memory of integers, the value is the number itself.
            Scale::Real => raw
                .iter()
                .map(|&number| self.machine().real(range.memory, number).unwrap_or(number as f64))
                .collect(),
        };
        let lanes =
            if range.lane.is_some() { 1 } else { self.machine().memories()[range.memory].lanes.max(1) };
        let wrong = found.iter().enumerate().find_map(|(place, &found)| {
            // Default: one value is expected for all numbers.
            let expected = *values.get(place).or(values.first())?;
            let are_nan = found.is_nan() && expected.is_nan();
            let is_near = found == expected || (found - expected).abs() <= within || are_nan;
            (!is_near).then_some((place, found, expected))
        });
        let scale = Scale::ALL.iter().find(|(_, other)| *other == scale).map_or("", |(name, _)| name);
        Ok(wrong.map(|(place, found, expected)| {
            let address = range.start + (place / lanes) as u64;
            let lane = range.lane.unwrap_or(place % lanes); // Default: all numbers of an address are compared.
            let name = &self.machine().memories()[range.memory].name;
            format!("expected {expected}, found {found} in {name}[{address}].{lane} ({scale})")
        }))
    }
}

/// Describes the step that wrote a value.
fn writer_told(writer: Option<usize>) -> String {
    let writer = writer.map_or_else(|| "nobody".to_owned(), |step| step.to_string());
    format!("writer {writer}")
}
