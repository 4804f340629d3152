//! [`System`]: the clock of a fabric, which no architecture states.

use npukit_target::{NamedSystems, SystemFigure};
use serde::{Deserialize, Deserializer, Serialize};

/// What is around a fabric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Clock, in MHz.
    #[serde(default, deserialize_with = "clock_mhz", skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

fn clock_mhz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    SystemFigure::mhz("clock_mhz").read(deserializer).map(Some)
}

/// The systems of a file: the one the fabric is in, and others that it may be in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Systems {
    /// The one it is in.
    pub own: System,
    /// Those of `systems`.
    pub named: NamedSystems<System>,
}

impl System {
    /// What it states, in a line.
    pub fn summary(&self) -> String {
        self.clock_mhz.map_or_else(String::new, |mhz| format!("{mhz} MHz"))
    }

    /// The clock in MHz and who says so: the one asked for, else what is stated; none when neither is.
    pub fn clock(&self, asked: Option<f64>) -> Option<(f64, String)> {
        if let Some(mhz) = asked {
            return Some((mhz, "as given".to_owned()));
        }
        let source = || self.source.clone().unwrap_or_else(|| "as its instance's file says".to_owned());
        self.clock_mhz.map(|mhz| (mhz, source()))
    }
}
