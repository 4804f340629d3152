//! [`locate`]: finds the place in a file that a decoder rejects, with the node that contains it.
//!
//! prost names the field and message type that it could not decode, but neither the element nor the
//! byte offset.

use crate::protobuf_fields::{Field, FieldError, LENGTH, fields};

/// Fields of a message in which damage is searched.
pub(crate) struct Schema {
    /// Number, name and kind of the fields.
    pub(crate) fields: &'static [(u64, &'static str, Kind)],
    /// Number of the field that holds the name of the message.
    pub(crate) name: Option<u64>,
}

/// Kind of a field.
pub(crate) enum Kind {
    /// UTF-8 text.
    Text,
    /// A nested message.
    Message(&'static Schema),
}

/// Returns the first damaged place: its byte offset, and a description of the damage.
pub(crate) fn locate(bytes: &[u8], schema: &Schema) -> Option<(usize, String)> {
    walk(bytes, 0, schema, "")
}

/// Like [`locate`], for the message in `bytes`, which begins at the offset `base`. `place` names
/// the message, for example ` of node 3`.
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
                // An unnamed field occurs only once, so its place is that of its parent.
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

/// Name of the message in brackets, or an empty text.
fn own_name(bytes: &[u8], schema: &Schema) -> String {
    let is_name = |field: &Field| Some(field.number) == schema.name && field.wire == LENGTH;
    let field = fields(bytes).map_while(Result::ok).find(is_name);
    let name = field.and_then(|field| bytes.get(field.start..field.end)).filter(|name| !name.is_empty());
    name.map_or_else(String::new, |name| format!(" ({:?})", String::from_utf8_lossy(name)))
}
