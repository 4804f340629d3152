//! Address patterns, cycle by cycle: by their definition, and by the simulator's walk.

use npukit_target::{Case, Outcome};
use serde::Deserialize;
use serde_json::Value;

use crate::config::revision::Widths;
use crate::machine::agu::{Level, Pattern, PatternError, Walk};

#[derive(Deserialize)]
struct File {
    cases: Vec<Addresses>,
}

#[derive(Deserialize)]
struct Addresses {
    lanes: Vec<Lane>,
    transitions: Vec<u32>,
    outer: Vec<Rep>,
    total_cycles: u64,
    addresses: Vec<(u64, i64)>,
}

#[derive(Deserialize)]
struct Lane {
    base: i64,
    reps: Vec<Rep>,
}

#[derive(Clone, Copy, Deserialize)]
struct Rep {
    iter: u32,
    step: i32,
    delay: u32,
}

pub(super) fn cases(file: Value) -> Result<Vec<Case>, serde_json::Error> {
    let file: File = serde_json::from_value(file)?;
    let case =
        |(index, case): (usize, Addresses)| Case::new(format!("pattern {index}"), move || check(&case));
    Ok(file.cases.into_iter().enumerate().map(case).collect())
}

fn check(case: &Addresses) -> Outcome {
    let pattern = match pattern(case) {
        Ok(pattern) => pattern,
        Err(error) => return Outcome::error(format!("{:?}", case.addresses), error),
    };
    // The range has more cycles than expected, to check that no further address follows.
    let cycles = 0..pattern.span().min(case.total_cycles) + 100;
    let defined: Vec<(u64, i64)> =
        cycles.clone().filter_map(|cycle| Some((cycle, pattern.at(cycle)?))).collect();
    let mut walk = Walk::new(&pattern, 0);
    let walked: Vec<(u64, i64)> = cycles.filter_map(|cycle| Some((cycle, walk.take(cycle)?))).collect();
    let show = |total: u64, addresses: &[(u64, i64)]| format!("{total} cycles: {addresses:?}");
    let wanted = show(case.total_cycles, &case.addresses);
    match Outcome::compare(&wanted, &show(pattern.span(), &defined)) {
        Outcome::Passed => Outcome::compare(&wanted, &show(pattern.span(), &walked)),
        failed => failed,
    }
}

fn pattern(case: &Addresses) -> Result<Pattern, PatternError> {
    const WIDTHS: Widths = Widths { iter: 8, step: 7, delay: 7 };
    let mut pattern = Pattern::default();
    let rep = |pattern: &mut Pattern, rep: &Rep| {
        pattern.rep(Level { iter: rep.iter, step: rep.step, delay: rep.delay }, WIDTHS, false)
    };
    for lane in &case.lanes {
        pattern.open(lane.base)?;
        lane.reps.iter().try_for_each(|level| rep(&mut pattern, level))?;
    }
    case.transitions.iter().try_for_each(|delay| pattern.trans(*delay))?;
    case.outer.iter().try_for_each(|level| rep(&mut pattern, level))?;
    pattern.check().map(|()| pattern)
}
