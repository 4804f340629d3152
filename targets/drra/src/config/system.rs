//! [`System`]: the clock frequency of a fabric, which architecture files of upstream do not have.

use npukit_target::{NamedSystems, SystemFigure};
use serde::{Deserialize, Deserializer, Serialize};

/// System around a fabric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Clock frequency in MHz.
    #[serde(default, deserialize_with = "clock_mhz", skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Source of the clock frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

fn clock_mhz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    SystemFigure::mhz("clock_mhz").read(deserializer).map(Some)
}

/// Systems of a fabric file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Systems {
    /// System that is in use.
    pub own: System,
    /// Other systems, by name, from the key `systems`.
    pub named: NamedSystems<System>,
}

impl System {
    /// Returns a one-line description.
    pub fn summary(&self) -> String {
        self.clock_mhz.map_or_else(String::new, |mhz| format!("{mhz} MHz"))
    }

    /// Returns the clock in MHz and its source: `asked` if given, otherwise the system's; `None` if
    /// both are missing.
    pub fn clock(&self, asked: Option<f64>) -> Option<(f64, String)> {
        if let Some(mhz) = asked {
            return Some((mhz, "as given".to_owned()));
        }
        let source = || self.source.clone().unwrap_or_else(|| "as its instance file specifies".to_owned());
        self.clock_mhz.map(|mhz| (mhz, source()))
    }
}
