//! What simulators share: memories, faults, the run loop, statistics.
