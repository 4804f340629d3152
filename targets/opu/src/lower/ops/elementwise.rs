//! Activations, sums of feature maps, and arithmetic with per-channel constants.

use npukit_graph::op::{Binary, BinaryKind};
use npukit_graph::{Affine, NodeId, Op, Operator, ValueId};
use npukit_lower::Reject;

use crate::isa::op::Activation;
use crate::lower::builder::copies::identity;
use crate::lower::builder::{Builder, Chain, Lowered};
use crate::lower::layer::Step;
use crate::lower::product::Product;

/// Slope of leaky ReLU on the machine.
const SLOPE: f32 = 0.125;

/// Whether the operator adds feature maps.
pub fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Binary(Binary { kind: BinaryKind::Add }))
}

/// Lowers an activation of a value in memory.
///
/// # Errors
///
/// The slope is not supported, or the operand is not in memory.
pub fn activation(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let step = Step::Activation(function(builder, id)?);
    let mut chain = copy(builder, id)?;
    chain.post = chain.post.with(step).expect("an activation alone has a form");
    Ok(Lowered::Chain(chain))
}

/// Lets an activation join a chain.
///
/// # Errors
///
/// Never fails: an activation that cannot join is lowered on its own.
pub fn follow_activation(builder: &mut Builder, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
    // If the function is unsupported, the error is reported when the node is lowered alone.
    let function = function(builder, id);
    Ok(function.is_ok_and(|function| Builder::add_step(chain, Step::Activation(function))))
}

fn function(builder: &mut Builder, id: NodeId) -> Result<Activation, Reject> {
    let Op::LeakyRelu(op) = &builder.node(id).op else { return Ok(Activation::Relu) };
    if op.alpha != SLOPE {
        if !builder.approximate {
            return Err(Reject::new(
                format!("its slope is {}, but the machine only has 1/8", op.alpha),
                "train with a slope of 0.125, or use that slope with the option leaky=nearest",
            ));
        }
        builder.note(format!("leaky ReLU of slope {} is computed with slope 1/8", op.alpha));
    }
    Ok(Activation::Leaky)
}

/// Lowers a sum of feature maps, or arithmetic with a constant.
///
/// # Errors
///
/// The operator is not supported, or the operands have different shapes.
pub fn arithmetic(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    if let Some(affine) = Affine::of(builder.graph, node) {
        let view = builder.view(affine.operand)?;
        let mut product = product(&[(view, 1.0)]);
        product.then(&affine.factors);
        return Ok(Lowered::Chain(builder.chain(id, product)));
    }
    let &[left, right] = node.inputs.as_slice() else {
        return Err(Reject::new("its parameters are not constants", "export the model in inference form"));
    };
    let sign = match &node.op {
        Op::Binary(Binary { kind: BinaryKind::Add }) => 1.0,
        Op::Binary(Binary { kind: BinaryKind::Sub }) => -1.0,
        op => {
            let reason = format!("{} of feature maps is not supported", op.name());
            return Err(Reject::new(reason, "use sums, differences or per-channel factors"));
        }
    };
    alike(builder, left, right)?;
    if let Some(sum) = combined(builder, id, left, right) {
        return Ok(Lowered::Chain(sum));
    }
    let views = [(builder.view(left)?, 1.0), (builder.view(right)?, sign)];
    Ok(Lowered::Chain(builder.chain(id, product(&views))))
}

/// Returns two sums of products as one chain. If one of them is in memory, the store of the other
/// adds it.
fn combined(builder: &mut Builder, id: NodeId, left: ValueId, right: ValueId) -> Option<Chain> {
    // A value that is added to itself has two readers, so its chain was not delayed.
    if !is_sum(&builder.node(id).op) {
        return None;
    }
    for (held, other) in [(left, right), (right, left)] {
        let Some(mut chain) = builder.take_pending(held) else { continue };
        if join(builder, &mut chain, other, id) {
            chain.nodes.push(id);
            chain.value = builder.node(id).outputs[0];
            return Some(chain);
        }
        builder.hold(chain);
    }
    None
}

/// Lets a sum of feature maps, or arithmetic with constants, join a chain.
///
/// # Errors
///
/// Never fails: a node that cannot join is lowered on its own.
pub fn follow_arithmetic(builder: &mut Builder, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
    let node = builder.node(id);
    if let Some(affine) = Affine::of(builder.graph, node) {
        // All other operands are constants, so the chain computes the only remaining operand.
        let folds = chain.post.is_empty();
        if folds {
            chain.product.then(&affine.factors);
        }
        return Ok(folds);
    }
    let other = node.inputs.iter().copied().find(|&input| input != chain.value);
    let Some(other) = other.filter(|_| is_sum(&node.op)) else { return Ok(false) };
    if alike(builder, chain.value, other).is_err() {
        return Ok(false);
    }
    Ok(join(builder, chain, other, id))
}

/// Adds `other` to the chain; the sum is the result of node `id`.
fn join(builder: &mut Builder, chain: &mut Chain, other: ValueId, id: NodeId) -> bool {
    let plain = chain.post.is_empty() && chain.copies == [1, 1];
    if plain && let Some(held) = builder.take_pending(other) {
        if chain.product.add(held.product.clone()) {
            chain.nodes.splice(0..0, held.nodes);
            return true;
        }
        builder.hold(held);
    }
    let Some(view) = builder.fusion.view(other).cloned() else { return false };
    let sum = builder.node(id).outputs.first().and_then(|&sum| builder.fraction(sum).ok());
    let planes = &builder.planes;
    let same_fraction = view.pieces.iter().all(|piece| Some(planes.get(piece.plane).fraction) == sum);
    let aligned = view.pieces.iter().all(|piece| piece.lane == 0)
        && view.pieces.iter().rev().skip(1).all(|piece| piece.channels == super::super::limits::LANES);
    if same_fraction && aligned && Builder::add_step(chain, Step::Residual(view.clone())) {
        return true;
    }
    // Operands with different fraction lengths are added as partial sums, which have spare bits.
    let part = identity(&view, 1.0);
    plain && chain.product.add(Product { parts: vec![part], bias: None, ..chain.product.clone() })
}

fn alike(builder: &Builder, left: ValueId, right: ValueId) -> Result<(), Reject> {
    let (a, b) = (builder.graph.shape(left), builder.graph.shape(right));
    if a == b {
        return Ok(());
    }
    let reason = format!("its operands have shapes {a:?} and {b:?}, which need broadcasting");
    Err(Reject::new(reason, "add feature maps of equal shape, or one constant per channel"))
}

/// Returns a chain that only copies the first operand of node `id`.
///
/// # Errors
///
/// The operand is not in memory.
pub fn copy(builder: &mut Builder, id: NodeId) -> Result<Chain, Reject> {
    let view = builder.view(builder.node(id).inputs[0])?;
    Ok(builder.chain(id, product(&[(view, 1.0)])))
}

/// Returns the sum of one or more feature maps of equal size, each times its factor.
fn product(views: &[(crate::lower::map::View, f32)]) -> Product {
    let (first, _) = &views[0];
    let (size, channels) = (first.size, first.channels());
    let parts = views.iter().map(|(view, factor)| identity(view, *factor)).collect();
    Product { size, channels, parts, factors: None, bias: None }
}
