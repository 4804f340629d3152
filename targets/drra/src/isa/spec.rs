//! The table as an [`IsaSpec`], for `npu isa` and for the checks every target's table passes.

use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix};

use super::{FLAG, Field, Isa, OPCODE, Row, SLOT, TYPE};
use crate::component::Component;

const DOC: &str = "A cell's sequencer executes the instructions of control and forwards the others to their slot, \
                   where they mean what the component there makes of them. Fields that are not written are 0, \
                   `step` is 1. A negative value is in two's complement.";

impl Isa {
    /// The table in the form that is common to all targets. A row's context is its component; fields that
    /// may be negative are given by their bits.
    pub fn spec(&self, name: &str) -> IsaSpec {
        let rows = self.rows.iter();
        let instructions =
            rows.flat_map(|(component, rows)| rows.iter().map(|row| instruction(*component, row)));
        IsaSpec {
            name: name.to_owned(),
            doc: DOC.to_owned(),
            byte_order: ByteOrder::Big,
            instructions: instructions.collect(),
        }
    }
}

fn instruction(component: Component, row: &Row) -> InstructionSpec {
    let is_control = component == Component::Sequencer;
    let mut spec = InstructionSpec::new(row.name, 4, row.meaning)
        .with_context(component.name())
        .with_pattern("type", TYPE, u64::from(!is_control))
        .with_pattern("opcode", OPCODE, row.opcode.into());
    if let Some(flag) = row.flag {
        spec = spec.with_pattern("variant", FLAG, flag.into());
    }
    let mut texts = Vec::new();
    if !is_control {
        spec = spec.with_field("slot", SLOT, FieldKind::up_to(15, Radix::Decimal), "where it goes");
        texts.push("slot={slot}".to_owned());
    }
    for field in &row.fields {
        spec = spec.with_field(field.name, field.bits, kind(field), meaning(field.name));
        texts.push(format!("{0}={{{0}}}", field.name));
    }
    let syntax = format!("{}({})", row.name, texts.join(", "));
    spec.with_form(&syntax, Vec::new())
}

fn kind(field: &Field) -> FieldKind {
    if field.names.is_empty() {
        return FieldKind::up_to(field.bits.max(), Radix::Decimal);
    }
    let names = field.names.iter().map(|(code, name)| (u64::from(*code), (*name).to_owned()));
    FieldKind::Choice { names: names.collect(), open: true }
}

/// What a field is, wherever it occurs.
fn meaning(field: &str) -> &'static str {
    match field {
        "mode" => "what is done",
        "cycle" => "cycles it takes, less one",
        "ports" => "ports, as `mode` reads them",
        "param" => "first slot, mask of ports or first register, by `mode`",
        "operand1" => "scalar register",
        "operand2_sd" => "whether `operand2` names a scalar register",
        "operand2" => "number or scalar register",
        "result" => "scalar register",
        "reg" => "scalar register",
        "target_true" => "distance if it is not 0; bits of a signed number",
        "target_false" => "distance if it is 0; bits of a signed number",
        "config" => "which of the four configurations",
        "immediate" => "constant of some modes",
        "port" => "which address generator of the slot",
        "iter" => "how often",
        "step" => "what is added to the address each time; signed in `rep`",
        "delay" => "idle cycles between",
        "option" => "which of the four tables; without effect in `dsu`",
        "channel" => "the slot that receives, once more",
        "source" => "the slot that sends; of `route`, sr=receive, the direction",
        "target" => "the slot that receives; of `route` the directions, or the slots, a bit each",
        "sr" => "whether slots send or receive",
        "init_addr_sd" => "whether `init_addr` names a scalar register",
        "init_addr" => "first address",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::isa::Encoding;

    #[test]
    fn the_table_has_no_fault() {
        for encoding in [Encoding::Released, Encoding::Later] {
            assert_eq!(Isa::of(encoding).spec("drra").check(), []);
        }
    }

    /// Only scalar registers go by several names.
    #[test]
    fn fields_of_other_names_mean_something_else() {
        let spec = Isa::get().spec("drra");
        let fields = spec.instructions.iter().flat_map(|row| &row.fields);
        let all: BTreeSet<(&str, String)> =
            fields.map(|field| (field.name.as_ref(), field.meaning.to_string())).collect();
        let registers = ["operand1", "reg", "result"];
        for (name, meaning) in &all {
            let of_others = all.iter().filter(|(other, said)| other != name && said == meaning);
            let others = of_others.map(|(other, _)| *other).collect::<Vec<_>>();
            let expected: Vec<&str> = match meaning.as_str() {
                "scalar register" => registers.into_iter().filter(|other| other != name).collect(),
                _ => Vec::new(),
            };
            assert_eq!(others, expected, "{name}");
        }
    }

    #[test]
    fn every_field_has_a_meaning() {
        let spec = Isa::get().spec("drra");
        let fields = spec.instructions.iter().flat_map(|row| &row.fields);
        let without: Vec<_> = fields.filter(|field| field.meaning.is_empty()).collect();
        assert_eq!(without, Vec::<&npukit_isa::Field>::new());
    }
}
