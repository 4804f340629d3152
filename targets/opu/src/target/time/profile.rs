//! [`Profile`]: whose parameters the clock has, by the options of `npu time`.

use npukit_target::{Stage, TargetError, TimeOptions};

use crate::config::{Config, Timing};
use crate::program::Program;
use crate::target::options::chosen;

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
    /// Who says what its clock is; none when that is the cycle model.
    clock_source: Option<String>,
}

impl Profile {
    /// The one that the options choose; the program's own when they choose none.
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

    /// That of the program's instance.
    fn own(program: &Program) -> Self {
        let timing = program.config.timing.clone();
        let name =
            shipped().find(|profile| profile.timing == timing).map_or(OWN.to_owned(), |found| found.name);
        Self { name, timing, clock_source: clock_source(program) }
    }

    /// All there are for a program.
    pub fn all(program: &Program) -> impl Iterator<Item = Self> {
        let timing = program.config.timing.clone();
        let is_shipped = shipped().any(|profile| profile.timing == timing);
        let own = Self { name: OWN.to_owned(), timing, clock_source: clock_source(program) };
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
        self.clock_source.clone().unwrap_or_else(|| format!("profile {}", self.name))
    }
}

/// Who says what the clock of the program's board is.
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
