//! The list of targets, and the verbs.
