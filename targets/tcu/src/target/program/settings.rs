//! [`Settings`]: parsed options of `npu time`.

use npukit_target::{Chosen, HazardMode, Stage, TargetError, TimeOptions};

use crate::clock::Clock;
use crate::config::{ClockError, ClockParams, Config, System, board};
use crate::target::options::chosen;

/// Cost model of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CostModel {
    /// Cycles of the hardware, by the clock.
    Model,
    /// Cycles of the published estimator.
    Estimator,
    /// Cycles by performance samples.
    Samples,
}

impl CostModel {
    /// Returns the JSON key of its cycles.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Model => "hw",
            Self::Estimator => "estimator",
            Self::Samples => "samples",
        }
    }

    /// Returns the cost model for a value of the option `clock`.
    fn of_clock(name: &str) -> Option<Self> {
        match name {
            "hw" => Some(Self::Model),
            "estimator" => Some(Self::Estimator),
            _ => None,
        }
    }
}

/// Values of the options, with the board's values as defaults.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) cost_model: CostModel,
    pub(super) clock_mhz: Option<f64>,
    pub(super) clock_source: Option<String>,
    pub(super) memory: ClockParams,
    /// Whether options determine the memory.
    pub(super) memory_given: bool,
    /// Source of the memory figures in the system, if it has any.
    pub(super) memory_source: Option<String>,
    /// Cycles between performance samples.
    pub(super) sample_interval: u16,
    /// Number of samples per block; only whole blocks are written.
    pub(super) sample_block: u32,
}

/// Default sample interval of the C driver (specification 6.4).
const SAMPLE_INTERVAL: u16 = 1000;

impl Settings {
    /// Creates the settings for a program of `config` in `system`.
    ///
    /// # Errors
    ///
    /// [`TargetError::Option`] for unknown options and illegal values.
    pub(super) fn new(config: &Config, system: &System, options: &TimeOptions) -> Result<Self, TargetError> {
        let mut settings = Self {
            cost_model: CostModel::Model,
            clock_mhz: system.clock_mhz,
            clock_source: system.clock_source(),
            memory: board::memory(config, system, None),
            memory_given: false,
            memory_source: system.stated_memory(),
            sample_interval: SAMPLE_INTERVAL,
            sample_block: config.sample_block_size.max(1),
        };
        settings.take(config, system, chosen(Stage::Samples, &options.options)?);
        settings.memory.crosses_by_a_beat = options.meaning == HazardMode::Hardware;
        settings.check_bus(config)?;
        Ok(settings)
    }

    fn take(&mut self, config: &Config, system: &System, chosen: Chosen<'_>) {
        if let Some(cost_model) = chosen.word("clock", CostModel::of_clock) {
            self.cost_model = cost_model;
        }
        // The board's latency depends on the clock frequency, so the frequency must be set first.
        if let Some(mhz) = chosen.number("clock-mhz") {
            self.clock_mhz = Some(mhz);
            self.clock_source = Some("as given".to_owned());
            self.memory = board::memory(config, system, Some(mhz));
        }
        let (latency, write_latency) = (chosen.number("latency"), chosen.number("write-latency"));
        let axi_bits = chosen.number("axi-bits");
        let memory = &mut self.memory;
        memory.read_latency = latency.unwrap_or(memory.read_latency);
        memory.write_response_latency = write_latency.or(latency).unwrap_or(memory.write_response_latency);
        memory.axi_bits = axi_bits.unwrap_or(memory.axi_bits);
        self.memory_given = latency.is_some() || write_latency.is_some() || axi_bits.is_some();
        self.sample_interval = chosen.number("sample-interval").unwrap_or(self.sample_interval);
        self.sample_block = chosen.number("sample-block").unwrap_or(self.sample_block);
    }

    /// Checks that the bus fits if options set it; the board's own bus fits if any does.
    fn check_bus(&self, config: &Config) -> Result<(), TargetError> {
        let bits = self.memory.axi_bits;
        match Clock::new(config, self.memory) {
            Err(found @ (ClockError::Bus { .. } | ClockError::Beats { .. })) if self.memory_given => {
                Err(TargetError::option("axi-bits", &bits.to_string(), found.to_string()))
            }
            _ => Ok(()),
        }
    }
}
