//! [`OnChip`]: how much of a model its chip does.

use npukit_target::Survey;
use serde::Serialize;

/// How much of a model its chip does, and in how many programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OnChip {
    /// Share of the model's multiply-accumulates that the chip does, 0 to 1; of a model that is refused, those of nodes that
    /// it takes. None where the model has none, and of an artifact that does not say.
    pub macs_on_chip: Option<f64>,
    /// Programs that the chip runs one after the other, with steps of the host between them; 0 of a model that is refused.
    pub segments: usize,
}

/// Below this the chip is of little use to a model.
const HALF: f64 = 0.5;

impl OnChip {
    /// That of a program, or of one that there would be.
    pub(crate) fn of(survey: &Survey) -> Self {
        let all = survey.macs.filter(|&macs| macs > 0);
        let share = |all: u64| all.saturating_sub(survey.host_macs) as f64 / all as f64;
        Self { macs_on_chip: all.map(share), segments: survey.segments }
    }

    /// The warning of a model of which the chip does less than half.
    pub(crate) fn warning(&self) -> Option<String> {
        let share = self.macs_on_chip.filter(|&share| share < HALF)?;
        Some(format!(
            "less than half of the model is on the chip: {:.1} % of its multiply-accumulates, the host does the others",
            share * 100.0
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_on_the_chip_is_said() {
        let warning = |macs_on_chip| OnChip { macs_on_chip, segments: 2 }.warning();
        assert_eq!((warning(None), warning(Some(0.5)), warning(Some(1.0))), (None, None, None));
        assert!(warning(Some(0.125)).is_some_and(|text| text.contains("12.5 %")));
    }
}
