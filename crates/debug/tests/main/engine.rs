//! Moves through a program, compared with a record of all of its states.

use npukit_debug::{Debugger, On, Order, PointKind, Range, Stop, Watch};
use npukit_target::Machine as _;

use super::toy::{DEPTH, Op, Toy};

/// Pseudorandom numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn program(steps: usize, seed: u64) -> Vec<Op> {
    let mut random = Random(seed);
    let one = |_| match random.below(4) {
        0 => Op::Set(random.below(DEPTH), random.below(200) as i64 - 100),
        1 => Op::Load(random.below(DEPTH)),
        _ => Op::Add(random.below(DEPTH), random.below(DEPTH), random.below(DEPTH)),
    };
    (0..steps).map(one).collect()
}

/// Returns the states of a program by number of executed steps.
fn states(ops: &[Op]) -> Vec<Toy> {
    let mut states = vec![Toy::new(ops)];
    for _ in ops {
        let mut next = states.last().unwrap().clone();
        next.step().unwrap();
        states.push(next);
    }
    states
}

fn range(start: u64, end: u64) -> Range {
    Range { text: format!("m[{start}:{end}]"), memory: 0, start, end, lane: None }
}

/// Whether a step makes the watched access, derived from the states before and after it.
fn hits(watch: &Watch, ops: &[Op], states: &[Toy], step: usize) -> bool {
    let inside = |address: u64| (watch.range.start..watch.range.end).contains(&address);
    let (reads, writes): (Vec<u64>, Vec<u64>) = match ops[step] {
        Op::Set(to, _) => (vec![], vec![to]),
        Op::Add(to, a, b) => (vec![a, b], vec![to]),
        Op::Load(from) => (vec![from], vec![]),
        Op::Lock(at) => (vec![], vec![at]),
        Op::Trap | Op::Unlisted => (vec![], vec![]),
    };
    let (is_read, is_written) = (reads.into_iter().any(inside), writes.into_iter().any(inside));
    let used = match watch.on {
        On::Read => is_read,
        On::Write => is_written,
        On::Access => is_read || is_written,
        On::Saturation => is_written && states[step + 1].saturations() > states[step].saturations(),
    };
    let holds = watch.condition.as_ref().is_none_or(|condition| {
        assert_eq!((condition.order, watch.on), (Order::Greater, On::Write));
        let written = match ops[step] {
            Op::Set(to, _) | Op::Add(to, ..) => 2 * to as usize,
            _ => return false,
        };
        let numbers = &states[step + 1].m[written..written + 2];
        numbers.iter().any(|&number| number as f64 / 16.0 > condition.value)
    });
    used && holds
}

/// Each path leads to the state of a straight run.
#[test]
fn states_are_those_of_a_straight_run() {
    for (steps, seed) in [(1, 1), (7, 2), (300, 3)] {
        let ops = program(steps, seed);
        let (states, mut random) = (states(&ops), Random(seed + 100));
        let mut debugger = Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&ops));
        for _ in 0..400 {
            match random.below(6) {
                0 => debugger.step(random.below(20) as usize),
                1 => debugger.back(random.below(20) as usize),
                2 => debugger.goto(random.below(steps as u64 + 3) as usize),
                3 => debugger.next_layer(),
                4 => debugger.previous_layer(),
                _ => debugger.step(1),
            };
            let expected = &states[debugger.position()];
            assert_eq!(
                debugger.machine().read(0, 0, DEPTH).unwrap(),
                expected.m,
                "step {}",
                debugger.position()
            );
            assert_eq!(debugger.machine().read(1, 0, 1).unwrap(), [expected.r]);
            assert_eq!(debugger.machine().saturations(), expected.saturations());
        }
    }
}

/// Runs in both directions stop at the points that a walk over all states finds.
#[test]
fn points_are_hit_where_all_states_say() {
    let ops = program(200, 9);
    let states = states(&ops);
    let condition = Some(npukit_debug::Condition { is_raw: false, order: Order::Greater, value: 5.0 });
    for (on, condition) in [
        (On::Read, None),
        (On::Write, None),
        (On::Access, None),
        (On::Saturation, None),
        (On::Write, condition),
    ] {
        let watch = Watch { range: range(3, 6), on, condition };
        let mut debugger = Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&ops));
        debugger.add_point(PointKind::Watch(watch.clone()));
        debugger.add_point(PointKind::Instruction(50));
        let all: Vec<usize> = (0..200).filter(|&step| hits(&watch, &ops, &states, step)).collect();
        let scanned: Vec<usize> = debugger.scan().unwrap().iter().map(|hit| hit.step).collect();
        assert_eq!(scanned, all, "{on:?}");
        let mut forward = Vec::new();
        loop {
            match debugger.go_on().clone() {
                Stop::Watchpoint(1, step) => {
                    assert_eq!(debugger.position(), step + 1);
                    forward.push(step);
                }
                Stop::Breakpoint(2) => assert_eq!(debugger.position(), 50),
                stop => {
                    assert_eq!((stop, debugger.position()), (Stop::End, 200));
                    break;
                }
            }
        }
        assert_eq!(forward, all, "{on:?}");
        let (mut backward, mut breaks) = (Vec::new(), 0);
        loop {
            match debugger.go_back().clone() {
                Stop::Watchpoint(1, step) => {
                    assert_eq!(debugger.position(), step);
                    assert_eq!(debugger.machine().read(0, 0, DEPTH).unwrap(), states[step].m);
                    backward.push(step);
                }
                Stop::Breakpoint(2) => breaks += 1,
                stop => {
                    assert_eq!((stop, debugger.position()), (Stop::Start, 0));
                    break;
                }
            }
        }
        backward.reverse();
        // A step with a breakpoint that also hits the watchpoint stops once.
        let is_both = all.contains(&50);
        assert_eq!((backward, breaks), (all, usize::from(!is_both)), "{on:?}");
    }
}

