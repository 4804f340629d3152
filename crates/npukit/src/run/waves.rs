//! [`Waves`]: the activity of each unit over time, as waveforms.

use npukit_target::{Compiled, HazardMode, Phase, TimeOptions, record};
use npukit_trace::Fst;

use crate::error::Error;
use crate::run::latency::timed;

/// Waveforms, and settings to display them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waves {
    /// Waveforms in FST format, `.fst`.
    pub fst: Vec<u8>,
    /// GTKWave save file, `.gtkw`.
    pub gtkwave: Vec<u8>,
    /// Surfer command file, `.sucl`.
    pub surfer: Vec<u8>,
}

impl Waves {
    /// Records the waveforms of a program. `path` is the future path of the waveforms, for the save
    /// file.
    ///
    /// # Errors
    ///
    /// Fails if the program's clock or its trace fails.
    pub(crate) fn of(compiled: &dyn Compiled, meaning: HazardMode, path: &str) -> Result<Self, Error> {
        let options = TimeOptions { meaning, ..TimeOptions::default() };
        let time = timed(compiled, &options)?;
        let _phase = Phase::begin("write waveforms");
        let mut waves = Self::default();
        let sink = Fst::new(&mut waves.fst)
            .with_gtkwave(&mut waves.gtkwave, Some(path))
            .with_surfer(&mut waves.surfer);
        record(compiled, &options, &time, None, sink)?;
        Ok(waves)
    }
}
