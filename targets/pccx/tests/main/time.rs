//! Time: a decoder of the size of Gemma 3N E4B, compared with the bounds of specification 6.2, and
//! reports.

use npukit_pccx::internals::artifact::write;
use npukit_pccx::internals::clock::{Timeline, run, run_with_host};
use npukit_pccx::internals::op::{Cache, Cvo, CvoFunc, Device, Mac, Memcpy, Memset, Op, Shape};
use npukit_pccx::internals::pccx_lab;
use npukit_pccx::internals::report::{lab_container, limits, report};
use npukit_pccx::internals::trace::Container;
use npukit_pccx::{Config, PCCX, Program};
use npukit_target::{ReadError, TargetError, TimeForm, TimeOptions};

/// Size (N, K) and number of the products of a layer (specification 5.1).
const LAYER: [(u16, u16, usize); 8] = [
    (2048, 2048, 2),  // query, output
    (16384, 2048, 2), // gate, up
    (2048, 16384, 1), // down
    (64, 2048, 1),    // LAuReL
    (2048, 64, 1),
    (256, 2048, 1), // per-layer gate
    (512, 2048, 0), // key and value: only in layers that own a cache
    (2048, 256, 0),
];

fn product(ops: &mut Vec<Op>, n: u16, k: u16) {
    for (dest_cache, shape) in
        [(Cache::FmapShape, Shape::new(1, 1, k)), (Cache::WeightShape, Shape::new(0, n, k))]
    {
        ops.push(Op::Memset(Memset { dest_cache, dest_addr: 0, shape }));
    }
    ops.push(Op::Gemv(Mac { src_addr: 0, dest_reg: 0x8000, ..Mac::default() }));
}

/// Returns the products of one token; the vocabulary's product is split into parts that fit an
/// entry.
fn token() -> Vec<Op> {
    let mut ops = Vec::new();
    for layer in 0..35 {
        for (n, k, count) in LAYER {
            (0..count).for_each(|_| product(&mut ops, n, k));
        }
        if layer < 20 {
            (0..2).for_each(|_| product(&mut ops, 512, 2048));
        }
    }
    (0..8).for_each(|_| product(&mut ops, 32800, 2048));
    // The last product projects all per-layer inputs to 35 * 256 outputs.
    product(&mut ops, 8960, 2048);
    ops
}

fn tokens_per_second(config: &Config, timeline: &Timeline) -> f64 {
    1e3 / config.timing.milliseconds(timeline.cycles)
}

#[test]
fn a_large_decoder_is_as_fast_as_its_bound() {
    let ops = token();
    let timed = |change: fn(&mut Config)| {
        let mut config = Config::preset("reference").unwrap();
        change(&mut config);
        let timeline = run(&config, &ops);
        let bound = limits(&config, &timeline).into_iter().max_by_key(|limit| limit.cycles).unwrap();
        let of_bound = Timeline { cycles: bound.cycles, ..Timeline::default() };
        let (found, most) = (tokens_per_second(&config, &timeline), tokens_per_second(&config, &of_bound));
        assert!(found <= most && found > 0.95 * most, "{found} of at most {most} tokens/s by {}", bound.what);
        (bound.what, found)
    };
    let close = |found: f64, published: f64| {
        assert!((found / published - 1.0).abs() < 0.05, "{found} for {published}")
    };
    let (what, found) = timed(|_| ());
    assert_eq!(what, "weight ports of GEMV");
    close(found, 3.6);
    let (what, found) = timed(|config| config.timing.gemv.ports = 4);
    assert_eq!(what, "weight ports of GEMV");
    close(found, 7.2);
    let (what, found) = timed(|config| (config.timing.gemv.ports, config.timing.hp_bytes) = (4, 32));
    assert_eq!(what, "external memory");
    close(found, 8.6);
    let (what, found) = timed(|config| {
        (config.timing.gemv.ports, config.timing.hp_bytes, config.timing.ddr_gb_per_s) = (4, 32, 100.0);
    });
    assert_eq!(what, "vector core");
    close(found, 11.5);
}

