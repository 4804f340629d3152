//! Cycles of a program and their distribution, by the clock.

mod activity;
mod maps;
mod profile;
mod trace;

use npukit_target::{
    Breakdown, CycleSpan, LayerWork, Phase, SPAN_NOTE, Spent, TargetError, TimeOptions, TimeReport, UnitTime,
    Wait, share,
};

use crate::clock::{Clock, Engine, Slice, Totals};
use crate::config::{Config, Port, Timing};
use crate::isa::op::Op;
use crate::program::Program;
pub(super) use activity::activity;
pub(super) use maps::maps;
use profile::Profile;
pub(super) use trace::record;

/// Explanations of the figures.
const NOTES: [&str; 4] = [
    "cycles of a layer or a kind are the time that its instructions add to the end of all work, so that they \
     add up to the total; overlapping work belongs to the earlier instruction",
    SPAN_NOTE,
    "vectors are words over the DRAM port",
    "roofline: compute is MACs over multipliers (cycles of convolutions, where MACs are not known), memory the \
     words over the DRAM port",
];

/// Returns the time report of `program`.
///
/// Errors: options that are not legal; an instruction that uses a register before it is set.
pub(super) fn report(program: &Program, options: &TimeOptions) -> Result<TimeReport, TargetError> {
    let profile = Profile::chosen(program, options)?;
    let mut slices = Vec::new();
    let totals = run(program, &profile.timing, &mut |slice| slices.push(slice))?;
    let spent = spent(program, &profile.timing, &slices);
    let layers = program.layers.iter().map(|layer| LayerWork { name: &layer.name, macs: layer.macs });
    let layers: Vec<_> = layers.collect();
    let breakdown = Breakdown::new(&layers, &spent, profile.timing.macs_per_cycle.into());
    Ok(TimeReport {
        cycles: Profile::all(program)
            .map(|profile| Ok((profile.name, run(program, &profile.timing, &mut |_| ())?.cycles)))
            .collect::<Result<_, TargetError>>()?,
        assumptions: vec![profile.assumption()],
        notes: NOTES.map(str::to_owned).into(),
        milliseconds: Some(totals.cycles as f64 / (profile.timing.clock_mhz * 1e3)),
        clock_mhz: Some(profile.timing.clock_mhz),
        clock_source: Some(profile.clock_source()),
        macs_computed: breakdown.macs_computed(),
        utilization: breakdown.utilization(),
        array_busy: share(totals.busy(Engine::Multiply), totals.cycles),
        roofline: breakdown.roofline(),
        layers: breakdown.layers(),
        kinds: breakdown.kinds(),
        units: units(&totals),
        instructions: breakdown.instructions(),
        clock: profile.name,
        ..TimeReport::default()
    })
}

/// Runs the clock on a program with these timing parameters.
fn run(program: &Program, timing: &Timing, watch: &mut impl FnMut(Slice)) -> Result<Totals, TargetError> {
    let config = Config { timing: timing.clone(), ..program.config.clone() };
    let phase = Phase::detail("time instructions", program.instructions.len());
    let mut clock = Clock::new(&config);
    for (index, op) in program.instructions.iter().enumerate() {
        clock.push(op, watch).map_err(|fault| {
            TargetError::failed(format!("{}: {fault}; {}", program.place(index), fault.hint()))
        })?;
        if *op == Op::End {
            break;
        }
        phase.tick(index);
    }
    Ok(clock.finish(watch))
}

/// Returns the cycles of each instruction: the time that it adds to the end of all earlier
/// instructions.
fn spent(program: &Program, timing: &Timing, slices: &[Slice]) -> Vec<Spent> {
    let of = |(op, layer): (&Op, usize)| (Spent { layer, kind: op.mnemonic(), ..Spent::default() }, 0);
    let places = program.layer_of_each();
    let mut each: Vec<(Spent, u64)> = program.instructions.iter().zip(places).map(of).collect();
    for slice in slices {
        if let Some((spent, end)) = each.get_mut(slice.instruction) {
            *end = slice.end.max(*end);
            let span = CycleSpan::of(slice.start, slice.end.saturating_sub(slice.start));
            CycleSpan::extend(&mut spent.span, span);
            spent.vectors += slice.words;
            spent.memory[0] += traffic(timing, slice);
            if slice.engine == Engine::Multiply {
                spent.compute += slice.end - slice.start;
            }
        }
    }
    let mut last = 0;
    let moved = |(spent, end): (Spent, u64)| {
        let cycles = end.saturating_sub(last);
        last = end.max(last);
        Spent { cycles, ..spent }
    };
    each.into_iter().map(moved).collect()
}

