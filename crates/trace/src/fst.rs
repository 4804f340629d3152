//! [`Fst`]: writes a trace as waveforms in the FST format, for GTKWave and Surfer.
//!
//! Each unit is a scope with its signals: `operation`, `active`, `waits_for`, the details of its
//! slices (`instruction`, `layer`, `busy`, `bytes`, addresses and so on) and its counters. The
//! scope `program` has the current `layer`, and the last `instruction` of the first unit that knows
//! instructions, which is the unit that issues them. Numbers without a unit are in the scope
//! `memories`. In names, all characters other than letters and digits become underscores, as save
//! files are split at spaces.
//!
//! While a unit is idle, its signals are not driven (`z`), which viewers draw as a line between the
//! slices, and `active` is 0. Adjacent slices with the same name are one block of `operation`, as a
//! signal has no edge where its value stays the same; `instruction` distinguishes them. Details
//! that a recorder omits are written: `busy` if it is all cycles, `waited` if it is the whole wait,
//! and `bytes` if it is 0.
//!
//! Texts are vectors of ASCII, which both viewers show if configured: the library writes neither
//! strings of variable length nor name tables. A save file configures GTKWave
//! ([`Fst::with_gtkwave`]), a command file Surfer ([`Fst::with_surfer`]).
//!
//! With a clock, times are real ([`Scale`]), so that they match waveforms of hardware simulations.
//! Cycles can still be counted: `program.cycle` is the cycle of the last change, so it is exact at
//! every edge. A signal that changed in each cycle would be larger than all others together.
//! Without a clock, a cycle is a nanosecond.
//!
//! A file declares its signals first and has all changes in order of time, but tracks arrive one
//! after the other. Their events are therefore kept in memory, with ten to twenty bytes per slice
//! ([`Lane`]), and written at the end.

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

/// Extension of such files, without the dot.
pub const EXTENSION: &str = "fst";
/// Maximum length of the version text, in bytes.
const VERSION_BYTES: usize = 127;

/// Writer of a trace as waveforms.
///
/// Everything is written in [`Sink::end`]: the format seeks back to its beginning, so the file is
/// made in memory, where it is compressed.
pub struct Fst<'a, W> {
    out: W,
    gtkwave: Option<(Box<dyn Write + 'a>, Option<String>)>,
    surfer: Option<Box<dyn Write + 'a>>,
    about: About,
    texts: Texts,
    /// Events of each track.
    lanes: Vec<Lane>,
}

impl<'a, W: Write> Fst<'a, W> {
    /// Creates a writer to `out`.
    pub fn new(out: W) -> Self {
        let (about, texts, lanes) = (About::default(), Texts::default(), Vec::new());
        Self { out, gtkwave: None, surfer: None, about, texts, lanes }
    }

    /// Also writes a save file of GTKWave, `.gtkw`, with groups, formats and colors, for `gtkwave
    /// x.fst x.gtkw`. If `waveforms` is given, the path of the waveforms relative to the folder in
    /// which GTKWave is started, `gtkwave x.gtkw` is enough.
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

    /// Returns the version text: the writer of the file, and the program.
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
        // Default: no events were recorded. Viewers need a time after the first one.
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
