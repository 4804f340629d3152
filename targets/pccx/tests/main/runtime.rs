//! Single host operations: their effect on windows, slots and weights, and their errors.

use npukit_graph::{Value, ValueInfo};
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_pccx::internals::fault::Direction;
use npukit_pccx::internals::host::Host;
use npukit_pccx::internals::op::{Cache, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape};
use npukit_pccx::internals::program::{HostOp, Window};
use npukit_pccx::internals::runtime::run;
use npukit_pccx::{Config, Program, WeightImage};

/// Kinds of operations in the container.
const RECEIVE: u32 = 0;
const SEND: u32 = 1;
const COMPUTE: u32 = 2;
const KEYS: u32 = 3;
const VALUES: u32 = 4;
const WEIGH: u32 = 5;
const SQUARES: u32 = 7;
const SCALES: u32 = 8;
const WEIGHTS: u32 = 9;
const PATCHES: u32 = 10;
const PART: u32 = 11;

fn op(kind: u32, operands: &[u32]) -> HostOp {
    HostOp { position: 0, kind, operands: operands.to_vec() }
}

/// Returns a host with these slots: 0 `x`, an input of `[2, 3]`; 1 `empty` of `[8]`, never filled;
/// 2 `whole`, an input of two integers; 3 `scales` of `[2]`; 4 `far`, an input of `[1, 2]`, with
/// infinities.
fn host() -> Host {
    let mut host = Host::default();
    let info = |shape: &[usize], element| ValueInfo { shape: shape.to_vec(), element };
    let inputs = [
        host.graph.add_input("x", info(&[2, 3], ElementType::F32)),
        {
            let info = info(&[8], ElementType::F32);
            host.graph.add_value(Value { name: "empty".to_owned(), info, constant: None })
        },
        host.graph.add_input("whole", info(&[2], ElementType::I64)),
        {
            let info = info(&[2], ElementType::F32);
            host.graph.add_value(Value { name: "scales".to_owned(), info, constant: None })
        },
        host.graph.add_input("far", info(&[1, 2], ElementType::F32)),
    ];
    assert_eq!(inputs.map(|id| id.0), [0, 1, 2, 3, 4]);
    host
}

fn inputs() -> [Tensor; 3] {
    let floats = |shape: &[usize], values| Tensor::from_f32(shape.to_vec(), values).unwrap();
    [
        floats(&[2, 3], vec![7.0, 1.0, -2.0, 3.0, 14.0, -21.0]),
        Tensor::new(vec![2], TensorData::I64(vec![3, 4])).unwrap(),
        floats(&[1, 2], vec![f32::INFINITY, 1.0]),
    ]
}

fn window(direction: Direction, units: u64) -> Window {
    Window { number: 0, direction, size_bytes: 16 * units, name: String::new() }
}

