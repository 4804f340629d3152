//! Words in motion between files and a dpu: all values and cycles are the machine's.

use npukit_drra::DRRA;
use npukit_target::motion::ValueKind;
use npukit_target::{AsmOptions, HazardMode, InstanceSpec, Machine, NoFiles, UninitMemory};

/// The dot product of the tutorial: reads in cycles 11 to 26, and the write of the sum in cycle 27.
const DOT: &str = "cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=mac)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=16)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=16)
evt(slot=4, port=rst)
dsu(slot=3, port=word_write)
act(param=1, ports=0x2022)
wait(cycle=14)
act(param=3, ports=0b0001)
wait()
halt()
";

const A: [i64; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 1, 1, 1, 1];
const B: [i64; 16] = [1, -1, 1, -1, 1, -1, 1, -1, 10, 10, 10, 10, 10, 10, 10, 10];

fn memory(machine: &dyn Machine, name: &str) -> usize {
    machine.memories().iter().position(|memory| memory.name == name).unwrap_or_else(|| panic!("{name}"))
}

fn machine() -> Box<dyn Machine> {
    let program = DRRA.instance(InstanceSpec::Preset("3x1")).unwrap();
    let program = program.asm_program("dot.s", DOT.as_bytes(), &NoFiles).unwrap();
    let mut machine =
        program.machine(&AsmOptions { meaning: HazardMode::Hardware, unset: UninitMemory::Zero }).unwrap();
    for (name, words) in [("rf.1.0.1", A), ("rf.1.0.2", B)] {
        let place = memory(&*machine, name);
        machine.write(place, 0, &words).unwrap();
    }
    machine
}

#[test]
fn a_dot_product_moves_as_the_machine_computes_it() {
    let mut machine = machine();
    while machine.motion().unwrap().is_none() {
        assert!(machine.step().unwrap().is_empty());
    }
    assert_eq!(machine.position(), 11);
    let motion = machine.motion().unwrap().unwrap();
    assert_eq!(motion.cycles(), Some(11..=27));
    assert_eq!(motion.rows, ["1.0 rf 1", "1.0 rf 2", "1.0 rf 3", "1.0 dpu 4"]);
    for (kind, words) in [(ValueKind::Operand, A), (ValueKind::Factor, B)] {
        let values = motion.values().iter().filter(|value| value.kind == kind);
        let taken: Vec<(u64, f64)> = values
            .map(|value| value.visits.last().unwrap())
            .map(|visit| (visit.cycle, visit.value))
            .collect();
        let expected: Vec<(u64, f64)> = (11..).zip(words.map(|word| word as f64)).collect();
        assert_eq!(taken, expected);
    }
    let sums: Vec<_> = motion.values().iter().filter(|value| value.kind == ValueKind::Sum).collect();
    let [sum] = sums[..] else { panic!("{sums:?}") };
    let (dpu, file) = (memory(&*machine, "dpu.1.0.4"), memory(&*machine, "rf.1.0.3"));
    for visit in &sum.visits {
        assert_eq!(machine.position() as u64, visit.cycle);
        machine.step().unwrap();
        let held = if visit.cycle < 27 { machine.read(dpu, 0, 1) } else { machine.read(file, 0, 1) };
        assert_eq!(held.unwrap()[0] as f64, visit.value, "cycle {}", visit.cycle);
    }
    assert_eq!(machine.read(file, 0, 1).unwrap(), [76]);
    assert_eq!(machine.motion().unwrap(), None);
}
