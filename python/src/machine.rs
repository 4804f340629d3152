//! [`Machine`]: a program of words, instruction by instruction, with open memories.

use std::sync::{Mutex, MutexGuard, PoisonError};

use npukit::{Error, Stepper};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::arrays::shaped;
use crate::context::Files;
use crate::errors::raised;

/// Instructions between two looks at signals.
const BETWEEN_SIGNALS: u64 = 4096;

/// A machine with a program, between two of its instructions.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct Machine(Mutex<Stepper>);

#[pymethods]
impl Machine {
    /// The machine of `target`, reset, before the first of these words.
    #[new]
    fn new(py: Python<'_>, target: &str, words: &[u8]) -> PyResult<Self> {
        let files = Files::of_disk();
        let stepper = npukit::resolve(target, &files).and_then(|instance| Ok(instance.stepper(words)?));
        Ok(Self(Mutex::new(stepper.map_err(|error| raised(py, &error))?)))
    }

    /// Index of the instruction that is executed next; none at the end.
    #[getter]
    fn next(&self) -> Option<usize> {
        self.stepper().next()
    }

    /// Executes `count` instructions, all that are left without it; gives how many it were.
    #[pyo3(signature = (count = None))]
    fn step(&self, py: Python<'_>, count: Option<u64>) -> PyResult<u64> {
        let mut done = 0;
        // Default: all there are.
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

    /// Name, addresses and numbers at each address of every memory.
    #[getter]
    fn memories(&self) -> Vec<(&'static str, u64, usize)> {
        let memories = self.stepper().memories();
        memories.into_iter().map(|memory| (memory.name, memory.depth, memory.lanes)).collect()
    }

    /// The machine's integers at `count` addresses from `address` on, a row for each.
    fn read<'py>(
        &self,
        py: Python<'py>,
        memory: &str,
        address: u64,
        count: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stepper = self.stepper();
        let values =
            stepper.read(memory, address, count).map_err(|error| raised(py, &Error::Target(error)))?;
        let lanes = stepper.memories().iter().find(|known| known.name == memory).map(|memory| memory.lanes);
        let lanes = lanes.ok_or_else(|| PyRuntimeError::new_err("a memory that was read is not listed"))?;
        let rows = values.len() / lanes.max(1);
        shaped(py, values, &[rows, lanes])
    }

    /// Writes the machine's integers from `address` on, whole addresses of them.
    fn write(&self, py: Python<'_>, memory: &str, address: u64, values: Vec<i32>) -> PyResult<()> {
        let written = self.stepper().write(memory, address, &values);
        written.map_err(|error| raised(py, &Error::Target(error)))
    }
}

impl Machine {
    fn stepper(&self) -> MutexGuard<'_, Stepper> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes up to `count` instructions.
    fn some_steps(&self, count: u64) -> Result<u64, Error> {
        let mut stepper = self.stepper();
        for done in 0..count {
            if stepper.next().is_none() {
                return Ok(done);
            }
            stepper.step()?;
        }
        Ok(count)
    }
}
