//! Reads of unwritten data, and other findings of the lint.

use npukit_graph::{Graph, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use npukit_pccx::internals::artifact::write;
use npukit_pccx::internals::check::{Filled, Missing, unwritten, unwritten_in_words, word_findings};
use npukit_pccx::internals::codec::encode_program;
use npukit_pccx::internals::host::{Host, HostStep};
use npukit_pccx::internals::lower::{Executable, Options, Weights, compile};
use npukit_pccx::internals::op::{
    Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape,
};
use npukit_pccx::{Codec, Config, Machine, PCCX, Program, decode_program};
use npukit_target::{
    Compiled, HazardMode, InstanceSpec, ReadError, RunOptions, Severity, TargetError, TimeOptions,
    UninitMemory,
};
use proptest::prelude::*;

use crate::net::Net;
use crate::twice::run_compiled;

fn words(text: &str) -> Vec<u8> {
    PCCX.instance(InstanceSpec::Preset("extended"))
        .unwrap()
        .assemble("test.s", text, &npukit_target::NoFiles)
        .unwrap()
        .bytes
}

/// Returns the unwritten data that the words of a text use.
fn missing(text: &str) -> Vec<String> {
    let codec = Codec { extensions: true, strict: true };
    let ops = decode_program(&codec, &words(text)).unwrap();
    let all = unwritten_in_words(64, &ops, &Filled::default());
    all.iter().map(|found| format!("{}: {found}", found.index.unwrap())).collect()
}

const SHAPES: &str = "memset cache=fmap, idx=0, a=1, b=1, c=12\nmemset cache=weight, idx=0, a=0, b=3, c=12\n";

#[test]
fn each_use_of_what_is_not_written_is_told() {
    let load = "memcpy host->l2, dst=8, src=0, shape=0\n";
    let after = |text: &str| missing(&format!("{SHAPES}{load}{text}"));
    assert_eq!(after("gemv dst=0, src=8, size=0, shape=0, flags=findemax"), Vec::<String>::new());
    assert_eq!(
        after("gemv dst=0, src=9, size=0, shape=0"),
        ["3: reads lane 0 of L2 word 0xa, which nothing before has written"]
    );
    assert_eq!(
        after("gemv dst=0, src=8, size=0, shape=0, flags=accm"),
        ["3: reads lane 0 of L2 word 0x0, which nothing before has written"]
    );
    // The host sends whole words. A product does not write the rest of its last word.
    assert!(after("cvo exp, src=8, dst=8, len=16").is_empty());
    assert_eq!(
        after("gemv dst=0, src=8, size=0, shape=0\ncvo exp, src=0, dst=0, len=4"),
        ["4: reads lane 3 of L2 word 0x0, which nothing before has written"]
    );
    assert_eq!(
        after("cvo exp, src=8, dst=0, len=9, flags=sub_emax"),
        ["3: subtracts the maximum, e_max, which no product with `findemax` before has written"]
    );
    assert_eq!(
        after("cvo scale, src=7, dst=20, len=8\ncvo mul, src=8, dst=20, len=9"),
        [
            "3: reads lane 0 of L2 word 0x7, which nothing before has written",
            "4: reads lane 0 of L2 word 0x15, which nothing before has written"
        ]
    );
    assert_eq!(
        missing("memcpy l2->host, dst=0, src=8, shape=5"),
        ["0: takes entry 5 of FMAP_SHAPE, which no MEMSET before has written"]
    );
    // A copy of unwritten data is also unwritten, but copying is not a use.
    assert_eq!(
        after(
            "memcpy l2->l2, dst=30, src=9, shape=0\nmemcpy l2->host, src=30, dst=0, shape=0\ncvo exp, src=30, dst=0, len=9"
        ),
        ["5: reads lane 0 of L2 word 0x1f, which nothing before has written"]
    );
}

/// Returns a product of two rows, added to a constant.
fn compiled() -> (Executable, Config) {
    let config = Config::preset("reference").unwrap();
    let mut net = Net::new();
    let (x, weights, bias) = (net.input(&[1, 16]), net.weights(16, 8), net.random(&[1, 8]));
    let weights = net.graph.constant(weights).unwrap().as_f32().unwrap().to_vec();
    let weights = net.constant(&[16, 8], weights);
    let y = net.op(npukit_graph::op::MatMul, &[x, weights]);
    let y = net.binary(npukit_graph::op::BinaryKind::Add, y, bias);
    net.graph.outputs = vec![y];
    (compile(&config, &net.graph, &Options::of(&config), &mut Weights::default()).unwrap(), config)
}

/// Each host step and each transfer is needed: without it there is a finding.
#[test]
fn programs_without_one_of_their_transfers_are_found() {
    let (Executable { program, host }, config) = compiled();
    assert_eq!(unwritten(config.l2_words, &program, &host), []);
    for index in 0..program.host_ops.len() {
        let mut less = program.clone();
        // The replacement computes a missing node, so the number of steps and all positions stay
        // the same.
        less.host_ops[index] = HostStep::Compute { node: 99 }.encode(less.host_ops[index].position);
        assert!(!unwritten(config.l2_words, &less, &host).is_empty(), "{:?}", program.host_ops[index]);
    }
    for (index, op) in program.code.iter().enumerate() {
        let mut less = program.clone();
        less.code[index] = Op::Kick;
        if matches!(op, Op::Memcpy(_) | Op::Memset(_)) {
            assert!(!unwritten(config.l2_words, &less, &host).is_empty(), "{op:?}");
        }
    }
}

fn load(program: &Program, host: &Host) -> Box<dyn Compiled> {
    let mut program = program.clone();
    program.extras.extend(host.sections());
    let bytes = write(&program).unwrap();
    let files = |path: &str| match path {
        "a.pcp" => Ok(bytes.clone()),
        path => Err(ReadError::Absent { path: path.to_owned() }),
    };
    PCCX.load("a.pcp", &files).unwrap()
}

/// Programs that differ on hardware are refused unless sequential execution is requested; poison is
/// a fault with its place.
#[test]
fn runs_and_times_are_refused_where_hardware_may_differ() {
    let (Executable { mut program, host }, _) = compiled();
    let inputs = vec![("x0".to_owned(), Tensor::from_f32(vec![1, 16], vec![0.5; 16]).unwrap())];
    let sound = load(&program, &host);
    let expected = run_compiled(&*sound, &inputs);
    assert_eq!(sound.lint().unwrap(), []);
    // After the change, the first transfer does not wait for the product that reads it.
    for op in &mut program.code {
        if let Op::Memcpy(memcpy) = op {
            memcpy.is_async = true;
        }
    }
    let broken = load(&program, &host);
    let found = broken.lint().unwrap();
    assert!(found.iter().all(|found| found.code == "unfenced-access" && found.severity == Severity::Error));
    assert!(found[0].layer.is_some() && found[0].message.contains("which the async MEMCPY of instruction"));
    for meaning in [HazardMode::Agreed, HazardMode::Hardware] {
        let options = RunOptions { meaning, ..RunOptions::default() };
        assert!(matches!(broken.run_with(&inputs, &options), Err(TargetError::Differs(all)) if all == found));
        let options = TimeOptions { meaning, ..TimeOptions::default() };
        assert!(matches!(broken.time(&options), Err(TargetError::Differs(_))));
    }
    let sequential = RunOptions { meaning: HazardMode::Sequential, ..RunOptions::default() };
    assert_eq!(broken.run_with(&inputs, &sequential).unwrap(), expected);
    let options = TimeOptions { meaning: HazardMode::Sequential, ..TimeOptions::default() };
    assert!(broken.time(&options).is_ok());
}

#[test]
fn poison_is_a_fault_that_names_its_place() {
    let (Executable { mut program, host }, _) = compiled();
    let inputs = vec![("x0".to_owned(), Tensor::from_f32(vec![1, 16], vec![0.5; 16]).unwrap())];
    let first = program.code.iter().position(|op| matches!(op, Op::Memcpy(_))).unwrap();
    program.code[first] = Op::Kick;
    let broken = load(&program, &host);
    let options = RunOptions { meaning: HazardMode::Sequential, ..RunOptions::default() };
    assert!(broken.run_with(&inputs, &options).is_ok(), "zeros and the sequence");
    let error = broken
        .run_with(&inputs, &RunOptions { unset: UninitMemory::Poison, ..options })
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("instruction ") && error.contains(" (layer `") && error.contains(" of L2 word 0x"),
        "{error}"
    );
    // The results depend on garbage, so they differ for different garbage.
    let on = |seed| {
        broken.run_with(&inputs, &RunOptions { unset: UninitMemory::Garbage(seed), ..options }).unwrap()
    };
    assert_ne!(on(1), on(2));
}

