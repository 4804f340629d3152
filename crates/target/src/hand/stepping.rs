//! [`step_through`]: a run of instructions one after the other, for machines in which none leads elsewhere.

use super::{Limits, Ran, Remark, Stopped};
use crate::error::TargetError;

/// Why an instruction is not done.
#[derive(Debug)]
pub enum Halt {
    /// It reads memory that nobody has written. Whoever says so has marked the memory as written, so that the instruction
    /// can be executed again.
    Unwritten(String),
    /// It is done, and the program ends with it.
    End,
    /// It cannot be executed.
    Fault(TargetError),
}

/// An instruction that was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// What nobody had written and it read, where it did: the first of these.
    pub remark: Option<String>,
    /// Whether the program ends with it.
    pub ends: bool,
}

/// Executes an instruction: `step` again after each [`Halt::Unwritten`], where it changes nothing but what that says.
///
/// # Errors
///
/// [`Halt::Fault`]
pub fn execute(mut step: impl FnMut() -> Result<(), Halt>) -> Result<Executed, TargetError> {
    let mut executed = Executed::default();
    while let Err(halt) = step() {
        match halt {
            Halt::End => {
                executed.ends = true;
                break;
            }
            Halt::Fault(error) => return Err(error),
            Halt::Unwritten(message) => _ = executed.remark.get_or_insert(message),
        }
    }
    Ok(executed)
}

/// Reads of memory that nobody has written that are told one by one.
const TOLD: usize = 100;

/// Executes `instructions` one after the other, all of them or up to one that says [`Halt::End`]: `step` executes the one at an index, and changes nothing but what
/// [`Halt::Unwritten`] says where it fails. An instruction that reads what nobody has written is remarked upon once, and
/// executed again.
///
/// # Errors
///
/// The first [`Halt::Fault`]; the limit of instructions.
pub fn step_through(
    instructions: usize,
    limits: Limits,
    mut step: impl FnMut(usize) -> Result<(), Halt>,
) -> Result<Ran, Stopped> {
    let (mut remarks, mut more, mut executed) = (Vec::new(), 0_usize, 0);
    for index in 0..instructions {
        if let Some(limit) = limits.instructions.filter(|&limit| index as u64 >= limit) {
            return Err(Stopped::limit(index, limit, "instructions"));
        }
        executed += 1;
        let done = execute(|| step(index)).map_err(|error| Stopped { instruction: Some(index), error })?;
        match done.remark {
            Some(message) if remarks.len() < TOLD => {
                remarks.push(Remark { instruction: Some(index), message })
            }
            Some(_) => more += 1,
            None => {}
        }
        if done.ends {
            break;
        }
    }
    let rest = (more > 0).then(|| Remark {
        instruction: None,
        message: format!("and {more} other instructions read memory that nobody has written"),
    });
    remarks.extend(rest);
    Ok(Ran { instructions: executed, cycles: None, remarks })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn an_instruction_is_executed_again_when_its_memory_is_marked() {
        let (mut left, mut done) = (2, Vec::new());
        let ran = step_through(3, Limits::default(), |index| {
            if index == 1 && left > 0 {
                left -= 1;
                return Err(Halt::Unwritten(format!("{left} left")));
            }
            done.push(index);
            Ok(())
        });
        let remark = Remark { instruction: Some(1), message: "1 left".to_owned() };
        assert_eq!(ran.unwrap(), Ran { instructions: 3, cycles: None, remarks: vec![remark] });
        assert_eq!(done, [0, 1, 2]);
    }

    #[test]
    fn a_limit_stops_before_the_instruction() {
        let limits = Limits { instructions: Some(2), cycles: None };
        assert_eq!(step_through(2, limits, |_| Ok(())).unwrap().instructions, 2);
        assert_eq!(step_through(3, limits, |_| Ok(())).unwrap_err().instruction, Some(2));
    }

    #[test]
    fn a_program_may_end_early() {
        let ran =
            step_through(9, Limits::default(), |index| if index == 3 { Err(Halt::End) } else { Ok(()) });
        assert_eq!(ran.unwrap().instructions, 4);
    }

    #[test]
    fn many_remarks_are_counted() {
        let mut seen = [false; 200];
        let ran = step_through(200, Limits::default(), |index| {
            if std::mem::replace(&mut seen[index], true) {
                Ok(())
            } else {
                Err(Halt::Unwritten("m".to_owned()))
            }
        });
        let remarks = ran.unwrap().remarks;
        assert_eq!(remarks.len(), TOLD + 1);
        assert!(remarks[TOLD].message.contains("100 other"));
    }
}
