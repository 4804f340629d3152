//! [`Phase`]: a part of long work whose begin, progress and end can be observed.
//!
//! Phases are spans of `tracing`, so no handle must be passed down. Without a subscriber a phase
//! costs next to nothing. `docs/logging.md` describes what a subscriber receives.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::Serialize;
use tracing::Span;
use tracing::field::Empty;
use tracing::span::EnteredSpan;

/// The `target` of the spans and events of phases.
pub const PHASES: &str = "npukit::phase";

/// A part of long work, from its creation until it is dropped; the phases of a thread nest.
///
/// ```
/// use npukit_target::Phase;
///
/// let layers = ["conv", "relu"];
/// let phase = Phase::counting("schedule", layers.len());
/// for layer in layers {
///     assert!(!layer.is_empty());
///     phase.advance();
/// }
/// ```
#[derive(Debug)]
#[must_use = "a phase ends when it is dropped"]
pub struct Phase {
    name: &'static str,
    is_detail: bool,
    begin: Instant,
    done: AtomicUsize,
    span: EnteredSpan,
}

impl Phase {
    /// Begins a phase of unknown length.
    pub fn begin(name: &'static str) -> Self {
        let span = tracing::info_span!(target: PHASES, "phase", name, done = Empty, total = Empty);
        Self::of(name, span, false)
    }

    /// Begins a phase of `total` steps.
    pub fn counting(name: &'static str, total: usize) -> Self {
        let span = tracing::info_span!(target: PHASES, "phase", name, done = Empty, total);
        Self::of(name, span, false)
    }

    /// Like [`Self::counting`], for work that repeats for every sample or program; it is logged as
    /// a detail.
    pub fn detail(name: &'static str, total: usize) -> Self {
        let span = tracing::debug_span!(target: PHASES, "phase", name, done = Empty, total);
        Self::of(name, span, true)
    }

    fn of(name: &'static str, span: Span, is_detail: bool) -> Self {
        Self { name, is_detail, begin: Instant::now(), done: AtomicUsize::new(0), span: span.entered() }
    }

    /// Completes one more step; can be called on any thread.
    pub fn advance(&self) {
        self.span.record("done", self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// Reports that `done` steps are complete. Only every 1,024th step is reported, so it suits
    /// very long phases.
    pub fn tick(&self, done: usize) {
        if done.is_multiple_of(BETWEEN_TICKS) {
            self.reach(done);
        }
    }

    /// Reports that `done` steps are complete.
    pub fn reach(&self, done: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.span.record("done", done);
    }
}

/// Number of steps between two reports of [`Phase::tick`].
const BETWEEN_TICKS: usize = 1024;

impl Drop for Phase {
    fn drop(&mut self) {
        let seconds = self.begin.elapsed().as_secs_f64();
        let seconds = format_args!("{seconds:.3}");
        match self.is_detail {
            true => tracing::debug!(target: PHASES, seconds, "{}", self.name),
            false => tracing::info!(target: PHASES, seconds, "{}", self.name),
        }
    }
}

/// Duration of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PhaseTime {
    /// Name of the phase; `other` for time outside of all phases.
    pub phase: String,
    /// Duration in seconds, summed over all phases of this name with the same parent.
    pub seconds: f64,
    /// Nesting depth, starting at 0. The phases of depth 0 add up to the whole.
    pub depth: usize,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::subscriber::with_default;
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Records all events, without their durations.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl Notes {
        fn add(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    impl Visit for &Notes {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            if field.name() != "seconds" {
                self.add(&format!("{field} {value:?}"));
            }
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == PHASES
        }

        fn new_span(&self, attributes: &Attributes<'_>) -> Id {
            attributes.record(&mut &*self);
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, values: &Record<'_>) {
            values.record(&mut &*self);
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut &*self);
        }

        fn enter(&self, _: &Id) {
            self.add("enter");
        }

        fn exit(&self, _: &Id) {
            self.add("exit");
        }
    }

    #[test]
    fn a_phase_tells_its_name_its_steps_and_its_end() {
        let notes = Notes::default();
        with_default(notes.clone(), || {
            let outer = Phase::counting("outer", 3);
            drop(Phase::begin("inner"));
            // Steps may complete on any thread.
            std::thread::scope(|scope| _ = scope.spawn(|| outer.advance()));
            outer.advance();
            outer.reach(3);
        });
        let inner = ["name \"inner\"", "enter", "message inner", "exit"];
        let outer = ["done 1", "done 2", "done 3", "message outer", "exit"];
        let expected = [&["name \"outer\"", "total 3", "enter"][..], &inner, &outer].concat();
        assert_eq!(*notes.0.lock().unwrap(), expected);
    }

    #[test]
    fn of_very_many_steps_few_are_told() {
        let notes = Notes::default();
        with_default(notes.clone(), || {
            let phase = Phase::detail("many", 3000);
            (0..3000).for_each(|done| phase.tick(done));
        });
        let number = notes.0.lock().unwrap().iter().filter(|note| note.starts_with("done")).count();
        assert_eq!(number, 3, "0, 1024 and 2048");
    }
}