#[test]
fn reports_add_up_and_traces_are_containers() {
    let (config, ops) = (Config::preset("reference").unwrap(), token());
    let timeline = run(&config, &ops);
    let report = report(&config, &ops, &timeline, &[], |_| 0);
    assert_eq!(report.kinds.iter().map(|kind| kind.cycles).sum::<u64>(), timeline.cycles);
    assert_eq!(report.instructions.iter().map(|one| one.cycles).sum::<u64>(), timeline.cycles);
    assert!(report.kinds.iter().any(|kind| kind.kind == "GEMV, bound by weights"));
    assert!(report.notes.iter().any(|note| note.contains("the weight ports of GEMV")), "{:?}", report.notes);
    assert!(report.roofline.distance.unwrap() < 1.05);
    let container = lab_container(&config, &ops, &timeline);
    let (again, warnings) = Container::read(&container.write()).unwrap();
    assert_eq!((again, warnings.len()), (container, 0));
    assert_eq!(pccx_lab::generate(0, 1).total_cycles, 474_540);
}

/// A program's trace in the format of the laboratory, byte by byte from specification 7.4.
#[test]
fn traces_of_the_laboratory_are_written_by_their_extension() {
    let program = Program { code: vec![Op::Kick, Op::Kick], ..Program::default() };
    let bytes = write(&program).unwrap();
    let files = |path: &str| match path {
        "two.pcp" => Ok(bytes.clone()),
        path => Err(ReadError::Absent { path: path.to_owned() }),
    };
    let compiled = PCCX.load("two.pcp", &files).unwrap();
    let trace_as = |extension| {
        let mut trace = Vec::new();
        let form = TimeForm::Trace(extension);
        compiled.write_time(form, &TimeOptions::default(), &mut trace).map(|()| trace)
    };
    assert!(matches!(trace_as("json"), Err(TargetError::Unsupported { .. })));
    let trace = trace_as("pccx").unwrap();
    assert_eq!(trace[..8], *b"PCCX\x01\x01\0\0");
    let (length, rest) = trace[8..].split_first_chunk().unwrap();
    let (header, payload) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: serde_json::Value = serde_json::from_slice(header).unwrap();
    let fnv = payload.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(header["payload"]["checksum_fnv64"], fnv);
    assert_eq!(header["payload"]["byte_length"], payload.len());
    assert_eq!(header["arch"]["mac_dims"], serde_json::json!([32, 64]));
    assert_eq!(header["arch"]["peak_tops"], 1.6384);
    let cycles = compiled.time(&TimeOptions::default()).unwrap().cycles["engine"];
    assert_eq!(header["trace"], serde_json::json!({"cycles": cycles, "cores": 1, "clock_mhz": 400}));
    // The payload has the number of cycles and of events. Each event has core, start, duration,
    // type and name of the call.
    assert_eq!(payload[..16], [cycles, 2].map(u64::to_le_bytes).concat());
    let event = 4 + 8 + 8 + (8 + "API_CALL".len()) + 1 + (8 + "kick".len());
    assert_eq!(payload.len(), 16 + 2 * event);
    assert_eq!(payload[16 + event - 4..][..4], *b"kick");
}

fn reference() -> Config {
    Config::preset("reference").unwrap()
}

/// Returns fmap[0] = (1, 1, k) and weight[0] = (0, n, k), followed by `ops`.
fn with_shapes(n: u16, k: u16, ops: &[Op]) -> Vec<Op> {
    let set = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
    let shapes = [set(Cache::FmapShape, Shape::new(1, 1, k)), set(Cache::WeightShape, Shape::new(0, n, k))];
    shapes.into_iter().chain(ops.iter().copied()).collect()
}

