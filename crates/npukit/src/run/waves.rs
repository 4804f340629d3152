//! [`Waves`]: what each unit does when, as waveforms.

use npukit_target::{Compiled, Meaning, Phase, TimeOptions, record};
use npukit_trace::Fst;

use crate::error::Error;
use crate::run::speed::timed;

/// Waveforms, and how viewers are to show them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waves {
    /// The waveforms, `.fst`.
    pub fst: Vec<u8>,
    /// Save file of GTKWave, `.gtkw`.
    pub gtkwave: Vec<u8>,
    /// Command file of Surfer, `.sucl`.
    pub surfer: Vec<u8>,
}

impl Waves {
    /// Those of a program. `path` is where the waveforms will be, for the save file.
    ///
    /// # Errors
    ///
    /// Those of the program's clock and of its trace.
    pub(crate) fn of(compiled: &dyn Compiled, meaning: Meaning, path: &str) -> Result<Self, Error> {
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
