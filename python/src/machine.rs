//! [`Machine`]: steps through a program of words, with accessible memories.

use std::sync::{Mutex, MutexGuard, PoisonError};

use npukit::{Error, MachineMemory, Memories, MemoryFileError};
use pyo3::prelude::*;

use crate::arrays::shaped;
use crate::context::Files;
use crate::errors::raised;

/// Number of steps between checks for signals.
const BETWEEN_SIGNALS: u64 = 4096;

/// A machine with a program, between two steps.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct Machine(Mutex<Memories>);

#[pymethods]
impl Machine {
    /// Creates the machine of `target` after a reset, before the first of these words.
    #[new]
    fn new(py: Python<'_>, target: &str, words: &[u8]) -> PyResult<Self> {
        let files = Files::of_disk();
        let memories = npukit::resolve(target, &files)
            .and_then(|instance| Ok(Memories::of_program(&*instance, "words", words, &files)?));
        Ok(Self(Mutex::new(memories.map_err(|error| raised(py, &error))?)))
    }

    /// Index of the next step, or `None` at the end.
    #[getter]
    fn next(&self) -> Option<usize> {
        let machine = &self.memories().machine;
        Some(machine.position()).filter(|&position| position < machine.steps())
    }

    /// Executes `count` steps, or all remaining ones; returns how many were executed.
    #[pyo3(signature = (count = None))]
    fn step(&self, py: Python<'_>, count: Option<u64>) -> PyResult<u64> {
        let mut done = 0;
        // Default: all remaining steps.
        let count = count.unwrap_or(u64::MAX);
        while done < count {
            let some = (count - done).min(BETWEEN_SIGNALS);
            let executed = py.detach(|| self.some_steps(some));
            let executed = executed.map_err(|error| raised(py, &error))?;
            done += executed;
            if executed < some {
                break;
            }
            py.check_signals()?;
        }
        Ok(done)
    }

    /// Name, number of addresses and numbers per address of every memory.
    #[getter(memories)]
    fn sizes(&self) -> Vec<(String, u64, usize)> {
        let size = |memory: &MachineMemory| (memory.name.clone(), memory.depth, memory.lanes);
        self.memories().all().iter().map(size).collect()
    }

    /// Reads the integers at `count` addresses starting at `address`, one row per address. They
    /// have 32 bits if the memory's numbers fit, otherwise 64.
    fn read<'py>(
        &self,
        py: Python<'py>,
        memory: &str,
        address: u64,
        count: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let memories = self.memories();
        let fault = |error: MemoryFileError| raised(py, &Error::from(error));
        let numbers = memories.read(memory, address, count).map_err(fault)?;
        let memory = memories.named(memory).map_err(fault)?;
        let shape = [numbers.len() / memory.lanes.max(1), memory.lanes];
        let narrow = |&number: &i64| i32::try_from(number).ok();
        match memory.range().1 <= i32::MAX.into() {
            true => shaped(py, numbers.iter().filter_map(narrow).collect(), &shape),
            false => shaped(py, numbers, &shape),
        }
    }

    /// Writes integers starting at `address`. They must fill whole addresses.
    fn write(&self, py: Python<'_>, memory: &str, address: u64, values: Vec<i64>) -> PyResult<()> {
        let written = self.memories().write(memory, address, &values);
        written.map_err(|error| raised(py, &Error::from(error)))
    }
}

impl Machine {
    fn memories(&self) -> MutexGuard<'_, Memories> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes up to `count` steps.
    fn some_steps(&self, count: u64) -> Result<u64, Error> {
        let machine = &mut self.memories().machine;
        for done in 0..count {
            if machine.position() >= machine.steps() {
                return Ok(done);
            }
            machine.step()?;
        }
        Ok(count)
    }
}
