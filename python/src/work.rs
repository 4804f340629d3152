//! [`run`]: runs long work in a separate thread, while Python's thread handles signals and shows
//! the progress.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use npukit::PHASES;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

use crate::errors::raised;

/// Interval of handling signals and showing progress.
const INTERVAL: Duration = Duration::from_millis(50);
/// Stack size, for recursion over deep networks.
const STACK_BYTES: usize = 64 << 20;

/// Arguments of `progress`: the innermost phase, and its progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Phase {
    id: u64,
    name: String,
    done: u64,
    total: Option<u64>,
}

/// State shared by the working and the waiting thread.
#[derive(Default)]
struct Shared {
    /// Active phases, the innermost last.
    phases: Mutex<Vec<Phase>>,
    next: Mutex<u64>,
    is_cancelled: AtomicBool,
}

/// Panic payload that ends canceled work.
struct Cancelled;

/// Returns the result of `work`, without blocking other Python threads. Ctrl-C raises the signal's
/// exception at once in this thread; the working thread ends at its next phase.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> Result<T, npukit::Error> + Send + 'static,
) -> PyResult<T> {
    let shared = Arc::new(Shared::default());
    let watch = Watch(Arc::clone(&shared));
    let (sender, receiver) = sync_channel(1);
    let worker = thread::Builder::new().name("npukit".to_owned()).stack_size(STACK_BYTES);
    worker
        .spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| with_default(watch, work)));
            // The waiting thread may have ended.
            let _ = sender.send(result);
        })
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
    // Only this thread uses it, but the compiler cannot know that.
    let receiver = Mutex::new(receiver);
    let mut shown = None;
    loop {
        match py.detach(|| locked(&receiver).recv_timeout(INTERVAL)) {
            Ok(Ok(result)) => return result.map_err(|error| raised(py, &error)),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the working thread ended without a result"));
            }
            Err(RecvTimeoutError::Timeout) => {
                let checked = py.check_signals().and_then(|()| tell(progress, &shared, &mut shown));
                checked.inspect_err(|_| shared.is_cancelled.store(true, Ordering::Relaxed))?;
            }
        }
    }
}

/// Calls `progress` if the progress has changed since the last call.
fn tell(progress: Option<&Bound<'_, PyAny>>, shared: &Shared, shown: &mut Option<Phase>) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let now = locked(&shared.phases).last().cloned();
    if let Some(Phase { name, done, total, .. }) = now.as_ref().filter(|_| now != *shown) {
        progress.call1((name, done, total))?;
    }
    *shown = now;
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the phases of the work, and ends it when it is cancelled.
struct Watch(Arc<Shared>);

impl Watch {
    fn go_on(&self) {
        if self.0.is_cancelled.load(Ordering::Relaxed) {
            // Not an error, so nothing is printed.
            resume_unwind(Box::new(Cancelled));
        }
    }
}

impl Subscriber for Watch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == PHASES
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.go_on();
        let id = {
            let mut next = locked(&self.0.next);
            *next += 1;
            *next
        };
        let mut phase = Phase { id, ..Phase::default() };
        attributes.record(&mut phase);
        locked(&self.0.phases).push(phase);
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.go_on();
        if let Some(phase) = locked(&self.0.phases).iter_mut().find(|phase| phase.id == id.into_u64()) {
            values.record(phase);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, id: &Id) {
        locked(&self.0.phases).retain(|phase| phase.id != id.into_u64());
    }
}

impl Visit for Phase {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "done" => self.done = self.done.max(value),
            "total" => self.total = Some(value),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "name" {
            value.clone_into(&mut self.name);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