/// The writer of each number is the last instruction before that writes it.
#[test]
fn writers_are_the_last_before() {
    let ops = program(120, 5);
    let mut debugger = Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&ops));
    for position in [0, 1, 60, 120] {
        debugger.goto(position);
        for address in 0..DEPTH {
            let expected = ops[..position]
                .iter()
                .rposition(|op| matches!(op, Op::Set(to, _) | Op::Add(to, ..) if *to == address));
            let nodes = debugger.who(&Range { lane: Some(1), ..range(address, address + 1) }, 3).unwrap();
            assert_eq!(nodes.len(), 1);
            assert_eq!(nodes[0].writer, expected, "m[{address}] at {position}");
            assert_eq!(nodes[0].values, debugger.machine().read(0, address, 1).unwrap()[1..]);
            if let (Some(step), false) = (expected, nodes[0].is_cut) {
                let summands = if let Op::Add(_, a, b) = ops[step] { if a == b { 1 } else { 2 } } else { 0 };
                let found: u64 = nodes[0].from.iter().map(|node| node.run.count).sum();
                assert_eq!(found, summands, "step {step}");
                assert!(nodes[0].from.iter().all(|node| node.at == step));
            }
        }
    }
}

/// A condition on unreadable numbers is reported in both directions: neither hit nor missed.
#[test]
fn conditions_that_cannot_be_read_are_told() {
    let ops = [Op::Set(1, 2), Op::Lock(3), Op::Set(1, 3)];
    let condition = Some(npukit_debug::Condition { is_raw: true, order: Order::Greater, value: 90.0 });
    let mut debugger = Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&ops));
    debugger.add_point(PointKind::Watch(Watch { range: range(0, 5), on: On::Write, condition }));
    let (range, reason) = ("m[0:5]".to_owned(), "m[3] is locked".to_owned());
    let undecided = Stop::Undecided(npukit_debug::Undecided { id: 1, step: 1, range, reason });
    assert_eq!((debugger.go_on().clone(), debugger.position()), (undecided.clone(), 2));
    assert_eq!(debugger.scan(), Err(undecided.clone()));
    assert_eq!(*debugger.goto(3), Stop::End);
    assert_eq!((debugger.go_back().clone(), debugger.position()), (undecided.clone(), 1));
    let message = "whether step 1 hits watchpoint 1 is not known: `m[0:5]` cannot be read: m[3] is locked";
    assert_eq!(undecided.trouble().as_deref(), Some(message));
}

/// An interrupt stops each kind of run, and nothing runs before it is acknowledged.
#[test]
fn an_interrupt_stops_a_run() {
    let ops = program(2000, 7);
    let states = states(&ops);
    let mut debugger = Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&ops));
    let interrupt = npukit_debug::Interrupt::default();
    debugger.heed(interrupt.clone());
    let condition = Some(npukit_debug::Condition { is_raw: true, order: Order::Greater, value: 1e9 });
    debugger.add_point(PointKind::Watch(Watch { range: range(0, 5), on: On::Write, condition }));
    debugger.goto(700);
    interrupt.ask();
    let ways: [fn(&mut Debugger) -> &Stop; 5] =
        [Debugger::go_on, Debugger::go_back, Debugger::next_layer, |own| own.goto(2000), |own| own.step(9)];
    for go in ways {
        assert_eq!(*go(&mut debugger), Stop::Interrupted);
        assert_eq!(debugger.position(), 700);
    }
    assert_eq!(debugger.scan(), Err(Stop::Interrupted));
    interrupt.answered();
    interrupt.answered();
    assert_eq!(*debugger.go_on(), Stop::End);
    assert_eq!(*debugger.go_back(), Stop::Start);
    // From another thread, at any position of the program.
    let other = std::thread::spawn(move || interrupt.ask());
    let stop = loop {
        match debugger.go_on() {
            Stop::End => debugger.goto(0),
            Stop::Interrupted => break debugger.position(),
            stop => panic!("{stop:?}"),
        };
        if *debugger.stop() == Stop::Interrupted {
            break debugger.position();
        }
    };
    other.join().unwrap();
    assert_eq!(debugger.machine().read(0, 0, DEPTH).unwrap(), states[stop].m);
}

#[test]
fn a_fault_stops_before_its_step() {
    let ops = [Op::Set(1, 2), Op::Trap, Op::Set(1, 3)];
    let mut debugger = Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&ops));
    assert_eq!(*debugger.go_on(), Stop::Fault("a trap".to_owned()));
    assert_eq!(debugger.position(), 1);
    assert_eq!(*debugger.goto(3), Stop::Fault("a trap".to_owned()));
    assert_eq!(*debugger.back(1), Stop::Start);
    assert_eq!(debugger.machine().read(0, 1, 1).unwrap(), [0, 0]);
    assert!(debugger.scan().unwrap().is_empty());
}
