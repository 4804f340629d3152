//! Assumptions of a program's proof about this machine and its host: [`of`].

use std::collections::BTreeSet;

use crate::isa::op::{CvoFunc, Op};
use crate::program::Program;
use crate::program::host::HostStep;

/// Returns the assumptions that the program needs, in sentences.
pub(super) fn of(program: &Program) -> Vec<String> {
    let is_product = |op: &Op| matches!(op, Op::Gemv(_) | Op::Gemm(_));
    let is_asynchronous = |op: &Op| match op {
        Op::Memcpy(memcpy) => memcpy.is_async,
        Op::Cvo(cvo) => cvo.is_async,
        _ => is_product(op),
    };
    let mut stated = vec![
        "numbers on the machine, in transfers and at the host are real numbers, without BF16 rounding and range; constants \
         for L2 are rounded to BF16"
            .to_owned(),
    ];
    if program.code.iter().any(is_product) {
        stated.push(
            "8 bits of an activation are a constant fraction of it; 4 bits of a weight are the nearest to it with the scale \
             that this compiler chooses; the quality of the scale is not proved"
                .to_owned(),
        );
    }
    if makes_weights(program) {
        stated.push(
            "4-bit weights that the host makes in a run represent their values exactly, with a scale that depends on its row \
             only"
                .to_owned(),
        );
    }
    stated.extend(functions(program));
    if program.code.iter().any(is_asynchronous) {
        stated.push(
            "instructions take effect one after the other: the linter checks that no instruction uses data of one in flight, \
             and programs with such a hazard are refused"
                .to_owned(),
        );
    }
    stated
}

/// Whether the host makes weights of keys, values and other operands.
fn makes_weights(program: &Program) -> bool {
    let steps =
        program.host_ops.iter().enumerate().filter_map(|(index, op)| HostStep::decode(index, op).ok());
    steps.into_iter().any(|step| matches!(step, HostStep::Keys { .. } | HostStep::Values { .. }))
}

/// Returns the assumption about CVO functions.
fn functions(program: &Program) -> Option<String> {
    let function = |op: &Op| match op {
        Op::Cvo(cvo) => Some(cvo.cvo_func),
        _ => None,
    };
    let is_polynomial =
        |function: &CvoFunc| matches!(function, CvoFunc::ReduceSum | CvoFunc::Scale | CvoFunc::Mul);
    let used = program.code.iter().filter_map(function).filter(|function| !is_polynomial(function));
    let names: BTreeSet<&str> = used.map(CvoFunc::name).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let stated = format!(
        "{} of CVO are the model's functions of these names; the inverse of 0 is 0",
        names.join(", ")
    );
    (!names.is_empty()).then_some(stated)
}