#[test]
fn operations_that_cannot_be_done_are_named() {
    let refused = |host_op: HostOp| {
        let windows = vec![window(Direction::HostToL2, 2), window(Direction::L2ToHost, 2)];
        let program = Program { windows, host_ops: vec![host_op], ..Program::default() };
        let config = Config::preset("reference").unwrap();
        run(&config, &program, &host(), &inputs()).unwrap_err().to_string()
    };
    let one = 1.0_f32.to_bits();
    for (host_op, expected) in [
        (op(15, &[]), "host operation 0 is of kind 15: legal are 0 to 14"),
        (
            op(12, &[]),
            "host operation 0 of kind 12 has 0 operands; it needs a slot, a row, a cache, a number, 0 or 1, \
             4 or 8 bits, and a window",
        ),
        (
            op(12, &[0, 2, 0, 1, 0, 8, 0]),
            "host operation 0: slot `x` is [2, 3] float32; the step needs row 2 with 1 vectors",
        ),
        (
            op(13, &[7, 0, 0, one]),
            "host operation 0: cache 7 is empty; the step needs earlier tokens: run the programs of the text in order",
        ),
        (op(SEND, &[1]), "host operation 0 of kind 1 has 1 operands; it needs a slot, a window and a unit"),
        (op(COMPUTE, &[]), "host operation 0 of kind 2 has 0 operands; it needs a node"),
        (op(KEYS, &[0, 0, 0]), "host operation 0 of kind 3 has 3 operands; it needs at least four"),
        (op(KEYS, &[0, 0, 0, one, 0]), "host operation 0 of kind 3 has 5 operands; it needs an even number"),
        (
            op(VALUES, &[0, 0, 0, 3, 2, 1]),
            "host operation 0 takes tokens 2 to 1: a range must end after its start",
        ),
        (
            op(WEIGH, &[0]),
            "host operation 0 of kind 5 has 1 operands; it needs a slot, an element and a slot of scales",
        ),
        (
            op(SQUARES, &[0, 0, 0, 1]),
            "host operation 0 of kind 7 has 4 operands; it needs a slot, the values of a row, 0 or 1, and a slot of sums",
        ),
        (op(SQUARES, &[2, 1, 0, 1]), "host operation 0: slot `whole` is [2] int64; the step needs floats"),
        (op(SCALES, &[0, 0, 0]), "host operation 0 refers to image 0, but there are 0"),
        (op(WEIGHTS, &[7, 0, 0]), "host operation 0 refers to image 7, but there are 0"),
        (op(PATCHES, &[0; 12]), "host operation 0: slot `x` is [2, 3] float32; the step needs images"),
        (
            op(PART, &[0, 5, 2, 0, 0]),
            "host operation 0: slot `x` is [2, 3] float32; the step needs more elements",
        ),
        (op(RECEIVE, &[5, 0, 0]), "host operation 0 refers to slot 5, but there are 5"),
        (op(SEND, &[5, 0, 0]), "host operation 0 refers to slot 5, but there are 5"),
        (op(COMPUTE, &[0]), "host operation 0 refers to node 0, but there are 0"),
        (op(SEND, &[1, 0, 0]), "host operation 0 uses slot `empty`, which no earlier step fills"),
        (op(SEND, &[2, 0, 0]), "host operation 0: slot `whole` is [2] int64; the step needs floats"),
        (
            op(SEND, &[0, 0, 2]),
            "host operation 0: 12 bytes at unit 2 end beyond window 0 from the host to L2",
        ),
        (
            op(SEND, &[0, 7, 0]),
            "host operation 0: 12 bytes at unit 0 end beyond window 7 from the host to L2",
        ),
        (
            op(RECEIVE, &[1, 0, 2]),
            "host operation 0: 16 bytes at unit 2 end beyond window 0 from L2 to the host",
        ),
        (
            op(RECEIVE, &[1, 1, 0]),
            "host operation 0: 16 bytes at unit 0 end beyond window 1 from L2 to the host",
        ),
        (op(RECEIVE, &[2, 0, 0]), "host operation 0: slot `whole` is [2] int64; the step needs 2 floats"),
        (op(WEIGH, &[0, 1, 0]), "host operation 0: slot `x` is [2, 3] float32; the step needs more elements"),
        (op(WEIGH, &[2, 0, 0]), "host operation 0: slot `whole` is [2] int64; the step needs floats"),
        (
            op(KEYS, &[2, 0, 0, one, 0, 1]),
            "host operation 0: slot `whole` is [2] int64; the step needs matrices",
        ),
        (
            op(KEYS, &[0, 1, 0, one, 0, 1]),
            "host operation 0: slot `x` is [2, 3] float32; the step needs more matrices",
        ),
        (
            op(KEYS, &[0, 0, 0, one, 0, 4]),
            "host operation 0: slot `x` is [2, 3] float32; the step needs more tokens",
        ),
        (
            op(VALUES, &[0, 0, 0, 3, 0, 3]),
            "host operation 0: slot `x` is [2, 3] float32; the step needs more tokens",
        ),
        (
            op(VALUES, &[0, 0, 0, 3, 0, 1]),
            "host operation 0: slot `scales` is [2] float32; the step needs 1 floats",
        ),
        (op(KEYS, &[0, 0, 0, one]), "host operation 0: N of the weights is 0: legal are 1 to 65535"),
    ] {
        assert_eq!(refused(host_op.clone()), expected, "{host_op:?}");
    }
    let infinite = refused(op(KEYS, &[4, 0, 0, one, 0, 1]));
    assert!(infinite.starts_with("host operation 0: slot `far`: "), "{infinite}");
}

