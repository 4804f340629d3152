//! The instruction set as people read and write it: [`isa()`].
//!
//! The assembler, the disassembler and the reference page come from this table; the simulator uses
//! [`crate::codec`], and a property test keeps the two in agreement. Source: specification, 2.

use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix, When};

use crate::codec::WORD_BYTES;
use crate::op::{Activation, Order, Post};

/// The instruction set; it is the same for all instances.
pub fn isa() -> IsaSpec {
    IsaSpec {
        name: "opu".to_owned(),
        doc: DOC.to_owned(),
        byte_order: ByteOrder::Little,
        instructions: rows(),
    }
}

const DOC: &str = "Addresses count 64 bytes from the start of a bank, banks 2^28 bytes. A slot of a feature \
                   map is one pixel of 64 channels. Instructions with `@` set registers, which keep their \
                   values; the others work on buffers and memory.";

fn rows() -> Vec<InstructionSpec> {
    let mut rows = vec![row("end", 0, "Stops.").with_form("end", Vec::new())];
    rows.extend([
        addressed("ld.ifm", 1, "Loads the ifm buffer: ifm_h rows of ifm_w slots, ifm_mem_w slots apart."),
        addressed("ld.ker", 2, "Loads the ker buffer: ker_n slices of ofm_c x ifm_c, densely packed."),
        addressed("ld.bias", 3, "Loads the bias buffer: ofm_c values."),
        conv("conv", 4, "Multiplies the ifm by a slice of the kernel: new partial sums."),
        conv(
            "conv.bias",
            5,
            "Multiplies the ifm by a slice of the kernel and adds the bias: new partial sums.",
        ),
        conv("conv.acc", 6, "Multiplies the ifm by a slice of the kernel and adds to the partial sums."),
        addressed("store", 7, "Casts the partial sums, post-processes them and writes them."),
        pad(),
        shape("@shape.ifm", 16, "Sets the shape of the ifm buffer; ifm and ker become invalid.", 4),
        shape(
            "@shape.ofm",
            17,
            "Sets the shape of the partial sums; ofm and ker become invalid, bias when the channels change.",
            1,
        ),
    ]);
    rows.push(
        row("@shape.ker", 18, "Sets the number of slices of the ker buffer, which becomes invalid.")
            .with_field("n", BitRange::new(6, 6), between(1, 36), "slices")
            .with_form("@shape.ker {n}", Vec::new()),
    );
    rows.extend(memories());
    rows.extend([stride(), shift(), post(), pool()]);
    rows
}

fn row(name: &str, opcode: u64, meaning: &str) -> InstructionSpec {
    InstructionSpec::new(name, WORD_BYTES, meaning).with_pattern("opcode", BitRange::new(0, 6), opcode)
}

const fn between(min: u64, max: u64) -> FieldKind {
    FieldKind::Number { min, max, bias: 0, radix: Radix::Decimal }
}

fn addressed(name: &str, opcode: u64, meaning: &str) -> InstructionSpec {
    row(name, opcode, meaning)
        .with_field("addr", BitRange::new(6, 22), between(0, (1 << 22) - 1), "address in units of 64 bytes")
        .with_form(&format!("{name} {{addr}}"), Vec::new())
}

fn conv(name: &str, opcode: u64, meaning: &str) -> InstructionSpec {
    row(name, opcode, meaning)
        .with_field("h", BitRange::new(6, 4), between(0, 15), "first row of the ifm")
        .with_field("w", BitRange::new(10, 4), between(0, 15), "first column of the ifm")
        .with_field("n", BitRange::new(14, 6), between(0, 63), "slice of the kernel, below ker_n")
        .with_form(&format!("{name} ifm:[{{h}},{{w}}], ker:{{n}}"), Vec::new())
}

fn pad() -> InstructionSpec {
    row("pad", 8, "Clears the border of a plane of ofm_mem_h rows of ofm_mem_w slots.")
        .with_field("addr", BitRange::new(6, 22), between(0, (1 << 22) - 1), "address in units of 64 bytes")
        .with_field("p", BitRange::new(28, 4), between(0, 15), "slots on each side")
        .with_form("pad {addr}, {p}", Vec::new())
}

