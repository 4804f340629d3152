//! [`Fabrics`]: kernel calls on simulated fabrics, cycle by cycle.
//!
//! The hardware has one fabric, which performs all calls in order and keeps its setting (registers,
//! configurations and routes) from call to call. The simulation shares the calls among the threads
//! of `rayon`, each with a fabric of its own. Every call begins with the setting that the call
//! before it leaves, so that results do not depend on threads. A setting depends on kernels only,
//! not on data words: each is found once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use npukit_target::UninitMemory;
use rayon::prelude::*;

use crate::config::fabric::Fabric;
use crate::config::revision::Revision;
use crate::machine::exec::word::Word;
use crate::machine::{LoadError, Machine, Setting};
use crate::program::driver::{Called, Filled, Kernels, Runner};
use crate::program::executable::{CallError, Executable};

/// Kernels that run on fabrics.
pub(super) struct Fabrics<'a, W: Word> {
    executable: &'a Executable,
    /// Fabric of the executable, with the revision that is simulated.
    fabric: Fabric,
    /// Content of unwritten fabric memories and buffers before each call.
    unset: UninitMemory,
    idle: Mutex<Vec<Idle<W>>>,
    settings: Mutex<Settings>,
}

/// Fabric between two calls.
struct Idle<W: Word> {
    /// Index of the loaded kernel.
    kernel: usize,
    /// Setting that the last call left.
    left: Arc<Setting>,
    machine: Machine<W>,
}

/// Settings of the fabric before and after calls.
#[derive(Default)]
struct Settings {
    /// Settings that calls have left, in the order in which they were found.
    all: Vec<Arc<Setting>>,
    /// Index of each setting, by its text.
    numbers: HashMap<String, usize>,
    /// Index of the setting that a kernel leaves, by kernel and index of the setting before.
    after: HashMap<(usize, Option<usize>), usize>,
    /// Index of the setting before the next call; `None` is the reset state.
    now: Option<usize>,
}

/// Settings before and after a call.
struct Known {
    before: Option<Arc<Setting>>,
    after: Arc<Setting>,
}

impl Settings {
    fn now(&self) -> Option<Arc<Setting>> {
        self.now.map(|number| self.all[number].clone())
    }

    /// Returns the settings of the first calls, as far as they are known, and advances by these
    /// calls.
    fn known<W>(&mut self, calls: &[Filled<'_, W>]) -> Vec<Known> {
        let mut known = Vec::new();
        for call in calls {
            let Some(&after) = self.after.get(&(call.kernel, self.now)) else { break };
            known.push(Known { before: self.now(), after: self.all[after].clone() });
            self.now = Some(after);
        }
        known
    }

    /// Adds the setting that the next call left, and advances to it.
    fn add(&mut self, kernel: usize, left: Setting) -> Arc<Setting> {
        let new = self.all.len();
        let number = *self.numbers.entry(left.text()).or_insert(new);
        if number == new {
            self.all.push(Arc::new(left));
        }
        self.after.insert((kernel, self.now), number);
        self.now = Some(number);
        self.all[number].clone()
    }
}

impl<'a, W: Word> Runner<'a, W> {
    /// Creates a runner on fabrics of a revision, with the given content of unwritten memory.
    pub fn new(executable: &'a Executable, revision: Revision, unset: UninitMemory) -> Self {
        let (fabric, idle, settings) = (executable.fabric_of(revision), Mutex::default(), Mutex::default());
        Self::with(executable, Box::new(Fabrics { executable, fabric, unset, idle, settings }))
    }
}

impl<W: Word> Fabrics<'_, W> {
    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an idle fabric, if possible one with this kernel.
    fn take(&self, kernel: usize) -> Option<Idle<W>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let same = idle.iter().position(|idle| idle.kernel == kernel);
        same.map(|index| idle.swap_remove(index)).or_else(|| idle.pop())
    }

    /// Returns a fabric with a kernel and a setting. The default is the setting after reset.
    fn machine(&self, kernel: usize, setting: Option<&Arc<Setting>>) -> Result<Machine<W>, LoadError> {
        let program = &self.executable.kernels[kernel].compiled.program;
        let Some(setting) = setting else { return Machine::of_words(&self.fabric, program) };
        let Some(Idle { kernel: loaded, left, mut machine }) = self.take(kernel) else {
            let mut machine = Machine::of_words(&self.fabric, program)?;
            machine.take_setting(setting);
            return Ok(machine);
        };
        if loaded != kernel {
            machine.reload(program)?;
        }
        if !Arc::ptr_eq(&left, setting) {
            machine.take_setting(setting);
        }
        Ok(machine)
    }

    /// Performs a call that begins with a setting. Also returns the fabric after it.
    fn call(
        &self,
        filled: &Filled<'_, W>,
        setting: Option<&Arc<Setting>>,
    ) -> Result<(Called<W>, Machine<W>), CallError> {
        let mut machine = self.machine(filled.kernel, setting)?;
        machine.unset(match self.unset {
            UninitMemory::Garbage(seed) => UninitMemory::Garbage(seed.wrapping_add(filled.kernel as u64)),
            other => other,
        });
        (filled.fill)(&mut machine.input)?;
        let run = machine.run(filled.call.kernel.limit(), &mut ())?;
        Ok((Called { run, rows: filled.call.taken(&machine)? }, machine))
    }

    /// Returns a fabric to the pool.
    fn free(&self, kernel: usize, left: Arc<Setting>, machine: Machine<W>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(Idle { kernel, left, machine });
    }
}

