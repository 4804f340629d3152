//! Functions of one element by the lookup extension.

use super::unary::needs_lookup;
use crate::lower::hir::{Lookup, Step};
use crate::lower::layers::{Builder, Reject};
use crate::lower::lookup_table::{Function, Room, Table, build};

/// The most keys of a table; with more, a lookup takes too long to simulate for what is gained.
const MAX_KEYS: usize = 1024;
/// The most coefficients of a polynomial.
const MAX_COEFFICIENTS: usize = 3;
/// The part of local memory that the tables of a function may take.
const SHARE: u64 = 4;
/// The largest error over `1 + |value|` a table may have.
const MAX_ERROR: f64 = 1.0 / 16.0;

/// `function(grid)`, called `name` where it is refused.
///
/// # Errors
///
/// An instance without the extension, or one with too little room for a table.
pub fn step(builder: &mut Builder, function: Function, name: &str) -> Result<Step, Reject> {
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
fn place(builder: &mut Builder, function: Function, name: &str) -> Result<Lookup, Reject> {
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
