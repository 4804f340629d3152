//! Switch box: word links and bulk routes, by option (specification 3.4, 3.5, 5.4).

use super::word::Word;
use crate::config::fabric::{Direction, SLOTS};
use crate::machine::state::{CellState, NO_SLOT, Swb};

impl Swb {
    /// Links a slot's word output to a slot's input. A source has one target; if a target has
    /// several sources, the latest takes precedence.
    pub(crate) fn link(&mut self, option: u8, source: u8, target: u8) {
        let option = usize::from(option);
        let (links, sources) = (&mut self.links[option], &mut self.word_source[option]);
        links.retain(|(other, _)| *other != source);
        links.push((source, target));
        sources.fill(NO_SLOT);
        for &(source, target) in links.iter() {
            sources[usize::from(target)] = source;
        }
    }

    /// Replaces the directions in which a slot's bulk rows leave.
    pub(crate) fn send(&mut self, option: u8, source: u8, directions: u16) {
        let option = usize::from(option & 3);
        self.send[option][usize::from(source & 15)] = directions;
        let table = &self.send[option];
        self.sender[option] = Direction::ALL.map(|direction| {
            let sends = |slot: &u8| table[usize::from(*slot)] >> direction.code() & 1 == 1;
            (0..SLOTS as u8).rev().find(sends)
        });
    }

    /// Replaces the slots that receive the bulk rows of a direction.
    pub(crate) fn receive(&mut self, option: u8, direction: Direction, slots: u16) {
        let option = usize::from(option & 3);
        self.receive[option][direction.index()] = slots;
        let table = &self.receive[option];
        self.bulk_source[option] = std::array::from_fn(|slot| {
            let takes = |direction: &Direction| table[direction.index()] >> slot & 1 == 1;
            Direction::ALL.into_iter().rev().find(takes)
        });
    }

    /// Returns the slot that a slot's word currently comes from; [`NO_SLOT`] if it is not linked.
    #[inline]
    pub(crate) fn source_of(&self, target: u8) -> u8 {
        self.word_source[usize::from(self.word_option & 3)][usize::from(target & 15)]
    }

    /// Returns the direction that a slot's bulk rows currently come from; the highest one if there
    /// are several.
    #[inline]
    pub(crate) fn direction_of(&self, slot: u8) -> Option<Direction> {
        self.bulk_source[usize::from(self.bulk_option & 3)][usize::from(slot & 15)]
    }

    /// Returns the slot that currently sends bulk rows in a direction; the highest slot if there
    /// are several.
    #[inline]
    pub(crate) fn sender_of(&self, direction: Direction) -> Option<u8> {
        self.sender[usize::from(self.bulk_option & 3)][direction.index()]
    }
}

/// Activates the options of this cycle for the next.
#[inline]
pub(crate) fn switch<W: Word>(state: &mut CellState<W>) {
    state.swb.word_option = state.ports.address(0, 0).map_or(state.swb.word_option, |option| option as u8);
    state.swb.bulk_option = state.ports.address(0, 1).map_or(state.swb.bulk_option, |option| option as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_link_counts_and_a_source_has_one_target() {
        let mut swb = Swb::default();
        assert_eq!(swb.source_of(4), NO_SLOT);
        swb.link(0, 2, 4);
        swb.link(0, 1, 4);
        assert_eq!(swb.source_of(4), 1);
        swb.link(0, 1, 5);
        assert_eq!((swb.source_of(4), swb.source_of(5)), (2, 1));
        swb.word_option = 1;
        assert_eq!(swb.source_of(4), NO_SLOT);
    }

    #[test]
    fn the_highest_slot_and_direction_count_and_masks_are_replaced() {
        let mut swb = Swb::default();
        swb.send(0, 2, 1 << 7);
        swb.send(0, 5, 1 << 7 | 1 << 1);
        assert_eq!((swb.sender_of(Direction::South), swb.sender_of(Direction::North)), (Some(5), Some(5)));
        swb.send(0, 5, 1 << 5);
        assert_eq!((swb.sender_of(Direction::South), swb.sender_of(Direction::North)), (Some(2), None));
        swb.receive(0, Direction::North, 0b110);
        swb.receive(0, Direction::South, 0b100);
        assert_eq!(
            (swb.direction_of(1), swb.direction_of(2)),
            (Some(Direction::North), Some(Direction::South))
        );
        assert_eq!(swb.direction_of(3), None);
    }
}
