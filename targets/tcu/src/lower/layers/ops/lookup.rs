//! Functions of one element by the lookup extension.

use npukit_graph::op::{Binary, BinaryKind};
use npukit_graph::{NodeId, Op, ValueId};

use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Lookup, Step};
use crate::lower::layers::lookup_table::{Function, Room, Scaled, Table, build};
use crate::lower::layers::ops::refusal::needs_lookup;
use crate::lower::layers::{Builder, Chain, Reject};

/// Maximum number of keys of a table; with more, simulation is too slow for the gain in accuracy.
const MAX_KEYS: usize = 1024;
/// Maximum number of coefficients of a polynomial.
const MAX_COEFFICIENTS: usize = 3;
/// The tables of a function may take at most `1 / SHARE` of local memory.
const SHARE: u64 = 4;
/// Largest accepted error of a table, relative to `1 + |value|`.
const MAX_ERROR: f64 = 1.0 / 16.0;

/// Applies the function of node `id` to the grid; error messages call it `name`. Multiplications by
/// powers of two before and after it become part of its table.
///
/// # Errors
///
/// Fails on an instance without the extension, or with too little room for a table.
pub fn follow(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    function: Function,
    name: &str,
) -> Result<(), Reject> {
    let (taken, before) = factors_before(builder, chain);
    let (readers, after) = factors_after(builder, id);
    let step = step(builder, Scaled { function, before, after }, name)?;
    chain.steps.truncate(chain.steps.len() - taken);
    chain.steps.push(step);
    builder.absorbed.extend(readers);
    Ok(())
}

/// Returns the number of trailing steps of the chain that multiply by powers of two, and the
/// product of their factors.
fn factors_before(builder: &Builder, chain: &Chain) -> (usize, f32) {
    let multiplies = |step: &Step| {
        matches!(step, Step::ChannelWise { op: SimdOp::Multiply, operand: ChannelOperand::Blocks(_), .. })
    };
    let ends = chain.nodes.iter().rev().zip(chain.steps.iter().rev());
    let factors = ends.map_while(|(&node, step)| factor(builder, node).filter(|_| multiplies(step)));
    factors.fold((0, 1.0), |(count, product), factor| (count + 1, product * factor))
}

/// Returns the following nodes that multiply the result of `id` by powers of two, and the product
/// of their factors. Intermediate results have no other readers.
fn factors_after(builder: &Builder, id: NodeId) -> (Vec<NodeId>, f32) {
    let (mut nodes, mut product, mut at) = (Vec::new(), 1.0, id);
    while let Some(reader) = builder.only_reader(builder.graph.node(at).outputs[0])
        && let Some(factor) = factor(builder, reader)
    {
        nodes.push(reader);
        (product, at) = (product * factor, reader);
    }
    (nodes, product)
}

/// Returns the power of two by which a node multiplies its operand; `None` if the node is anything
/// other than such a multiplication.
fn factor(builder: &Builder, id: NodeId) -> Option<f32> {
    let node = builder.graph.node(id);
    let Op::Binary(Binary { kind: BinaryKind::Mul }) = node.op else { return None };
    let scalars = |&value: &ValueId| match builder.graph.constant(value)?.as_f32()? {
        &[factor] => Some(factor),
        _ => None,
    };
    let same = builder.graph.shape(node.inputs[0]) == builder.graph.shape(node.outputs[0]);
    let factor = scalars(node.inputs.get(1)?)?;
    (same && factor > 0.0 && factor.log2().fract() == 0.0).then_some(factor)
}

/// Returns the lookup step of a function.
fn step(builder: &mut Builder, function: Scaled, name: &str) -> Result<Step, Reject> {
    if builder.config.lookup_tables == 0 {
        // The message omits the node's parameters because the SIMD unit lacks the function for all
        // of them.
        return Err(needs_lookup(name.split_once(" {").map_or(name, |(name, _)| name)));
    }
    if builder.config.simd_registers_depth < builder.config.lookup_tables {
        return Err(Reject::new(
            "a lookup writes one SIMD register per table, and the instance has fewer registers",
            "use an instance whose `simd_registers_depth` is at least `lookup_tables`",
        ));
    }
    if let Some(&(_, known)) = builder.tables.iter().find(|(other, _)| *other == function) {
        return Ok(Step::Lookup(known));
    }
    let lookup = place(builder, function, name)?;
    builder.tables.push((function, lookup));
    Ok(Step::Lookup(lookup))
}

/// Builds the tables and stores them in one constant: the keys, then one table per coefficient, all
/// of the same size.
fn place(builder: &mut Builder, function: Scaled, name: &str) -> Result<Lookup, Reject> {
    let (n, tables) = (builder.array_size(), builder.config.lookup_tables + 1);
    let coefficients = builder.config.lookup_tables.min(MAX_COEFFICIENTS);
    let vectors = (builder.config.local_depth / SHARE / tables as u64).min(MAX_KEYS.div_ceil(n) as u64);
    let keys = (vectors as usize * n).min(MAX_KEYS);
    let room = Room { format: builder.config.data_type.format(), coefficients, keys };
    let table = build(function, &room).filter(|table| table.error <= MAX_ERROR);
    let table = table.ok_or_else(|| too_coarse(name, &room))?;
    let vectors = table.keys.len().div_ceil(n);
    builder.require_constants((vectors * tables) as u64)?;
    let data = (0..tables).flat_map(|t| (0..vectors * n).map(move |entry| (t, entry)));
    let data = data.map(|(t, entry)| entry_of(&table, t, entry));
    let data: Vec<i32> = data.map(|value| builder.objects.raw(value)).collect();
    let object = builder.objects.add_constant(format!("table of {name}"), data);
    Ok(Lookup { object, vectors: vectors as u32, tables: tables as u32, coefficients })
}

/// Returns an entry of table `number`: 0 is the keys, tables after the last coefficient are unused.
/// The last vector is padded with the last entry.
fn entry_of(table: &Table, number: usize, entry: usize) -> f32 {
    let entry = entry.min(table.keys.len() - 1);
    match number.checked_sub(1) {
        None => table.keys[entry],
        // Default: tables after the last coefficient are loaded but not used.
        Some(k) => table.coefficients[entry].get(k).copied().unwrap_or(0.0),
    }
}

fn too_coarse(name: &str, room: &Room) -> Reject {
    let Room { coefficients, keys, .. } = room;
    Reject::new(
        format!(
            "{keys} keys with {coefficients} values per key are too few for a table of {name}: its error would exceed \
             {MAX_ERROR} of 1 + |value|"
        ),
        "use an instance with a larger local memory or more `lookup_tables`, or scale its operand to a smaller range",
    )
}
