//! [`Profile`]: timing parameters of the clock, chosen by the options of `npu time`.

use npukit_target::{Stage, TargetError, TimeOptions};

use crate::config::{Config, Timing};
use crate::program::Program;
use crate::target::options::chosen;

/// Instances whose parameters can be used for any program.
const SHIPPED: [&str; 3] = ["reference", "ideal", "detailed"];
/// Name for the parameters of the program's own instance, if they are not one of these.
const OWN: &str = "instance";

/// Timing parameters with their name.
pub(super) struct Profile {
    /// Name of the profile.
    pub name: String,
    /// Timing parameters.
    pub timing: Timing,
    /// Citation for the clock frequency; `None` if it is the timing model's.
    clock_source: Option<String>,
}

impl Profile {
    /// Returns the profile that the options choose, by default the program's own.
    ///
    /// Errors: options that are not legal.
    pub fn chosen(program: &Program, options: &TimeOptions) -> Result<Self, TargetError> {
        let chosen = chosen(Stage::Time, &options.options)?;
        let named = |name: &str| match name {
            OWN => Some(Self::own(program)),
            _ => shipped().find(|profile| profile.name == name),
        };
        let mut profile = chosen.word("profile", named).unwrap_or_else(|| Self::own(program));
        if let Some(mhz) = chosen.number("clock-mhz") {
            profile.timing.clock_mhz = mhz;
            profile.clock_source = Some("as asked".to_owned());
        }
        Ok(profile)
    }

    /// Returns the profile of the program's instance.
    fn own(program: &Program) -> Self {
        let timing = program.config.timing.clone();
        let name =
            shipped().find(|profile| profile.timing == timing).map_or(OWN.to_owned(), |found| found.name);
        Self { name, timing, clock_source: clock_source(program) }
    }

    /// Returns all profiles for a program.
    pub fn all(program: &Program) -> impl Iterator<Item = Self> {
        let timing = program.config.timing.clone();
        let is_shipped = shipped().any(|profile| profile.timing == timing);
        let own = Self { name: OWN.to_owned(), timing, clock_source: clock_source(program) };
        shipped().chain(Some(own).filter(|_| !is_shipped))
    }

    /// Describes the parameters in a sentence.
    pub fn assumption(&self) -> String {
        let Timing { port_bytes_per_cycle, burst_words, ifm_row_latency, conv_pipe, store_latency, .. } =
            self.timing;
        format!(
            "{}: {} bytes a cycle to and from DRAM, {ifm_row_latency} cycles before each row of a load, \
             {conv_pipe} to fill the multipliers, {store_latency} to empty the stores",
            self.name,
            u64::from(port_bytes_per_cycle) * u64::from(burst_words)
        )
    }

    /// Returns the citation for the clock frequency.
    pub fn clock_source(&self) -> String {
        self.clock_source.clone().unwrap_or_else(|| format!("profile {}", self.name))
    }
}

/// Returns the citation for the clock of the program's board.
fn clock_source(program: &Program) -> Option<String> {
    let system = program.config.system.as_ref()?;
    system.clock_mhz.map(|_| system.source())
}

fn shipped() -> impl Iterator<Item = Profile> {
    SHIPPED.into_iter().filter_map(|name| {
        let timing = Config::preset(name)?.timing;
        Some(Profile { name: name.to_owned(), timing, clock_source: None })
    })
}