#[test]
fn lint_of_words_has_a_code_for_everything() {
    let config = Config::preset("reference").unwrap();
    let found = |bytes: &[u8]| -> Vec<(&str, Severity, Option<usize>)> {
        let all = word_findings(&config, bytes).unwrap();
        all.iter().map(|found| (found.code, found.severity, found.instruction)).collect()
    };
    let (error, warning) = (Severity::Error, Severity::Warning);
    let text = format!(
        "{SHAPES}memcpy host->l2, dst=8, src=0, shape=0, async\ngemv dst=0, src=8, size=0, shape=0, lanes=9\n\
         cvo exp, src=0, dst=0, len=2049, flags=recip_scale\ncvo exp, src=0, dst=0, len=3, flags=recip_scale\n"
    );
    assert_eq!(
        found(&words(&text)),
        [
            ("too-many-lanes", warning, Some(3)),
            ("unfenced-access", error, Some(3)),
            ("long-function", error, Some(4)),
            ("unfenced-access", error, Some(4)),
            ("unwritten-l2", warning, Some(4)),
            ("ignored-flag", warning, Some(5)),
        ]
    );
    let raw =
        [0x5000_0000_0000_0000_u64, 0x3000_8000_0010_0011, 0x3800_0000_0000_0000, 0x4F00_0000_0000_0040];
    let bytes: Vec<u8> = raw.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(
        found(&bytes),
        [
            ("reserved-opcode", error, Some(0)),
            ("reserved-bits", error, Some(1)),
            ("reserved-dest-cache", error, Some(2)),
            ("reserved-cvo-func", error, Some(3)),
        ]
    );
    let instance = PCCX.instance(InstanceSpec::Default).unwrap();
    assert_eq!(instance.lint("a.bin", &bytes, None).unwrap().len(), 4);
    let short = instance.lint("a.bin", &bytes[..5], None).unwrap_err().to_string();
    assert!(short.contains("a.bin: only 5 of the 8 bytes of an instruction are left"), "{short}");
}