fn shape(name: &str, opcode: u64, meaning: &str, least_log2: u32) -> InstructionSpec {
    row(name, opcode, meaning)
        .with_doc("At most 2048 pixels: h * w <= 2048.")
        .with_field("h", BitRange::new(6, 7), between(1, 127), "rows")
        .with_field("w", BitRange::new(13, 7), between(1, 127), "columns")
        .with_field("c", BitRange::new(20, 7), FieldKind::Power { min: least_log2, max: 6 }, "channels")
        .with_limit(&["h", "w"], 2048)
        .with_form(&format!("{name} [{{h}},{{w}},{{c}}]"), Vec::new())
}

fn memories() -> Vec<InstructionSpec> {
    let bank = |name, opcode, meaning| {
        row(name, opcode, meaning).with_field(
            "addr",
            BitRange::new(6, 4),
            between(0, 15),
            "bank of 2^28 bytes",
        )
    };
    vec![
        bank("@mem.ifm", 19, "Sets where ifm tiles come from.")
            .with_field("w", BitRange::new(10, 10), between(1, 1023), "slots from row to row")
            .with_form("@mem.ifm {addr}, {w}", Vec::new()),
        bank("@mem.ker", 20, "Sets where kernels come from.").with_form("@mem.ker {addr}", Vec::new()),
        bank("@mem.bias", 21, "Sets where biases come from.").with_form("@mem.bias {addr}", Vec::new()),
        bank("@mem.ofm", 22, "Sets where results go to.")
            .with_field("h", BitRange::new(10, 10), between(1, 1023), "rows of a plane")
            .with_field("w", BitRange::new(20, 10), between(1, 1023), "slots from row to row")
            .with_form("@mem.ofm {addr}, [{h},{w}]", Vec::new()),
    ]
}

fn stride() -> InstructionSpec {
    row("@stride", 23, "Sets the steps of convolutions.")
        .with_field("h", BitRange::new(6, 3), between(1, 7), "rows")
        .with_field("w", BitRange::new(9, 3), between(1, 7), "columns")
        .with_form("@stride [{h},{w}]", Vec::new())
}

fn shift() -> InstructionSpec {
    let exponent = || FieldKind::Signed { min: -128, max: 127 };
    row("@shift", 24, "Sets the powers of two that sums of products and biases are multiplied by.")
        .with_field("f", BitRange::new(6, 8), exponent(), "exponent for sums of products")
        .with_field("b", BitRange::new(14, 8), exponent(), "exponent for the bias")
        .with_form("@shift {f}, {b}", Vec::new())
}

fn post() -> InstructionSpec {
    let row = row("@post", 25, "Sets what `store` does, in order; windows come from `@pool`.")
        .with_field(
            "act",
            BitRange::new(6, 2),
            between(0, 2),
            "activation: none, ReLU, leaky ReLU with slope 1/8",
        )
        .with_field("order", BitRange::new(8, 2), between(0, 2), "act-res-pool, res-act-pool, act-pool-res")
        .with_field("res", BitRange::new(10, 1), between(0, 1), "whether the ifm buffer is added");
    Post::ALL.into_iter().fold(row, |row, post| {
        let is = |field: &str, value| When::Is(field.to_owned(), value);
        let when =
            vec![is("act", post.act as u64), is("order", post.order as u64), is("res", u64::from(post.res))];
        row.with_form(&format!("@post {}", steps(post)), when)
    })
}

/// The steps of a form in order.
fn steps(post: Post) -> String {
    let act = match post.act {
        Activation::None => None,
        Activation::Relu => Some("act.relu"),
        Activation::Leaky => Some("act.leaky"),
    };
    let res = post.res.then_some("res");
    let steps = match post.order {
        Order::ActResPool => [act, res, Some("pool")],
        Order::ResActPool => [res, act, Some("pool")],
        Order::ActPoolRes => [act, Some("pool"), res],
    };
    steps.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn pool() -> InstructionSpec {
    row("@pool", 26, "Sets the window of max pooling and its steps.")
        .with_field("h", BitRange::new(6, 4), between(1, 15), "rows of the window")
        .with_field("w", BitRange::new(10, 4), between(1, 15), "columns of the window")
        .with_field("i", BitRange::new(14, 3), between(1, 7), "rows from window to window")
        .with_field("j", BitRange::new(17, 3), between(1, 7), "columns from window to window")
        .with_form("@pool [{h},{w}], [{i},{j}]", Vec::new())
}
