//! The scheduler on generated problems. The checker verifies each schedule.

use npukit_drra::internals::schedule::{DEFAULT_NODES, Linear, ScheduleError, check, explain, schedule};
use proptest::prelude::*;

use crate::generator::random_problem;

#[test]
fn a_hundred_operations_with_two_hundred_constraints() {
    for seed in 0..6 {
        let problem = random_problem(seed, 100, 200);
        let begin = std::time::Instant::now();
        let found = schedule(&problem, DEFAULT_NODES).unwrap();
        eprintln!(
            "seed {seed}: {} cycles, bound {}, {} nodes, {:?}",
            found.cycles,
            found.bound,
            found.nodes,
            begin.elapsed()
        );
        assert_eq!(check(&problem, &found), []);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn schedules_are_good_and_contradictions_irreducible(seed: u64, operations in 2_usize..14, constraints in 0_usize..30) {
        let problem = random_problem(seed, operations, constraints);
        match schedule(&problem, 2000) {
            Ok(found) => {
                prop_assert_eq!(check(&problem, &found), []);
                prop_assert!(found.bound <= found.cycles);
            }
            Err(ScheduleError::GaveUp { .. }) => {}
            Err(ScheduleError::Unsatisfiable) => {
                let conflict = explain(&problem).unwrap();
                let without = |left_out: usize| {
                    let mut part = problem.clone();
                    part.constraints = conflict.constraints.iter().filter(|&&one| one != left_out).map(|&one| problem.constraints[one].clone()).collect();
                    part
                };
                prop_assert!(schedule(&without(usize::MAX), 2000).is_err());
                for &one in conflict.constraints.iter().filter(|_| conflict.is_irreducible) {
                    prop_assert!(schedule(&without(one), 2000).is_ok(), "{} is not needed", one);
                }
            }
        }
    }

    /// Compared with all starts, tried one by one.
    #[test]
    fn what_is_called_optimal_is(seed: u64, constraints in 0_usize..4) {
        let mut problem = random_problem(seed, 3, constraints);
        for operation in &mut problem.operations {
            operation.span = Linear::constant(1 + operation.span.constant % 4);
            operation.cell = 0;
        }
        problem.constraints.iter_mut().flat_map(|one| one.any.iter_mut().flatten()).for_each(|sum| sum.constant %= 5);
        let Ok(found) = schedule(&problem, 5000) else { return Ok(()) };
        prop_assert_eq!(check(&problem, &found), []);
        if found.is_optimal() {
            let shorter = all_starts(found.cycles - 1).find(|starts| {
                let mut fixed = problem.clone();
                for (operation, start) in problem.operations.iter().zip(starts) {
                    fixed.variables[operation.start.0] = (*start, *start);
                }
                matches!(schedule(&fixed, 200), Ok(shorter) if shorter.cycles < found.cycles)
            });
            prop_assert_eq!(shorter, None, "{} cycles", found.cycles);
        }
    }
}

/// Returns all starts of three operations that end before `cycles`.
fn all_starts(cycles: i64) -> impl Iterator<Item = [i64; 3]> {
    let cycles = cycles.clamp(0, 14);
    (0..cycles).flat_map(move |a| (0..cycles).flat_map(move |b| (0..cycles).map(move |c| [a, b, c])))
}
