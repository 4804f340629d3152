//! The rows of [`Isa`](super::Isa).

use npukit_base::BitRange;

use super::{Encoding, Field, Row};
use crate::component::Component;

type Names = &'static [(u32, &'static str)];

const NONE: Names = &[];
const DYNAMIC: Names = &[(0, "s"), (1, "d")];
const WAIT: Names = &[(0, "cycles"), (1, "events")];
const ACT: Names = &[(0, "contiguous"), (1, "port_index"), (2, "map")];
const DIRECTION: Names = &[(0, "send"), (1, "receive")];
const DPU_PORTS: Names = &[(0, "dpu"), (1, "rst")];
const SWB_PORTS: Names = &[(0, "intracell"), (1, "intercell")];
const RF_PORTS: Names = &[(0, "word_write"), (1, "word_read"), (2, "bulk_write"), (3, "bulk_read")];
const IOSRAM_PORTS: Names = &[(0, "input_buffer"), (1, "output_buffer"), (2, "sram_write"), (3, "sram_read")];

#[rustfmt::skip] // A table.
const CALC_MODES: Names = &[
    (0, "idle"), (1, "add"), (2, "sub"), (3, "lls"), (4, "lrs"), (5, "mul"), (6, "div"), (7, "mod"),
    (8, "bitand"), (9, "bitor"), (10, "bitinv"), (11, "bitxor"),
    (17, "eq"), (18, "ne"), (19, "gt"), (20, "ge"), (21, "lt"), (22, "le"), (23, "addh"),
    (32, "and"), (33, "or"), (34, "not"),
];

#[rustfmt::skip] // A table.
const DPU_MODES: Names = &[
    (0, "idle"), (1, "add"), (2, "sum_acc"), (3, "add_const"), (4, "subt"), (5, "subt_abs"), (6, "mode_6"),
    (7, "mult"), (8, "mult_add"), (9, "mult_const"), (10, "mac"), (11, "ld_ir"), (12, "axpy"),
    (13, "max_min_acc"), (14, "max_min_const"), (15, "mode_15"), (16, "max_min"), (17, "shift_l"),
    (18, "shift_r"), (19, "sigm"), (20, "tanhyp"), (21, "expon"), (22, "lk_relu"), (23, "relu"), (24, "div"),
    (25, "acc_softmax"), (26, "div_softmax"), (27, "ld_acc"), (28, "scale_dw"), (29, "scale_up"),
    (30, "mac_inter"), (31, "mode_31"),
];

/// A field of `width` bits; [`row`] gives it its place.
const fn field(name: &'static str, width: u32, names: Names) -> Field {
    Field { name, bits: BitRange::new(0, width), default: 0, signed: false, names }
}

const fn number(name: &'static str, width: u32) -> Field {
    field(name, width, NONE)
}

const fn signed(name: &'static str, width: u32) -> Field {
    Field { signed: true, ..number(name, width) }
}

/// A row whose fields follow each other from bit `top` down.
fn row(top: u32, opcode: u8, name: &'static str, fields: &[Field], meaning: &'static str) -> Row {
    let mut lo = top;
    let place = |field: &Field| {
        lo = lo.saturating_sub(field.bits.width);
        Field { bits: BitRange::new(lo, field.bits.width), ..*field }
    };
    Row { name, meaning, opcode, flag: None, fields: fields.iter().map(place).collect() }
}

/// A control instruction.
fn control(opcode: u8, name: &'static str, fields: &[Field], meaning: &'static str) -> Row {
    row(28, opcode, name, fields, meaning)
}

/// A resource instruction.
fn resource(opcode: u8, name: &'static str, fields: &[Field], meaning: &'static str) -> Row {
    row(24, opcode, name, fields, meaning)
}

const REP: &str = "repeats what the port does `iter` times, `delay` idle cycles between";
const REPX: &str = "the high parts of the fields of the `rep` before it";
const TRANS: &str = "connects a lane of the port with the next one, `delay` idle cycles between";

/// One of two instructions of an opcode, which the highest bit of their payload tells apart.
fn variant(flag: bool, opcode: u8, name: &'static str, fields: &[Field], meaning: &'static str) -> Row {
    Row { flag: Some(flag), ..row(23, opcode, name, fields, meaning) }
}

/// `rep`, `repx`, `trans`, from opcode `first` on. A port of `port` bits leaves `delay` bits for a delay.
fn timing(first: u8, port: Field, delay: u32) -> [Row; 3] {
    let (iter, delay) = (number("iter", 8), number("delay", delay));
    let step = Field { default: 1, ..signed("step", 7) };
    let high_step = Field { signed: false, ..step };
    let transition = number("delay", 24 - port.bits.width);
    [
        resource(first, "rep", &[port, iter, step, delay], REP),
        resource(first + 1, "repx", &[port, iter, high_step, delay], REPX),
        resource(first + 2, "trans", &[port, transition], TRANS),
    ]
}