/// Returns a lower bound of the cycles for an instruction's words. With two ports, each carries
/// half of all words at best.
fn traffic(timing: &Timing, slice: &Slice) -> u64 {
    let cycles = slice.words.div_ceil(timing.burst_words.into());
    match timing.port {
        Port::Shared => cycles,
        Port::Split => cycles / 2,
    }
}

/// Returns the work and the waits of the engines and of the DRAM port.
fn units(totals: &Totals) -> Vec<UnitTime> {
    let unit = |name: &str, busy: u64, waits: Vec<Wait>| UnitTime {
        unit: name.to_owned(),
        busy,
        share: share(busy, totals.cycles),
        waits,
    };
    let engine = |engine: Engine| {
        let waits = totals.waits(engine).into_iter();
        let waits = waits.map(|(cause, cycles)| Wait { on: cause.name().to_owned(), cycles });
        unit(engine.name(), totals.busy(engine), waits.collect())
    };
    let [read, written] = totals.port;
    let ports = [unit("DRAM port, loads", read, Vec::new()), unit("DRAM port, stores", written, Vec::new())];
    Engine::ALL.into_iter().map(engine).chain(ports).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::Compiled;
    use serde_json::json;

    use super::super::program::{OpuProgram, ProgramOrigin};
    use super::*;
    use crate::isa::op::{Addend, Pool, Post, Shape};
    use crate::program::Layer;

    const TILE: Shape = Shape { h: 10, w: 10, c: 64 };

    /// Returns a program of two layers: one loads, convolves and stores, the other stores again.
    fn program() -> Program {
        let registers = [
            Op::ShapeIfm(TILE),
            Op::ShapeOfm(TILE),
            Op::ShapeKer { n: 1 },
            Op::MemIfm { bank: 0, w: 10 },
            Op::MemKer { bank: 1 },
            Op::MemOfm { bank: 3, h: 10, w: 10 },
            Op::Post(Post::default()),
            Op::Pool(Pool::NONE),
        ];
        let conv = Op::Conv { addend: Addend::Zero, h: 0, w: 0, n: 0 };
        let work = [
            Op::LoadIfm { addr: 0 },
            Op::LoadKer { addr: 0 },
            conv,
            Op::Store { addr: 0 },
            Op::Store { addr: 200 },
            Op::End,
        ];
        let instructions: Vec<Op> = registers.into_iter().chain(work).collect();
        let layer = |name: &str, first, count, macs| Layer {
            name: name.to_owned(),
            first,
            count,
            macs,
            results: Vec::new(),
        };
        let config = Config::preset("ideal").unwrap();
        Program {
            layers: vec![layer("a", 0, 12, 409_600), layer("b", 12, 2, 0)],
            ..Program::of("two_layers".to_owned(), "ideal".to_owned(), config, instructions)
        }
    }

    fn options(options: &[(&str, &str)]) -> TimeOptions {
        let options = options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
        TimeOptions { options: options.collect(), ..TimeOptions::default() }
    }

    #[test]
    fn the_report_adds_up() {
        let time = report(&program(), &TimeOptions::default()).unwrap();
        // The tile takes 100 cycles, the kernel 64, the convolution 400, and two stores 100 each.
        assert_eq!((&time.clock[..], time.cycles["ideal"]), ("ideal", 764));
        assert!(time.cycles["ideal"] < time.cycles["reference"] && time.cycles.len() == 3);
        let layers: Vec<_> = time.layers.iter().map(|layer| layer.cycles).collect();
        assert_eq!(layers, [664, 100]);
        assert_eq!(time.kinds.iter().map(|kind| kind.cycles).sum::<u64>(), 764);
        assert_eq!(time.utilization, Some(400.0 / 764.0));
        assert_eq!(time.macs_computed, Some(409_600));
        assert_eq!((time.roofline.compute, time.roofline.memory), (400, 364));
        assert_eq!(time.milliseconds, Some(764.0 / 200e3));
        let store = time.units.iter().find(|unit| unit.unit == "store").unwrap();
        assert_eq!((store.busy, store.waits[0].cycles), (200, 564));
    }

    #[test]
    fn profiles_and_clocks_may_be_asked_for() {
        let time = |given: &[(&str, &str)]| report(&program(), &options(given));
        let detailed = time(&[("profile", "detailed")]).unwrap();
        assert_eq!(detailed.cycles[&detailed.clock], detailed.cycles["detailed"]);
        let slow = time(&[("clock-mhz", "100")]).unwrap();
        assert_eq!((slow.milliseconds, slow.cycles["ideal"]), (Some(764.0 / 100e3), 764));
        for given in [("profile", "fast"), ("clock-mhz", "0"), ("clock-mhz", "x"), ("latency", "3")] {
            assert!(matches!(time(&[given]), Err(TargetError::Option { .. })), "{given:?}");
        }
    }

    #[test]
    fn an_instance_of_its_own_has_a_profile_of_its_own() {
        let mut program = program();
        program.config.timing.conv_pipe = 5;
        let time = report(&program, &TimeOptions::default()).unwrap();
        assert_eq!((&time.clock[..], time.cycles["instance"], time.cycles["ideal"]), ("instance", 769, 764));
    }

    #[test]
    fn a_trace_has_a_track_for_each_engine() {
        let mut bytes = Vec::new();
        let program = OpuProgram::new(program(), ProgramOrigin::Read);
        npukit_target::chrome_trace(&program, &TimeOptions::default(), &mut bytes).unwrap();
        let trace: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let slices: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        let works = |slice: &&&serde_json::Value| slice["args"]["words"].is_number();
        let work: Vec<_> = slices.iter().filter(works).collect();
        assert_eq!(work.len(), 5);
        assert_eq!((&work[2]["name"], &work[2]["args"]["layer"]), (&json!("conv"), &json!("a")));
        assert_eq!((&work[2]["ts"], &work[2]["dur"]), (&json!(0.82), &json!(2.0)));
    }

    /// The tile is needed from the load's first cycle to the convolution's last, the sums until the
    /// second store's last.
    #[test]
    fn maps_go_by_when_engines_work() {
        let mut program = program();
        let registers = [Op::Stride { h: 1, w: 1 }, Op::Shift { ifm: 0, bias: 0 }];
        program.instructions.splice(0..0, registers);
        program.layers.iter_mut().for_each(|layer| layer.first += registers.len());
        let program = OpuProgram::new(program, ProgramOrigin::Read);
        let time = program.time(&TimeOptions::default()).unwrap();
        let mut maps = program.memory_maps(&time);
        // Returns the contents of the first place, with start and end.
        let of = |name: &str| -> Vec<(i64, i64, i64)> {
            let map = maps.iter().find(|map| map.name == name).unwrap();
            let (mut at, cycles) = (0, map.cycles_per_column as i64);
            let runs = map.cells.chunks(2).map(|run| {
                at += run[1];
                (run[0], (at - run[1]) * cycles, at * cycles)
            });
            let first = runs.take_while(|run| run.1 < map.columns as i64 * cycles);
            first.filter(|run| run.0 != 0).map(|run| (run.0, run.1, run.2.min(764))).collect()
        };
        assert_eq!((of("ifm"), of("ofm")), (vec![(1, 0, 564)], vec![(1, 164, 764)]));
        assert_eq!(of("ker"), [(1, 100, 564)]);
        maps = program.memory_maps(&TimeReport { clock: "another".to_owned(), ..time });
        assert!(maps.is_empty());
    }

    #[test]
    fn instructions_without_registers_are_named() {
        let mut program = program();
        program.instructions.remove(0);
        let error = report(&program, &TimeOptions::default()).unwrap_err().to_string();
        assert!(error.contains("instruction 7") && error.contains("ifm_h"), "{error}");
    }
}
