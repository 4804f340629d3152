//! Functions of one element by the lookup extension.

use npukit_graph::op::{Binary, BinaryKind};
use npukit_graph::{NodeId, Op, ValueId};

use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Lookup, Step};
use crate::lower::layers::lookup_table::{Function, Room, Scaled, Table, build};
use crate::lower::layers::ops::refusal::needs_lookup;
use crate::lower::layers::{Builder, Chain, Reject};

/// The most keys of a table; with more, a lookup takes too long to simulate for what is gained.
const MAX_KEYS: usize = 1024;
/// The most coefficients of a polynomial.
const MAX_COEFFICIENTS: usize = 3;
/// The part of local memory that the tables of a function may take.
const SHARE: u64 = 4;
/// The largest error over `1 + |value|` a table may have.
const MAX_ERROR: f64 = 1.0 / 16.0;

/// Applies the function of node `id`, called `name` where it is refused, to the grid. Multiplications by powers of two
/// before and after it become part of its table.
///
/// # Errors
///
/// An instance without the extension, or one with too little room for a table.
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

/// How many of the chain's last steps multiply by powers of two, and by how much together.
fn factors_before(builder: &Builder, chain: &Chain) -> (usize, f32) {
    let multiplies = |step: &Step| {
        matches!(step, Step::ChannelWise { op: SimdOp::Multiply, operand: ChannelOperand::Blocks(_), .. })
    };
    let ends = chain.nodes.iter().rev().zip(chain.steps.iter().rev());
    let factors = ends.map_while(|(&node, step)| factor(builder, node).filter(|_| multiplies(step)));
    factors.fold((0, 1.0), |(count, product), factor| (count + 1, product * factor))
}

/// The nodes that multiply the result of `id` by powers of two and nothing else reads on the way, and by how much
/// together.
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

/// The power of two that a node multiplies its operand by, if it does that.
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

/// The lookup of a function.
fn step(builder: &mut Builder, function: Scaled, name: &str) -> Result<Step, Reject> {
    if builder.config.lookup_tables == 0 {
        // Without its parameters: it has none of these functions.
        return Err(needs_lookup(name.split_once(" {").map_or(name, |(name, _)| name)));
    }
    if builder.config.simd_registers_depth < builder.config.lookup_tables {
        return Err(Reject::new(
            "a lookup writes a register for each table, and there are fewer",
            "use an instance with as many SIMD registers as lookup tables",
        ));
    }
    if let Some(&(_, known)) = builder.tables.iter().find(|(other, _)| *other == function) {
        return Ok(Step::Lookup(known));
    }
    let lookup = place(builder, function, name)?;
    builder.tables.push((function, lookup));
    Ok(Step::Lookup(lookup))
}

/// Makes the tables and puts them into a constant: the keys, then each coefficient's, all of as many vectors.
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

/// Entry of a table: 0 is the keys'; those beyond the last coefficient's hold what nobody uses. The end
/// of the last vector repeats the last entry.
fn entry_of(table: &Table, number: usize, entry: usize) -> f32 {
    let entry = entry.min(table.keys.len() - 1);
    match number.checked_sub(1) {
        None => table.keys[entry],
        // Default: tables beyond the last coefficient's are loaded, and nothing is multiplied by them.
        Some(k) => table.coefficients[entry].get(k).copied().unwrap_or(0.0),
    }
}

fn too_coarse(name: &str, room: &Room) -> Reject {
    let Room { coefficients, keys, .. } = room;
    Reject::new(
        format!(
            "{keys} keys with {coefficients} values each are too few for a table of {name}: its error would be above \
             {MAX_ERROR} of 1 + |value|"
        ),
        "use an instance with a larger local memory or more `lookup_tables`, or bring its operand into a smaller range",
    )
}
