//! Scheduling problems from a seed, for tests and benchmarks.

use npukit_drra::internals::schedule::{Constraint, Issue, Line, Linear, Operation, Problem, Rule};

/// Generator of numbers below a limit.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// Returns operations on the ports of cells, and constraints that follow the order of the
/// operations: `==` and `>=` with offsets, and a few alternatives.
pub fn random_problem(seed: u64, operations: usize, constraints: usize) -> Problem {
    let mut random = Random(seed);
    let mut problem = Problem::default();
    for _ in 0..operations {
        let (start, ready) = (problem.variable(0, 1_000_000), problem.variable(0, 1_000_000));
        let line = Line { slot: random.below(6) as u8, port: random.below(4) as u8 };
        let issue = match random.below(10) {
            0 => Issue::Configured { configurations: 1 + random.below(3) },
            _ => Issue::Activated { configurations: 2 + random.below(2), line },
        };
        let span = Linear::constant(1 + random.below(40) as i64);
        let (cell, component) = (random.below(3), usize::from(line.slot));
        problem.operations.push(Operation { start, ready, cell, component, issue, span });
    }
    for (a, first) in problem.operations.iter().enumerate() {
        for (b, second) in problem.operations.iter().enumerate().skip(a + 1) {
            if first.cell == second.cell && first.line().is_some() && first.line() == second.line() {
                problem.rules.push(Rule::Exclusive { operations: (a, b), gap: 2 });
            }
        }
    }
    for _ in 0..constraints {
        let later = 1 + random.below(operations - 1);
        let earlier = random.below(later);
        let (a, b) = (&problem.operations[earlier], &problem.operations[later]);
        let after = Linear::from(a.start).offset(random.below(20) as i64).plus(-1, &b.start.into());
        let any = match random.below(12) {
            0 => vec![vec![after.clone()], vec![Linear::from(b.start).offset(30).plus(-1, &a.start.into())]],
            _ => vec![vec![after]],
        };
        problem.constraints.push(Constraint { any });
    }
    problem
}
