//! [`Stage`]: writer of a file, whose signals are set in order of time.

use std::io::{self, Cursor};

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType, FstWriteError,
};

use super::signals::{Form, Purpose, Scope, Signals};
use super::texts::Texts;
use super::time::Scale;

/// Bytes of changes that are written together; few in tests, so that files have several blocks.
const BLOCK: usize = if cfg!(test) { 1 << 9 } else { 1 << 24 };
/// Value of each bit of an undriven signal. Viewers draw a line, so that slices are visible.
const NOTHING: u8 = b'z';

/// Level of a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Level {
    /// The signal is undriven.
    Nothing,
    /// A bit, a whole number, or the number of a text.
    Number(u64),
    /// A float.
    Real(f64),
}

/// Declares the signals in order of their numbers.
fn declare(
    header: &mut FstHeaderWriter<Cursor<Vec<u8>>>,
    scope: &Scope,
    ids: &mut Vec<FstSignalId>,
) -> io::Result<()> {
    header.scope(&scope.name, "", FstScopeType::Module).map_err(failed)?;
    for (_, signal) in &scope.signals {
        let (bits, kind) = match signal.form {
            Form::Bit => (FstSignalType::bit_vec(1), FstVarType::Wire),
            Form::Text(characters) => (FstSignalType::bit_vec(8 * characters), FstVarType::Reg),
            Form::Integer(bits) => (FstSignalType::bit_vec(bits), FstVarType::Integer),
            Form::Real => (FstSignalType::real(), FstVarType::Real),
        };
        ids.push(header.var(&signal.name, bits, kind, FstVarDirection::Implicit, None).map_err(failed)?);
    }
    header.up_scope().map_err(failed)
}

fn failed(error: FstWriteError) -> io::Error {
    match error {
        FstWriteError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// Writer of a file.
pub(super) struct Stage<'a> {
    body: FstBodyWriter<Cursor<Vec<u8>>>,
    /// Id of each signal.
    ids: Vec<FstSignalId>,
    levels: Vec<Option<Level>>,
    /// Time of the last change.
    time: u64,
    scale: Scale,
    texts: &'a Texts,
    signals: &'a Signals,
    bytes: Vec<u8>,
}

impl<'a> Stage<'a> {
    /// Declares all signals. Initially, bits and curves are 0, and other signals are undriven.
    pub fn new(signals: &'a Signals, texts: &'a Texts, scale: Scale, version: String) -> io::Result<Self> {
        let info = FstInfo {
            start_time: 0,
            timescale_exponent: scale.exponent,
            version,
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let mut header = FstHeaderWriter::write_to_mem(&info).map_err(failed)?;
        let mut ids = Vec::new();
        for scope in &signals.scopes {
            declare(&mut header, scope, &mut ids)?;
        }
        let (body, levels) = (header.finish().map_err(failed)?, vec![None; ids.len()]);
        let mut stage = Self { body, ids, levels, time: 0, scale, texts, signals, bytes: Vec::new() };
        for (number, signal) in signals.scopes.iter().flat_map(|scope| &scope.signals) {
            let is_zero = signal.form == Form::Bit || signal.purpose == Purpose::Curve;
            stage.set(*number, if is_zero { Level::Number(0) } else { Level::Nothing })?;
        }
        stage.go_to(0)?;
        Ok(stage)
    }

    /// Returns the file, whose last cycle is `end`.
    pub fn finish(mut self, end: u64) -> io::Result<Vec<u8>> {
        self.go_to(end)?;
        Ok(self.body.finish().map_err(failed)?.into_inner())
    }

    /// Sets the cycle of the following changes, which must not be before the previous one.
    ///
    /// Errors: the time exceeds the range of viewers.
    pub fn go_to(&mut self, cycle: u64) -> io::Result<()> {
        let time = self.scale.at(cycle)?;
        if time > self.time {
            // A block may only end where the next time begins.
            if self.body.size() > BLOCK {
                self.body.flush().map_err(failed)?;
            }
            self.body.time_change(time).map_err(failed)?;
            self.time = time;
        }
        self.signals.cycle.map_or(Ok(()), |number| self.set(number, Level::Number(cycle)))
    }

    /// Sets the level of a signal.
    pub fn set(&mut self, number: usize, level: Level) -> io::Result<()> {
        let form = self.signals.forms.get(number).zip(self.levels.get_mut(number)).zip(self.ids.get(number));
        let Some(((form, before), id)) = form else { return Ok(()) };
        if before.replace(level) == Some(level) {
            return Ok(());
        }
        spell(*form, level, self.texts, &mut self.bytes);
        self.body.signal_change(*id, &self.bytes).map_err(failed)
    }
}

/// Encodes a level for the file: one character per bit, or a number of eight bytes.
fn spell(form: Form, level: Level, texts: &Texts, bytes: &mut Vec<u8>) {
    bytes.clear();
    match (form, level) {
        (Form::Real, Level::Real(value)) => bytes.extend(value.to_le_bytes()),
        (Form::Real, Level::Number(value)) => bytes.extend((value as f64).to_le_bytes()),
        (Form::Real, Level::Nothing) => bytes.extend(f64::NAN.to_le_bytes()),
        (Form::Bit, level) => spell_number(level, 1, bytes),
        (Form::Integer(bits), level) => spell_number(level, bits, bytes),
        (Form::Text(characters), Level::Number(number)) => {
            let text = texts.printable(number);
            // Missing characters are leading zero bytes, which viewers omit.
            bytes.resize(8 * (characters as usize).saturating_sub(text.len()), b'0');
            text.bytes().for_each(|byte| spell_bits(byte.into(), 8, bytes));
        }
        (Form::Text(characters), _) => bytes.resize(8 * characters as usize, NOTHING),
    }
}

fn spell_number(level: Level, bits: u32, bytes: &mut Vec<u8>) {
    match level {
        Level::Nothing => bytes.resize(bits as usize, NOTHING),
        Level::Number(number) => spell_bits(number, bits, bytes),
        Level::Real(value) => spell_bits(value as u64, bits, bytes),
    }
}

/// Most significant bit first.
fn spell_bits(number: u64, bits: u32, bytes: &mut Vec<u8>) {
    bytes.extend((0..bits).rev().map(|bit| b'0' + (number.checked_shr(bit).unwrap_or(0) & 1) as u8)); // Default: the sign bit is 0.
}