/// Rows of the table in specification 6.4 that are rates, or apply to all instructions.
#[test]
fn the_parameters_of_the_document() {
    let timing = reference().timing;
    assert_eq!((timing.core_mhz, timing.axi_mhz), (400.0, 250.0));
    assert_eq!([1, 2, 4].map(|ports| timing.weight_bytes_per_cycle(ports)), [10.0, 20.0, 40.0]);
    assert_eq!((timing.acp_bytes_per_cycle(), timing.ddr_bytes_per_cycle()), (10.0, 48.0));
    assert_eq!((timing.push_cycles(), timing.issue, timing.memset), (8.0 * 1.6, 2, 2));
    assert_eq!((timing.l2_latency, timing.load_descriptor), (8, 8));
    assert_eq!((timing.preprocess_elements, timing.preprocess_latency), (16, 3));
    let mut quick = reference();
    quick.timing.host_push = 0;
    let starts: Vec<u64> = run(&quick, &[Op::Kick; 4]).spans.iter().map(|span| span.start).collect();
    assert_eq!(starts, [0, 2, 4, 6]);
    let set = run(&reference(), &with_shapes(1, 1, &[])).spans[1];
    assert_eq!(set.end - set.start, 2);
}

/// Eight elements: 16 cycles to read a word, 8 of input stages, the function, 8 to drain, 1 to
/// write a word.
#[test]
fn every_function_by_the_documents_latency() {
    let latencies = [6, 3, 19, 17, 17, 0, 6, 10];
    for (func, latency) in CvoFunc::ALL.into_iter().zip(latencies) {
        let span =
            run(&reference(), &[Op::Cvo(Cvo { cvo_func: func, length: 8, ..Cvo::default() })]).spans[0];
        let (read, drained) = if func == CvoFunc::ReduceSum { (5 * 8, 1) } else { (16, 8) };
        assert_eq!(span.end - span.start, read + 8 + latency + drained + 1, "{}", func.name());
    }
}

#[test]
fn weights_come_ahead_as_far_as_the_ports_hold_them() {
    // 16 * 256 + 8 + 6 + 2048 + 256 = 6414 cycles; the ports need 6553.6 for 64 KiB each.
    let before = Op::Cvo(Cvo { length: 2048, src_addr: 0x4000, dst_addr: 0x4000, ..Cvo::default() });
    let product = Op::Gemv(Mac { dest_reg: 0x8000, ..Mac::default() });
    let timed = |n| run(&reference(), &with_shapes(n, 2048, &[before, product])).spans[3];
    let (load, short, long) = (8 + 8 + 128 + 3, timed(64), timed(1024));
    // 64 KiB are there before it starts: 16 rows per lane, 64 cycles each.
    assert_eq!(short.end - short.start, load + 16 * 64 + 11 + (8 + 8));
    // 1 MiB takes 52,428.8 cycles. All but 6553 of these follow the arrival of the activations.
    assert_eq!(long.end - long.start, load + 52_429 - 6553 + (8 + 128));
    // The matrix core's weights and fills take 128 times 115.2 cycles and 16 of drains; its work
    // takes 128 times 80 and
    // 16. With 6553 cycles of weights before the activations are there, the work takes longer.
    let set = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
    let shapes =
        [set(Cache::FmapShape, Shape::new(16, 1, 2048)), set(Cache::WeightShape, Shape::new(0, 128, 2048))];
    let product = Op::Gemm(Mac { dest_reg: 0x8000, ..Mac::default() });
    let ops: Vec<Op> = shapes.into_iter().chain([before, product]).collect();
    let many = run(&reference(), &ops).spans[3];
    assert_eq!(many.cost.total(), (8 + 8 + 2048 + 3) + 14_762 + (8 + 256));
    assert_eq!(many.end - many.start, (8 + 8 + 2048 + 3) + 128 * 80 + 16 + (8 + 256));
}

