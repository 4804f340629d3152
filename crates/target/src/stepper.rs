//! [`Stepper`]: a machine that executes a program one instruction at a time, and whose memories are open in between.

use crate::error::TargetError;

/// A memory of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Its name, as [`Stepper::read`] takes it.
    pub name: &'static str,
    /// Addresses it has.
    pub depth: u64,
    /// Numbers at each address.
    pub lanes: usize,
}

impl MemoryInfo {
    /// A memory of `depth` addresses with `lanes` numbers at each.
    pub const fn new(name: &'static str, depth: u64, lanes: usize) -> Self {
        Self { name, depth, lanes }
    }
}

/// What a target's machine does for a [`Stepper`].
pub trait Machine: Send {
    /// Instructions up to the one that ends the program.
    fn instructions(&self) -> usize;

    /// Executes the instruction at `index`, which is below [`Self::instructions`].
    ///
    /// # Errors
    ///
    /// What the machine faults on. Nothing has changed then.
    fn execute(&mut self, index: usize) -> Result<(), TargetError>;

    /// Its memories.
    fn memories(&self) -> Vec<MemoryInfo>;

    /// The numbers at `count` addresses from `address` on of a memory, given by its place in [`Self::memories`].
    ///
    /// # Errors
    ///
    /// Addresses beyond its end.
    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i32>, TargetError>;

    /// Writes numbers from `address` on to a memory, given by its place in [`Self::memories`].
    ///
    /// # Errors
    ///
    /// Addresses beyond its end; numbers that end inside an address, or that it cannot hold.
    fn write(&mut self, memory: usize, address: u64, values: &[i32]) -> Result<(), TargetError>;
}

/// A machine with a program, between two of its instructions.
///
/// It starts after a reset: what nobody has written is zero.
pub struct Stepper {
    machine: Box<dyn Machine>,
    next: usize,
}

impl Stepper {
    /// `machine` at its first instruction.
    pub fn new(machine: impl Machine + 'static) -> Self {
        Self { machine: Box::new(machine), next: 0 }
    }

    /// Index of the instruction that is executed next, from 0; none at the end of the program.
    pub fn next(&self) -> Option<usize> {
        (self.next < self.machine.instructions()).then_some(self.next)
    }

    /// Executes the next instruction; does nothing at the end of the program.
    ///
    /// # Errors
    ///
    /// What the machine faults on. It then is as it was before the instruction.
    pub fn step(&mut self) -> Result<(), TargetError> {
        if let Some(index) = self.next() {
            self.machine.execute(index)?;
            self.next += 1;
        }
        Ok(())
    }

    /// The memories of the machine.
    pub fn memories(&self) -> Vec<MemoryInfo> {
        self.machine.memories()
    }

    /// The numbers at `count` addresses from `address` on, as the machine's integers.
    ///
    /// # Errors
    ///
    /// [`TargetError::Option`] for a memory that is not one of [`Self::memories`]; addresses beyond its end.
    pub fn read(&self, memory: &str, address: u64, count: u64) -> Result<Vec<i32>, TargetError> {
        self.machine.read(self.place(memory)?, address, count)
    }

    /// Writes the machine's integers from `address` on, whole addresses of them.
    ///
    /// # Errors
    ///
    /// Those of [`Self::read`]; numbers that end inside an address, or that it cannot hold.
    pub fn write(&mut self, memory: &str, address: u64, values: &[i32]) -> Result<(), TargetError> {
        self.machine.write(self.place(memory)?, address, values)
    }

    fn place(&self, name: &str) -> Result<usize, TargetError> {
        let memories = self.memories();
        memories.iter().position(|memory| memory.name == name).ok_or_else(|| {
            let known: Vec<&str> = memories.iter().map(|memory| memory.name).collect();
            TargetError::option("memory", name, format!("the memories are {}", known.join(", ")))
        })
    }
}
