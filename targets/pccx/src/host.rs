//! The host: register accesses and commands of a driver ([`protocol`]), and the machine that
//! executes an assembly program, whose host it simulates ([`by_hand`]).

pub(crate) mod by_hand;
pub(crate) mod protocol;