#[test]
fn the_sweep_over_the_activation_cache_is_optional() {
    let mut swept = reference();
    swept.timing.fmap_sweep = 2048;
    let ops = with_shapes(4, 64, &[Op::Gemv(Mac::default())]);
    let loads = [reference(), swept].map(|config| run(&config, &ops).spans[2].cost.load);
    assert_eq!(loads, [8 + 8 + 4 + 3, 8 + 8 + 2048 + 3]);
}

#[test]
fn external_memory_is_shared() {
    let load = Memcpy { from_device: Device::Host, dest_addr: 0x4000, is_async: true, ..Memcpy::default() };
    let product = Mac { dest_reg: 0x8000, ..Mac::default() };
    let ops = with_shapes(4096, 8192, &[Op::Memcpy(load), Op::Gemv(product)]);
    let timed = |ddr_gb_per_s| {
        let mut config = reference();
        config.timing.ddr_gb_per_s = ddr_gb_per_s;
        run(&config, &ops).spans.split_off(2)
    };
    let (wide, narrow) = (timed(19.2), timed(9.6));
    // In both cases, 16 KiB are moved at 10 bytes per cycle.
    assert_eq!(wide[0], narrow[0]);
    assert_eq!(wide[0].cost.compute, 1639);
    // At 24 bytes per cycle, the transfer leaves the weights 14 of the 20 bytes that they need.
    assert_eq!(narrow[1].end - wide[1].end, (1639.0_f64 * 6.0 / 20.0).ceil() as u64);
}

/// A transfer gets the rate that weights of an earlier product leave: 4 of 24 bytes per cycle.
#[test]
fn transfers_are_slower_beside_weights() {
    let load = Memcpy { from_device: Device::Host, dest_addr: 0x4000, is_async: true, ..Memcpy::default() };
    let product = Mac { dest_reg: 0x8000, ..Mac::default() };
    let mut config = reference();
    config.timing.ddr_gb_per_s = 9.6;
    let spans = run(&config, &with_shapes(4096, 8192, &[Op::Gemv(product), Op::Memcpy(load)])).spans;
    assert!(spans[3].end < spans[2].end);
    // After the descriptor and the latency of L2, 16 KiB are moved.
    let took = spans[3].end - spans[3].start - 16;
    assert!((4096..=4097).contains(&took), "{took}");
}

#[test]
fn reports_say_what_engines_waited_for() {
    let load = Memcpy { from_device: Device::Host, dest_addr: 0x4000, ..Memcpy::default() };
    let product = |src_addr| Op::Gemv(Mac { src_addr, dest_reg: 2 * src_addr + 0x8000, ..Mac::default() });
    let waits = |ops: &[Op]| -> Vec<String> {
        let ops = with_shapes(64, 2048, ops);
        let report = report(&reference(), &ops, &run(&reference(), &ops), &[], |_| 0);
        let unit = report.units.into_iter().find(|unit| unit.unit == "vector core").unwrap();
        unit.waits.into_iter().map(|wait| wait.on).collect()
    };
    let background = Memcpy { is_async: true, ..load };
    assert_eq!(waits(&[product(0)]), ["the host's push"]);
    assert_eq!(waits(&[Op::Memcpy(load), product(0)]), ["a synchronous instruction"]);
    assert_eq!(waits(&[Op::Memcpy(background), product(0x4000)]), ["L2 words in use"]);
    // If the host pushes instructions in no time, issuing them is the limit.
    let mut quick = reference();
    quick.timing.host_push = 0;
    let names = |config: &Config, ops: &[Op], syncs: &[usize]| -> Vec<&str> {
        run_with_host(config, ops, syncs).spans.iter().map(|span| span.wait.name()).collect()
    };
    assert_eq!(names(&quick, &[Op::Kick; 2], &[])[1], "issue");
    let ops = with_shapes(64, 2048, &[product(0), product(0x100), Op::Kick]);
    assert_eq!(names(&reference(), &ops, &[4])[3..], ["the engine", "the host"]);
}
