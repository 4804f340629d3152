//! Time: a decoder of the size of Gemma 3N E4B against the bounds of specification 6.2, and reports.

use npukit_pccx::artifact::write;
use npukit_pccx::clock::{Timeline, run};
use npukit_pccx::op::{Cache, Mac, Memset, Op, Shape};
use npukit_pccx::report::{lab_container, limits, report};
use npukit_pccx::trace::Container;
use npukit_pccx::{Config, Pccx, Program, lab};
use npukit_target::{Target, TimeOptions};

/// (N, K) of the products of a layer (specification 5.1), and how many there are of each.
const LAYER: [(u16, u16, usize); 8] = [
    (2048, 2048, 2),  // query, output
    (16384, 2048, 2), // gate, up
    (2048, 16384, 1), // down
    (64, 2048, 1),    // LAuReL
    (2048, 64, 1),
    (256, 2048, 1), // per-layer gate
    (512, 2048, 0), // key and value: only of owners
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

/// The products of one token; the vocabulary's in parts that an entry can say.
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
    // The projection of all per-layer inputs: 35 * 256 outputs.
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
    assert_eq!(lab::generate(0, 1).total_cycles, 474_540);
}

/// What a program's trace is in the format of the laboratory, byte by byte from specification 7.4.
#[test]
fn traces_of_the_laboratory_are_written_by_their_extension() {
    let program = Program { code: vec![Op::Kick, Op::Kick], ..Program::default() };
    let bytes = write(&program).unwrap();
    let files = |_: &str| Ok(bytes.clone());
    let compiled = Pccx.load("two.pcp", &files).unwrap();
    assert_eq!(compiled.trace_extensions(), ["pccx"]);
    let mut trace = Vec::new();
    compiled.trace_as("pccx", &TimeOptions::default(), &mut trace).unwrap();
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
    let cycles = compiled.time(&TimeOptions::default()).unwrap().cycles["model"];
    assert_eq!(header["trace"], serde_json::json!({"cycles": cycles, "cores": 1, "clock_mhz": 400}));
    // Cycles, events; of each core, start, duration, type and name of the call.
    assert_eq!(payload[..16], [cycles, 2].map(u64::to_le_bytes).concat());
    let event = 4 + 8 + 8 + (8 + "API_CALL".len()) + 1 + (8 + "kick".len());
    assert_eq!(payload.len(), 16 + 2 * event);
    assert_eq!(payload[16 + event - 4..][..4], *b"kick");
}
