//! [`locate`]: the place in a file that its decoder stumbles over, with the node it is in.
//!
//! prost says which field of which message it could not decode, but not of which of them, nor at which byte.

use crate::protobuf_fields::{Field, FieldError, LENGTH, fields};

/// What a message is made of, as far as damage is looked for.
pub(crate) struct Schema {
    /// Number, name and kind of fields.
    pub(crate) fields: &'static [(u64, &'static str, Kind)],
    /// Number of the field that holds the message's own name.
    pub(crate) name: Option<u64>,
}

/// The kind of a field.
pub(crate) enum Kind {
    /// UTF-8 text.
    Text,
    /// A message.
    Message(&'static Schema),
}

/// The first place that is damaged: its offset, and what is wrong where.
pub(crate) fn locate(bytes: &[u8], schema: &Schema) -> Option<(usize, String)> {
    walk(bytes, 0, schema, "")
}

/// As [`locate`], of the message that `bytes`, from the offset `base` on, are; `place` says which one, as ` of node 3`.
fn walk(bytes: &[u8], base: usize, schema: &Schema, place: &str) -> Option<(usize, String)> {
    let mut counts = vec![0usize; schema.fields.len()];
    for field in fields(bytes) {
        let Field { number, wire, start, end } = match field {
            Ok(field) => field,
            Err(FieldError::Truncated { offset, needed, present }) => {
                let text =
                    format!("a field{place} needs {needed} bytes after its header, {present} are present");
                return Some((base + offset, text));
            }
            Err(FieldError::NoField { offset, reason }) => {
                return Some((base + offset, format!("a field{place}: {reason}")));
            }
        };
        let known = schema.fields.iter().position(|(known, ..)| *known == number && wire == LENGTH);
        let (Some(known), Some(content)) = (known, bytes.get(start..end)) else { continue };
        let (_, name, kind) = &schema.fields[known];
        let found = match kind {
            Kind::Text => std::str::from_utf8(content).err().map(|error| {
                (base + start + error.valid_up_to(), format!("{name}{place} is not UTF-8 text"))
            }),
            Kind::Message(inner) => {
                let own = format!(" of {name} {}{}{place}", counts[known], own_name(content, inner));
                // What there is one of has no name.
                walk(content, base + start, inner, if name.is_empty() { place } else { &own })
            }
        };
        if found.is_some() {
            return found;
        }
        counts[known] += 1;
    }
    None
}

/// The name of a message in brackets, where it has one.
fn own_name(bytes: &[u8], schema: &Schema) -> String {
    let is_name = |field: &Field| Some(field.number) == schema.name && field.wire == LENGTH;
    let field = fields(bytes).map_while(Result::ok).find(is_name);
    let name = field.and_then(|field| bytes.get(field.start..field.end)).filter(|name| !name.is_empty());
    name.map_or_else(String::new, |name| format!(" ({:?})", String::from_utf8_lossy(name)))
}
