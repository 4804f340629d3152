//! [`play`]: replays the events of all lanes in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::lane::{Lane, Played, Reader};
use super::signals::{Signals, Wires};
use super::stage::{Level, Stage};
use crate::model::Role;

/// Sets the signals of all lanes.
///
/// Errors: a time exceeds the range of viewers.
pub(super) fn play(lanes: &[Lane], signals: &Signals, stage: &mut Stage<'_>) -> io::Result<()> {
    let mut players: Vec<_> =
        lanes.iter().zip(&signals.wires).map(|(lane, wires)| Player::new(lane, wires)).collect();
    let next = |(place, player): (usize, &Player<'_>)| Some(Reverse((player.next()?, place)));
    let mut order: BinaryHeap<_> = players.iter().enumerate().filter_map(next).collect();
    while let Some(Reverse((cycle, place))) = order.pop() {
        stage.go_to(cycle)?;
        if let Some(player) = players.get_mut(place) {
            player.step(cycle, stage)?;
            order.extend(next((place, player)));
        }
    }
    Ok(())
}

/// Reader of a lane with its next event.
struct Player<'a> {
    wires: &'a Wires,
    lane: &'a Lane,
    reader: Reader<'a>,
    ahead: Ahead,
}

/// Event that was read and is not yet shown.
enum Ahead {
    /// Next slice; and the end of the current slice, if there is one.
    Slice(Option<Played>, Option<u64>),
    /// Next value, with its cycle.
    Value(Option<(u64, f64)>),
}

impl<'a> Player<'a> {
    fn new(lane: &'a Lane, wires: &'a Wires) -> Self {
        let mut reader = lane.reader();
        let ahead = match lane.role {
            Role::Counter => Ahead::Value(reader.count()),
            _ => Ahead::Slice(reader.slice(), None),
        };
        Self { wires, lane, reader, ahead }
    }

    /// Returns the cycle of its next change.
    fn next(&self) -> Option<u64> {
        match &self.ahead {
            Ahead::Slice(slice, end) => end.or_else(|| Some(slice.as_ref()?.start)),
            Ahead::Value(value) => Some(value.as_ref()?.0),
        }
    }

    /// Shows the changes at `cycle`, which is the cycle of its next change.
    fn step(&mut self, cycle: u64, stage: &mut Stage<'_>) -> io::Result<()> {
        match &mut self.ahead {
            Ahead::Value(ahead) => {
                let value = std::mem::replace(ahead, self.reader.count());
                let level = value.map(|(_, value)| Level::Real(value));
                self.wires.value.zip(level).map_or(Ok(()), |(number, level)| stage.set(number, level))
            }
            Ahead::Slice(ahead, end) => {
                *end = None;
                let Some(slice) = ahead.take_if(|slice| slice.start == cycle) else {
                    return rest(self.wires, stage);
                };
                (*ahead, *end) = (self.reader.slice(), Some(slice.end));
                work(self.lane, self.wires, &slice, stage)
            }
        }
    }
}

/// Ends a slice that no other one follows.
fn rest(wires: &Wires, stage: &mut Stage<'_>) -> io::Result<()> {
    wires.active.map_or(Ok(()), |number| stage.set(number, Level::Number(0)))?;
    wires.value.iter().chain(&wires.columns).try_for_each(|number| stage.set(*number, Level::Nothing))
}

/// Begins a slice.
fn work(lane: &Lane, wires: &Wires, slice: &Played, stage: &mut Stage<'_>) -> io::Result<()> {
    wires.active.map_or(Ok(()), |number| stage.set(number, Level::Number(1)))?;
    wires.value.map_or(Ok(()), |number| stage.set(number, Level::Number(slice.name)))?;
    for (place, (number, column)) in wires.columns.iter().zip(&lane.columns).enumerate() {
        let said = slice.values.iter().find(|(at, _)| *at == place).map(|(_, value)| *value);
        let level = said.or(column.unsaid()).map_or(Level::Nothing, Level::Number);
        stage.set(*number, level)?;
        if let Some((_, issued)) = wires.issues.filter(|(issues, _)| *issues == place && said.is_some()) {
            stage.set(issued, level)?;
        }
    }
    Ok(())
}
