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
    let mut told = vec![
        "numbers on the machine, in transfers and at the host are real numbers, without BF16 and its ranges; constants \
         that go to L2 are rounded to it"
            .to_owned(),
    ];
    if program.code.iter().any(is_product) {
        told.push(
            "8 bits of an activation are a constant share of it; 4 bits of a weight are the nearest to it with the scale \
             that this compiler takes, and that the scale is a good one is not shown"
                .to_owned(),
        );
    }
    if makes_weights(program) {
        told.push(
            "4 bits that the host makes in a run give back what they are made of, with a scale that depends on its row \
             alone"
                .to_owned(),
        );
    }
    told.extend(functions(program));
    if program.code.iter().any(is_asynchronous) {
        told.push(
            "instructions have their effects one after the other: that what is under way meets nothing that uses it is \
             what the linter shows, and programs in which it does are refused"
                .to_owned(),
        );
    }
    told
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
    let told = format!(
        "{} of CVO are the model's functions of these names; the inverse of 0 is 0",
        names.join(", ")
    );
    (!names.is_empty()).then_some(told)
}
