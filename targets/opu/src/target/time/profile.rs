//! [`Profile`]: whose parameters the clock has, by the options of `npu time`.

use npukit_target::{TargetError, TimeOptions};

use crate::config::{Config, Timing};
use crate::program::Program;

/// Instances whose parameters any program may be timed with.
const SHIPPED: [&str; 3] = ["reference", "ideal", "detailed"];
/// The parameters of the program's own instance, when they are none of those.
const OWN: &str = "instance";

/// Parameters of the clock.
pub(super) struct Profile {
    /// Its name.
    pub name: String,
    /// The parameters.
    pub timing: Timing,
    /// Whether its clock is what the options say.
    is_clock_given: bool,
}

impl Profile {
    /// The one that the options choose; the program's own when they choose none.
    ///
    /// Errors: options that are not legal.
    pub fn chosen(program: &Program, options: &TimeOptions) -> Result<Self, TargetError> {
        let own = program.config.timing.clone();
        let name = shipped().find(|profile| profile.timing == own).map_or(OWN.to_owned(), |found| found.name);
        let mut profile = Self { name, timing: own, is_clock_given: false };
        if let Some(name) = options.options.get("profile") {
            profile = Self::all(program).find(|known| known.name == *name).ok_or_else(|| {
                let known: Vec<_> = Self::all(program).map(|known| known.name).collect();
                option("profile", name, &format!("the profiles are {}", known.join(", ")))
            })?;
        }
        for (key, value) in options.options.iter().filter(|(key, _)| *key != "profile") {
            if key != "clock-mhz" {
                return Err(option(key, value, "the options of opu are `profile` and `clock-mhz`"));
            }
            let mhz = value.parse().ok().filter(|mhz| (0.001..=1e6).contains(mhz));
            profile.timing.clock_mhz =
                mhz.ok_or_else(|| option(key, value, "must be a number of MHz, 0.001 to 1000000"))?;
            profile.is_clock_given = true;
        }
        Ok(profile)
    }

    /// All there are for a program.
    pub fn all(program: &Program) -> impl Iterator<Item = Self> {
        let timing = program.config.timing.clone();
        let is_shipped = shipped().any(|profile| profile.timing == timing);
        let own = Self { name: OWN.to_owned(), timing, is_clock_given: false };
        shipped().chain(Some(own).filter(|_| !is_shipped))
    }

    /// What the parameters are, in a sentence.
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

    /// Where the clock's frequency is from.
    pub fn clock_source(&self) -> String {
        if self.is_clock_given { "as asked".to_owned() } else { format!("profile {}", self.name) }
    }
}

fn shipped() -> impl Iterator<Item = Profile> {
    SHIPPED.into_iter().filter_map(|name| {
        let timing = Config::preset(name)?.timing;
        Some(Profile { name: name.to_owned(), timing, is_clock_given: false })
    })
}

fn option(key: &str, value: &str, reason: &str) -> TargetError {
    TargetError::Option { key: key.to_owned(), value: value.to_owned(), reason: reason.to_owned() }
}
