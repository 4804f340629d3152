//! The host's side: what a driver writes and reads ([`protocol`]), and the machine under a program that a person wrote, whose
//! host it plays ([`by_hand`]).

pub(crate) mod by_hand;
pub(crate) mod protocol;