/// Tokens 0 and 2 of keys `[2, 3]` are (7, 3) and (-2, -21): scales 1 and 3, codes (7, 3) and (-1,
/// -7). Both rows of values are tokens of three features.
#[test]
fn keys_are_rows_of_tokens_and_values_rows_of_features() {
    let set = |dest_cache, dest_addr, z, y| {
        let x = if dest_cache == Cache::FmapShape { 1 } else { 0 };
        Op::Memset(Memset { dest_cache, dest_addr, shape: Shape::new(x, y, z) })
    };
    let scaled = MacFlags { w_scale: true, ..MacFlags::default() };
    let product = |shape_ptr_addr, size_ptr_addr, dest_reg, flags| {
        Op::Gemv(Mac { dest_reg, src_addr: 0, flags, size_ptr_addr, shape_ptr_addr, parallel_lane: 0 })
    };
    let move_out = |src_addr, aux_addr| {
        let to_device = Device::Host;
        Op::Memcpy(Memcpy { to_device, src_addr, aux_addr, shape_ptr_addr: 1, ..Memcpy::default() })
    };
    let code = vec![
        set(Cache::FmapShape, 0, 2, 1),
        set(Cache::FmapShape, 1, 3, 1),
        set(Cache::WeightShape, 0, 2, 2),
        set(Cache::WeightShape, 1, 2, 3),
        Op::Memcpy(Memcpy { from_device: Device::Host, ..Memcpy::default() }),
        product(0, 0, 4, scaled),
        product(0, 1, 5, MacFlags::default()),
        move_out(4, 0),
        move_out(5, 1),
    ];
    let at = |position: u32, kind, operands: &[u32]| HostOp { position, kind, operands: operands.to_vec() };
    let mut host = host();
    let slots = ["keys", "values"].map(|name| {
        let info = ValueInfo { shape: vec![8], element: ElementType::F32 };
        host.graph.add_value(Value { name: name.to_owned(), info, constant: None })
    });
    let activations = Tensor::from_f32(vec![2], vec![64.0, 32.0]).unwrap();
    let activations = host.graph.add_constant("activations", activations);
    let scales = host.graph.values.iter().position(|value| value.name == "scales").unwrap() as u32;
    host.graph.outputs = slots.into_iter().chain([npukit_graph::ValueId(scales)]).collect();
    let nothing =
        |n, k, scales| std::sync::Arc::new(WeightImage::new(n, k, &vec![0; n * k], scales).unwrap());
    let program = Program {
        code,
        bindings: vec![0, 1],
        images: vec![nothing(2, 2, Some(vec![0.0; 2])), nothing(3, 2, None)],
        windows: vec![window(Direction::HostToL2, 2), window(Direction::L2ToHost, 2)],
        host_ops: vec![
            at(0, SEND, &[activations.0, 0, 0]),
            at(0, KEYS, &[0, 0, 0, 0.5_f32.to_bits(), 0, 1, 2, 3]),
            at(0, VALUES, &[0, 0, 1, scales, 0, 2]),
            at(9, RECEIVE, &[slots[0].0, 0, 0]),
            at(9, RECEIVE, &[slots[1].0, 0, 1]),
        ],
        ..Program::default()
    };
    program.check().unwrap();
    let results = run(&Config::preset("reference").unwrap(), &program, &host, &inputs()).unwrap();
    let found: Vec<&[f32]> = results.iter().map(|tensor| tensor.as_f32().unwrap()).collect();
    // 64 and 32 are 64 and 32 times 1. Half of 7 * 64 + 3 * 32, and half of 3 (-64 - 7 * 32).
    assert_eq!(found[0][..2], [272.0, -432.0]);
    // The tokens (7, 1, -2) and (3, 14, -21) are quantized with scales 1 and 3 to the codes (7, 1,
    // -2) and (1, 5, -7).
    assert_eq!(found[1][..3], [7.0 * 64.0 + 32.0, 64.0 + 5.0 * 32.0, -2.0 * 64.0 - 7.0 * 32.0]);
    assert_eq!(found[2], [1.0, 3.0]);
}