/// The same of the later encoding: `repx` is a variant of `rep`.
fn later_timing(port: Field, step: u32, delay: u32) -> [Row; 3] {
    let (iter, delay) = (number("iter", 7), number("delay", delay));
    let step = Field { default: 1, ..signed("step", step) };
    let high_step = Field { signed: false, ..step };
    let transition = number("delay", 24 - port.bits.width);
    [
        variant(false, 2, "rep", &[port, iter, step, delay], REP),
        variant(true, 2, "repx", &[port, iter, high_step, delay], REPX),
        resource(3, "trans", &[port, transition], TRANS),
    ]
}

/// The timing of components whose lanes have no address of their own. `later` are bits of a step and a delay there.
fn evt(encoding: Encoding, ports: Names, later: (u32, u32)) -> Vec<Row> {
    let port = field("port", 1, ports);
    let (opcode, timing) = match encoding {
        Encoding::Released => (0, timing(1, port, 8)),
        Encoding::Later => (1, later_timing(port, later.0, later.1)),
    };
    let evt = resource(opcode, "evt", &[port], "opens a lane of the port");
    std::iter::once(evt).chain(timing).collect()
}

/// The timing of memories.
fn dsu(encoding: Encoding, ports: Names) -> Vec<Row> {
    let port = field("port", 2, ports);
    let dynamic = field("init_addr_sd", 1, DYNAMIC);
    let fields = [number("option", 2), port, dynamic, number("init_addr", 16)];
    let (opcode, timing) = match encoding {
        Encoding::Released => (6, timing(0, port, 7)),
        Encoding::Later => (1, later_timing(port, 7, 7)),
    };
    let dsu = resource(opcode, "dsu", &fields, "opens a lane of the port at an address");
    std::iter::once(dsu).chain(timing).collect()
}

fn sequencer() -> Vec<Row> {
    vec![
        control(0, "halt", &[], "ends the cell's program"),
        control(1, "wait", &[field("mode", 1, WAIT), number("cycle", 27)], "takes `cycle` + 1 cycles"),
        control(
            2,
            "act",
            &[number("ports", 16), field("mode", 4, ACT), number("param", 8)],
            "activates ports: their first address is in the next cycle",
        ),
        control(
            3,
            "calc",
            &[
                field("mode", 6, CALC_MODES),
                number("operand1", 4),
                field("operand2_sd", 1, DYNAMIC),
                number("operand2", 8),
                number("result", 4),
            ],
            "computes on scalar registers",
        ),
        control(
            4,
            "brn",
            &[number("reg", 4), signed("target_true", 9), signed("target_false", 9)],
            "goes on at a distance from the next instruction, by whether a register is not 0",
        ),
    ]
}

fn dpu(encoding: Encoding) -> Vec<Row> {
    let fields = [number("config", 2), field("mode", 5, DPU_MODES), number("immediate", 16)];
    let opcode = if encoding == Encoding::Later { 0 } else { 4 };
    let dpu = resource(opcode, "dpu", &fields, "sets a configuration");
    std::iter::once(dpu).chain(evt(encoding, DPU_PORTS, (7, 7))).collect()
}

fn swb(encoding: Encoding) -> Vec<Row> {
    let (option, source) = (number("option", 2), number("source", 4));
    let link = [option, number("channel", 4), source, number("target", 4)];
    let route = [option, field("sr", 1, DIRECTION), source, number("target", 16)];
    let (swb, of_route) = (
        "links a slot's word output to a slot's word input",
        "links bulk rows of slots to directions, or directions to slots",
    );
    let own = match encoding {
        Encoding::Released => [resource(4, "swb", &link, swb), resource(5, "route", &route, of_route)],
        Encoding::Later => {
            [variant(false, 0, "swb", &link, swb), variant(true, 0, "route", &route, of_route)]
        }
    };
    own.into_iter().chain(evt(encoding, SWB_PORTS, (6, 8))).collect()
}

/// All rows, in the order of the reference page.
pub(super) fn rows(encoding: Encoding) -> Vec<(Component, Vec<Row>)> {
    vec![
        (Component::Sequencer, sequencer()),
        (Component::Dpu, dpu(encoding)),
        (Component::Swb, swb(encoding)),
        (Component::Rf, dsu(encoding, RF_PORTS)),
        (Component::IosramTop, dsu(encoding, IOSRAM_PORTS)),
        (Component::IosramBtm, dsu(encoding, IOSRAM_PORTS)),
        (Component::IosramBoth, dsu(encoding, IOSRAM_PORTS)),
    ]
}