impl<W: Word> Kernels<W> for Fabrics<'_, W> {
    fn calls(&self, calls: &[Filled<'_, W>]) -> Result<Vec<Called<W>>, CallError> {
        let mut done = Vec::with_capacity(calls.len());
        while done.len() < calls.len() {
            let left = &calls[done.len()..];
            let known = self.settings().known(left);
            let performed = left.par_iter().zip(&known).map(|(call, Known { before, after })| {
                let (called, machine) = self.call(call, before.as_ref())?;
                self.free(call.kernel, after.clone(), machine);
                Ok(called)
            });
            done.extend(performed.collect::<Result<Vec<_>, CallError>>()?);
            if let Some(next) = left.get(known.len()) {
                let before = self.settings().now();
                let (called, machine) = self.call(next, before.as_ref())?;
                let after = self.settings().add(next.kernel, machine.setting());
                self.free(next.kernel, after, machine);
                done.push(called);
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::lower::example::{executable, without_one_instruction};

    /// One fabric, as in hardware.
    struct OneFabric<'a>(&'a Executable, Mutex<Machine>);

    impl Kernels<i16> for OneFabric<'_> {
        fn calls(&self, calls: &[Filled<'_, i16>]) -> Result<Vec<Called<i16>>, CallError> {
            let mut machine = self.1.lock().unwrap();
            let call = |filled: &Filled<'_, i16>| {
                machine.reload(&self.0.kernels[filled.kernel].compiled.program)?;
                machine.unset(UninitMemory::Garbage(3 + filled.kernel as u64));
                (filled.fill)(&mut machine.input)?;
                let run = machine.run(filled.call.kernel.limit(), &mut ())?;
                Ok(Called { run, rows: filled.call.taken(&machine)? })
            };
            calls.iter().map(call).collect()
        }
    }

    /// One of this many instructions is removed, as kernels that do not end take long.
    const STEP: usize = 9;

    /// Each kernel lacks an instruction, so some kernels depend on the state that earlier calls
    /// left.
    #[test]
    fn many_fabrics_compute_what_one_does() {
        let (whole, unset) = (executable("3x1"), UninitMemory::Garbage(3));
        let revision = whole.fabric.options.revision;
        let threads = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let inputs: Vec<Vec<i16>> =
            whole.plan.inputs.iter().map(|_| (0..400).map(|x| x * 37 % 500 - 250).collect()).collect();
        let reference = Runner::new(&whole, revision, unset).run(&inputs).unwrap();
        let (mut ran, mut differ) = (0, 0);
        let changed = (0..whole.kernels.len()).flat_map(|kernel| {
            let changed = without_one_instruction(&whole, kernel).enumerate();
            changed.map(move |(number, executable)| (format!("kernel {kernel}, change {number}"), executable))
        });
        for (what, executable) in changed.step_by(STEP) {
            let program = &executable.kernels[0].compiled.program;
            let Ok(machine) = Machine::new(&executable.fabric, program) else { continue };
            let one = Runner::with(&executable, Box::new(OneFabric(&executable, Mutex::new(machine))));
            let many = Runner::new(&executable, revision, unset);
            for _ in 0..2 {
                let (one, many) = (one.run(&inputs), threads.install(|| many.run(&inputs)));
                let (Ok(one), Ok(many)) = (&one, &many) else {
                    assert_eq!(one.is_ok(), many.is_ok(), "{what}");
                    break;
                };
                assert!(one == many, "{what}");
                (ran, differ) = (ran + 1, differ + usize::from(*one != reference));
            }
        }
        assert!(
            ran > 0 && differ > 0,
            "{ran} ran, {differ} of them with other results than the whole program"
        );
    }
}
