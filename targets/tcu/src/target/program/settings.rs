//! What the options of `npu time` ask for: [`Settings`].

use std::str::FromStr;

use npukit_target::{TargetError, TimeOptions};

use crate::board;
use crate::clock::{Clock, ClockError, ClockParams};
use crate::config::Config;

/// Whose cycles a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CostModel {
    /// The hardware's, as the clock has them.
    Model,
    /// The published estimator's.
    Estimator,
    /// Those of performance samples.
    Samples,
}

impl CostModel {
    /// The key of its cycles.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Estimator => "estimator",
            Self::Samples => "samples",
        }
    }
}

/// What the options ask for; what they leave open is the board's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) cost_model: CostModel,
    pub(super) clock_mhz: Option<f64>,
    pub(super) clock_source: Option<String>,
    pub(super) memory: ClockParams,
    /// Whether the memory is as the options say.
    pub(super) memory_given: bool,
    /// Cycles from a performance sample to the next.
    pub(super) sample_interval: u16,
    /// Samples come in whole blocks of so many.
    pub(super) sample_block: u32,
}

/// The C driver's (specification 6.4).
const SAMPLE_INTERVAL: u16 = 1000;
/// The fastest clock taken, in MHz: latencies that follow from it stay those of a memory.
const FASTEST_MHZ: f64 = 100_000.0;

impl Settings {
    /// The settings for a program of `config`, on the preset `board` if it is of one.
    ///
    /// Errors: [`TargetError::Option`] for options that do not exist and values that are not legal.
    pub(super) fn new(
        config: &Config,
        board: Option<&str>,
        options: &TimeOptions,
    ) -> Result<Self, TargetError> {
        let known = board.and_then(board::clock);
        let mut settings = Self {
            cost_model: CostModel::Model,
            clock_mhz: known.map(|clock| clock.mhz),
            clock_source: known.map(|clock| clock.source.to_owned()),
            memory: board::memory(config, known.map(|clock| clock.mhz)),
            memory_given: false,
            sample_interval: SAMPLE_INTERVAL,
            sample_block: 1,
        };
        // The board's latency follows from the clock, so the clock comes first.
        if let Some(value) = options.options.get("clock-mhz") {
            settings.set_clock(config, value)?;
        }
        for (key, value) in &options.options {
            settings.set(key, value)?;
        }
        settings.check_bus(config)?;
        Ok(settings)
    }

    fn set_clock(&mut self, config: &Config, value: &str) -> Result<(), TargetError> {
        let mhz = f64::from_str(value).ok().filter(|mhz| *mhz > 0.0 && *mhz <= FASTEST_MHZ);
        let reason = || format!("must be a number of megahertz above 0, at most {FASTEST_MHZ}");
        let mhz = mhz.ok_or_else(|| error("clock-mhz", value, reason()))?;
        self.clock_mhz = Some(mhz);
        self.clock_source = Some("as given".to_owned());
        self.memory = board::memory(config, Some(mhz));
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), TargetError> {
        let latency = |value| number(key, value, 0, u64::from(u16::MAX));
        match key {
            "clock" => self.cost_model = cost_model(value)?,
            "clock-mhz" => {}
            "latency" => {
                self.memory.read_latency = latency(value)?;
                self.memory.write_response_latency = self.memory.read_latency;
            }
            // Comes after `latency` in the order of names.
            "write-latency" => self.memory.write_response_latency = latency(value)?,
            "axi-bits" => self.memory.axi_bits = number(key, value, 8, 1024)? as u32,
            "sample-interval" => self.sample_interval = number(key, value, 1, u16::MAX.into())? as u16,
            "sample-block" => self.sample_block = number(key, value, 1, u32::MAX.into())? as u32,
            _ => return Err(error(key, value, format!("there is no such option; there are {KNOWN}"))),
        }
        self.memory_given |= matches!(key, "latency" | "write-latency" | "axi-bits");
        Ok(())
    }

    /// A bus the options ask for must fit; one that is the board's fits if any does.
    fn check_bus(&self, config: &Config) -> Result<(), TargetError> {
        let bits = self.memory.axi_bits;
        match Clock::new(config, self.memory) {
            Err(found @ (ClockError::Bus { .. } | ClockError::Beats { .. })) if self.memory_given => {
                Err(error("axi-bits", &bits.to_string(), found.to_string()))
            }
            _ => Ok(()),
        }
    }
}

const KNOWN: &str = "clock, clock-mhz, latency, write-latency, axi-bits, sample-interval and sample-block";

fn cost_model(value: &str) -> Result<CostModel, TargetError> {
    let known = [CostModel::Model, CostModel::Estimator];
    let found = known.into_iter().find(|model| model.name() == value);
    found.ok_or_else(|| error("clock", value, "there are `model` and `estimator`".to_owned()))
}

fn number(key: &str, value: &str, least: u64, most: u64) -> Result<u64, TargetError> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| error(key, value, format!("must be a whole number from {least} to {most}")))
}

fn error(key: &str, value: &str, reason: String) -> TargetError {
    TargetError::Option { key: key.to_owned(), value: value.to_owned(), reason }
}
