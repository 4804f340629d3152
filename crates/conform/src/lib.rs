//! Runs golden vectors against a target.
