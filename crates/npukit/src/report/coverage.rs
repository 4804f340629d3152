//! [`Coverage`]: the share of a model that the accelerator computes.

use npukit_target::CompileEstimate;
use serde::Serialize;

/// Share of a model that the accelerator computes, and the number of its programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Coverage {
    /// Share of the model's multiply-accumulates that the accelerator computes, 0 to 1. For a
    /// refused model, it covers the supported nodes. `None` if the model has no
    /// multiply-accumulates, or if an artifact does not record it.
    pub macs_on_chip: Option<f64>,
    /// Number of programs that run one after the other, with host steps in between; 0 for a refused
    /// model.
    pub segments: usize,
}

/// Share below which a warning is given.
const HALF: f64 = 0.5;

impl Coverage {
    /// Returns the share for a program or a survey.
    pub(crate) fn of(estimate: &CompileEstimate) -> Self {
        let all = estimate.macs.filter(|&macs| macs > 0);
        let share = |all: u64| all.saturating_sub(estimate.host_macs) as f64 / all as f64;
        Self { macs_on_chip: all.map(share), segments: estimate.segments }
    }

    /// Returns a warning if the accelerator computes less than half of the model.
    pub(crate) fn warning(&self) -> Option<String> {
        let share = self.macs_on_chip.filter(|&share| share < HALF)?;
        Some(format!(
            "less than half of the model runs on the accelerator: {:.1} % of its multiply-accumulates; the host computes the rest",
            share * 100.0
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_on_the_chip_is_said() {
        let warning = |macs_on_chip| Coverage { macs_on_chip, segments: 2 }.warning();
        assert_eq!((warning(None), warning(Some(0.5)), warning(Some(1.0))), (None, None, None));
        assert!(warning(Some(0.125)).is_some_and(|text| text.contains("12.5 %")));
    }
}