fn any_op() -> impl Strategy<Value = Op> {
    let functions = vec![CvoFunc::Exp, CvoFunc::Scale, CvoFunc::ReduceSum, CvoFunc::Mul];
    let place = || 0_u32..12;
    prop_oneof![
        (place(), place(), 0_u8..4).prop_map(|(src_addr, dest_addr, way)| {
            let device = |host| if host { Device::Host } else { Device::Npu };
            let (from_device, to_device) = (device(way < 2), device(way == 2));
            let src_addr = if way < 2 { 0 } else { src_addr };
            let memcpy = Memcpy { from_device, to_device, src_addr, dest_addr, ..Memcpy::default() };
            Op::Memcpy(if way == 2 { Memcpy { dest_addr: 0, ..memcpy } } else { memcpy })
        }),
        (place(), place(), 1_u16..20, prop::sample::select(functions), any::<[bool; 2]>()).prop_map(
            |(src_addr, dst_addr, length, cvo_func, [accm, sub_emax])| {
                let flags = CvoFlags { accm, sub_emax, ..CvoFlags::PLAIN };
                Op::Cvo(Cvo { cvo_func, src_addr, dst_addr, length, flags, ..Cvo::default() })
            }
        ),
        (place(), place(), any::<[bool; 2]>()).prop_map(|(src_addr, dest_reg, [findemax, accm])| {
            let flags = MacFlags { findemax, accm, w_scale: false };
            Op::Gemv(Mac { src_addr, dest_reg, flags, size_ptr_addr: 0, shape_ptr_addr: 0, parallel_lane: 0 })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    /// Without findings, two machines with different garbage agree on all used data.
    #[test]
    fn what_is_not_found_does_not_matter(ops in prop::collection::vec(any_op(), 1..12)) {
        let config = Config { l2_words: 32, ..Config::preset("extended").unwrap() };
        let shape = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
        let mut all = vec![
            shape(Cache::FmapShape, Shape::new(1, 1, 12)),
            shape(Cache::WeightShape, Shape::new(0, 5, 12)),
        ];
        // These loads ensure that most of the data that programs use exists.
        let load = |dest_addr| Op::Memcpy(Memcpy { from_device: Device::Host, dest_addr, ..Memcpy::default() });
        all.extend([0, 2, 4, 6].map(load));
        all.extend(ops);
        // The program's last result is what the user sees.
        let seen = match all.last() {
            Some(Op::Cvo(cvo)) if cvo.cvo_func == CvoFunc::ReduceSum => Some((cvo.dst_addr, 1)),
            Some(Op::Cvo(cvo)) => Some((cvo.dst_addr, usize::from(cvo.length))),
            Some(Op::Gemv(mac)) => Some((mac.dest_reg, 5)),
            _ => None,
        };
        let Some((word, values)) = seen else { return Ok(()) };
        let found = unwritten_in_words(config.l2_words, &all, &Filled::default());
        if !found.is_empty() {
            return Ok(());
        }
        let on = |seed| {
            let mut machine = Machine::with(&config, UninitMemory::Garbage(seed)).unwrap();
            let image = npukit_pccx::WeightImage::new(5, 12, &[3; 60], None).unwrap();
            (0..all.len()).for_each(|_| machine.bind_weights(image.clone().into()));
            let host: Vec<u8> = (0..64).map(|byte| byte % 61).collect();
            machine.bind_window(npukit_pccx::Direction::HostToL2, 0, host).unwrap();
            machine.bind_window(npukit_pccx::Direction::L2ToHost, 0, vec![0; 64]).unwrap();
            machine.run(&all, &mut |_| ()).unwrap();
            machine.read_l2(word, values).unwrap().to_vec()
        };
        prop_assert_eq!(on(1), on(2), "{:?}", all);
    }
}

/// References of a damaged or hostile program are checked.
#[test]
fn places_that_are_not_there_are_no_panic() {
    let graph = {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: vec![1 << 40, 1 << 20], element: ElementType::F32 };
        let x = graph.add_input("x", info);
        graph.outputs = vec![x];
        graph
    };
    let host = Host { graph, ..Host::default() };
    let far = Memcpy { dest_addr: (1 << 17) - 1, src_addr: 9, aux_addr: (1 << 17) - 1, ..Memcpy::default() };
    let large = Memset { dest_cache: Cache::FmapShape, dest_addr: 0, shape: Shape::new(!0, !0, !0) };
    let weights = Memset { dest_cache: Cache::WeightShape, ..large };
    let mac = Mac { dest_reg: 1 << 16, src_addr: 1 << 16, ..Mac::default() };
    let code = vec![Op::Memset(large), Op::Memset(weights), Op::Memcpy(far), Op::Gemm(mac)];
    let id = npukit_graph::ValueId(0);
    let steps = [
        HostStep::Send { slot: id, window: 5, unit: u32::MAX },
        HostStep::Receive { slot: id, window: 5, unit: 3 },
        HostStep::Weigh { slot: npukit_graph::ValueId(77), start: u32::MAX, scales: id },
    ];
    let host_ops = steps.iter().map(|step| step.encode(4)).collect();
    let program = Program { code: code.clone(), host_ops, ..Program::default() };
    let found = unwritten(8, &program, &host);
    assert!(found.iter().any(|found| matches!(found.missing, Missing::Slot { .. })), "{found:?}");
    let codec = Codec { extensions: false, strict: true };
    let config = Config::preset("reference").unwrap();
    assert!(word_findings(&config, &encode_program(&codec, &code).unwrap()).is_ok());
}
