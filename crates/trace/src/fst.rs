//! [`Fst`]: a trace as waveforms in the FST format, which GTKWave and Surfer show.
//!
//! Each unit is a scope with its signals: `operation` (what it does), `active`, `waits_for`, what its slices say
//! (`instruction`, `layer`, `busy`, `bytes`, addresses...) and its counters. The scope `program` has the `layer` that the
//! machine is with and the last `instruction` that the first unit to know one took up, which is what issues them; numbers of
//! no unit are in the scope `memories`. Names have underscores for all that is neither a letter nor a digit, as save files
//! split at spaces.
//!
//! While a unit rests its signals are not driven (`z`), which viewers draw as a line between the slices, and `active` is 0.
//! Slices of the same name without a gap are one block of `operation`, as a signal has no edge where its value stays the
//! same: `instruction` tells them apart. What a recorder leaves out as it goes without saying is said: `busy` that is all
//! cycles, `waited` that is all of a wait, and no `bytes`.
//!
//! Texts are vectors of ASCII, which both viewers show when told so: the library writes neither strings of any length nor
//! tables of names. A save file tells GTKWave ([`Fst::with_gtkwave`]), a command file Surfer ([`Fst::with_surfer`]).
//!
//! Times are real where there is a clock ([`Scale`]), as those of waveforms from a hardware simulation that stand beside
//! them; and cycles can still be counted: `program.cycle` is the cycle of the last change, so that it is exact wherever a
//! marker stands on an edge. A signal that changes with each cycle would take more than all others together. Without a
//! clock a cycle is a nanosecond.
//!
//! A file declares its signals first and has the changes of all of them in order of time, while tracks tell of themselves
//! one after the other: what they tell is kept in memory, ten to twenty bytes a slice ([`Lane`]), and written at the end.

mod gtkwave;
mod lane;
mod play;
mod signals;
mod stage;
mod surfer;
#[cfg(test)]
mod tests;
mod texts;
mod time;

use std::io::{self, Write};

use crate::model::{About, Interval, Shown, Sink, Track};
use lane::Lane;
use signals::Signals;
use stage::Stage;
use texts::Texts;
use time::Scale;

/// What names of such files end in, without the dot.
pub const EXTENSION: &str = "fst";
/// The most bytes of who made a file.
const VERSION_BYTES: usize = 127;

/// Writes a trace as waveforms.
///
/// All is written in [`Sink::end`]: the format goes back to its beginning, so the file is made in memory, where it is
/// compressed.
pub struct Fst<'a, W> {
    out: W,
    gtkwave: Option<(Box<dyn Write + 'a>, Option<String>)>,
    surfer: Option<Box<dyn Write + 'a>>,
    about: About,
    texts: Texts,
    /// By track.
    lanes: Vec<Lane>,
}

impl<'a, W: Write> Fst<'a, W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let (about, texts, lanes) = (About::default(), Texts::default(), Vec::new());
        Self { out, gtkwave: None, surfer: None, about, texts, lanes }
    }

    /// Also writes a save file of GTKWave, `.gtkw`: groups, formats and colours, for `gtkwave x.fst x.gtkw`. With the path
    /// of the `waveforms`, as seen from the folder in which GTKWave is started, `gtkwave x.gtkw` is enough.
    pub fn with_gtkwave(mut self, save: impl Write + 'a, waveforms: Option<&str>) -> Self {
        self.gtkwave = Some((Box::new(save), waveforms.map(str::to_owned)));
        self
    }

    /// Also writes a command file of Surfer, `.sucl`, for `surfer x.fst --command-file x.sucl`.
    pub fn with_surfer(mut self, commands: impl Write + 'a) -> Self {
        self.surfer = Some(Box::new(commands));
        self
    }

    fn lane(&mut self, track: Track) -> Option<(&mut Lane, &mut Texts)> {
        Some((self.lanes.get_mut(track.0.checked_sub(1)?)?, &mut self.texts))
    }

    /// Who made the file, and the program.
    fn version(&self) -> String {
        let program = texts::printable(&self.about.program);
        let mut version = format!("npukit {}: {program}", env!("CARGO_PKG_VERSION"));
        version.truncate(VERSION_BYTES);
        version
    }
}

impl<W: Write> Sink for Fst<'_, W> {
    fn begin(&mut self, about: &About) -> io::Result<()> {
        self.about = about.clone();
        Ok(())
    }

    fn track(&mut self, _: Track, shown: &Shown<'_>) -> io::Result<()> {
        self.lanes.push(Lane::new(shown));
        Ok(())
    }

    fn slice(&mut self, track: Track, interval: &Interval<'_>) -> io::Result<()> {
        self.lane(track).map_or(Ok(()), |(lane, texts)| lane.slice(interval, texts))
    }

    fn count(&mut self, track: Track, at: u64, value: f64) -> io::Result<()> {
        self.lane(track).map_or(Ok(()), |(lane, _)| lane.count(at, value))
    }

    fn end(&mut self) -> io::Result<()> {
        let scale = Scale::new(&self.about);
        // Default: nothing was told. Viewers want a time after the first one.
        let end = self.lanes.iter().map(|lane| lane.end).max().unwrap_or(0).max(1);
        let signals = Signals::new(&self.lanes, end, scale.has_clock());
        let mut stage = Stage::new(&signals, &self.texts, scale, self.version())?;
        play::play(&self.lanes, &signals, &mut stage)?;
        let file = stage.finish(end)?;
        self.out.write_all(&file)?;
        self.out.flush()?;
        if let Some((save, waveforms)) = &mut self.gtkwave {
            let note = (!scale.has_clock()).then(|| self.about.time());
            let text = gtkwave::save_file(&signals, note, scale.at(end)?, waveforms.as_deref());
            save.write_all(text.as_bytes())?;
            save.flush()?;
        }
        self.surfer.as_mut().map_or(Ok(()), |commands| {
            commands.write_all(surfer::command_file(&signals).as_bytes())?;
            commands.flush()
        })
    }
}
