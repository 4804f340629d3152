//! Conversion of 16-bit and 64-bit floats to 32-bit floats.

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor};

use super::{Pass, PassError};
use crate::ir::{Graph, Value};
use crate::op::{Cast, DequantizeLinear, Op, QuantizeLinear};

pub(super) const PASS: Pass = Pass {
    name: "single-precision",
    description: "computes in 32-bit floats instead of floats of 16 or 64 bits, since accelerators round differently anyway",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let mut changed = false;
    for value in &mut graph.values {
        changed |= widen(&mut value.info.element);
        widen_constant(value);
    }
    for node in &mut graph.nodes {
        changed |= match &mut node.op {
            Op::Cast(Cast { to, .. }) | Op::DequantizeLinear(DequantizeLinear { to, .. }) => widen(to),
            Op::QuantizeLinear(QuantizeLinear { precision, .. }) => widen(precision),
            _ => false,
        };
    }
    Ok(changed)
}

/// Changes other standard float types to 32 bits; returns whether it did.
fn widen(element: &mut ElementType) -> bool {
    let other = matches!(element, ElementType::F16 | ElementType::BF16 | ElementType::F64);
    if other {
        *element = ElementType::F32;
    }
    other
}

/// The elements stay: they are stored as 32-bit floats already.
fn widen_constant(value: &mut Value) {
    let Some(constant) = value.constant.as_mut().filter(|constant| constant.element() != value.info.element)
    else {
        return;
    };
    if let Ok(wide) = Tensor::clone(constant).with_element(value.info.element) {
        *constant = Arc::new(wide);
    }
}
