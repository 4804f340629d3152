//! The run loop: [`run`].

use crate::sim::fault::Fault;

/// Instructions between two reports of progress.
const REPORT_EVERY: usize = 1024;

/// Steps through `ops`. Calls `progress` with the number of completed instructions at intervals and
/// at the end.
///
/// # Errors
///
/// The first error of `step`, with the index of its instruction. No further instruction runs.
pub fn run<O, K: std::error::Error>(
    ops: &[O],
    progress: &mut dyn FnMut(usize),
    mut step: impl FnMut(usize, &O) -> Result<(), K>,
) -> Result<(), Fault<K>> {
    for (instruction, op) in ops.iter().enumerate() {
        if instruction % REPORT_EVERY == 0 {
            progress(instruction);
        }
        step(instruction, op).map_err(|kind| Fault { instruction, kind })?;
    }
    progress(ops.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, thiserror::Error)]
    #[error("seven")]
    struct Seven;

    #[test]
    fn progress_ends_with_all() {
        let mut seen = Vec::new();
        let ops = vec![(); 2 * REPORT_EVERY];
        assert_eq!(run(&ops, &mut |n| seen.push(n), |_, ()| Ok::<_, Seven>(())), Ok(()));
        assert_eq!(seen, [0, REPORT_EVERY, 2 * REPORT_EVERY]);
    }

    #[test]
    fn a_fault_names_its_instruction_and_stops() {
        let mut done = 0;
        let result = run(&[1, 7, 2], &mut |_| (), |_, &op| {
            done += 1;
            if op == 7 { Err(Seven) } else { Ok(()) }
        });
        assert_eq!(result, Err(Fault { instruction: 1, kind: Seven }));
        assert_eq!(result.map_err(|f| f.to_string()), Err("instruction 1: seven".to_owned()));
        assert_eq!(done, 2);
    }
}
