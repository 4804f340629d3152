//! Cases that the golden programs do not cover: priorities, corner cases, refusals and faults.

use npukit_drra::internals::asm::assemble;
use npukit_drra::internals::check::lints;
use npukit_drra::internals::config::{from_short, preset};
use npukit_drra::internals::fault::{Fault, FaultKind};
use npukit_drra::internals::machine::{LoadError, Machine, Run};
use npukit_drra::{Fabric, Program, Revision};
use npukit_target::UninitMemory;

fn single() -> Fabric {
    from_short("1x1: [swb,iosram_both,rf,rf,rf,dpu]").unwrap().of_revision(Revision::Text)
}

fn program(fabric: &Fabric, text: &str) -> Program {
    assemble(fabric, "test", &format!("cell (row=0, col=0)\n{text}")).unwrap().program
}

/// Runs a program on a cell with input row r holding `100 * r + element`.
fn try_run(fabric: &Fabric, text: &str) -> (Machine, Result<Run, Fault>) {
    let mut machine = Machine::new(fabric, &program(fabric, text)).unwrap();
    let rows = (0..8).map(|row| (row, std::array::from_fn(|i| (100 * row as usize + i) as i16)));
    machine.set_input(&rows.collect()).unwrap();
    let run = machine.run(10_000, &mut ());
    (machine, run)
}

fn run(text: &str) -> (Machine, Run) {
    let (machine, run) = try_run(&single(), text);
    (machine, run.unwrap())
}

fn refused(fabric: &Fabric, text: &str) -> String {
    match Machine::new(fabric, &program(fabric, text)) {
        Err(error @ LoadError::Refused(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Loads input rows 0 and 1 to memory rows 0 and 1, and from there to rows 0 and 1 of register
/// files 5 and 6.
const LOAD: &str = "dsu(slot=1, port=input_buffer) rep(slot=1, port=input_buffer, iter=2)
    dsu(slot=1, port=sram_write) rep(slot=1, port=sram_write, iter=2)
    route(slot=0, sr=send, source=2, target=16) route(slot=0, sr=receive, source=4, target=96)
    dsu(slot=2, port=sram_read) rep(slot=2, port=sram_read, iter=2)
    dsu(slot=5, port=bulk_write) rep(slot=5, port=bulk_write, iter=2)
    dsu(slot=6, port=bulk_write) rep(slot=6, port=bulk_write, iter=2)
    act(param=1, ports=5) wait(cycle=2) act(param=2, ports=8) act(param=5, ports=68) wait(cycle=4)\n";

#[test]
fn reads_and_writes_must_coincide() {
    // Files are written one cycle after the memory is read, so row 1 arrives in row 0.
    let (machine, _) = run(&format!("{LOAD} halt()"));
    let cell = &machine.cells()[0];
    assert_eq!(cell.iosrams[0].rows[1][3], 103);
    assert_eq!((cell.rfs[0].rows[0][3], cell.rfs[1].rows[0][3], cell.rfs[0].rows[1][3]), (103, 103, 0));
}

#[test]
fn loops_branch_relative_to_the_next_instruction() {
    let (machine, run) =
        run("calc(mode=add, operand2=3, result=1) calc(mode=sub, operand1=1, operand2=1, result=1)
         brn(reg=1, target_true=-2, target_false=1) halt() halt()");
    assert_eq!(machine.cells()[0].sequencer.regs[1], 0);
    // The run takes one cycle, three rounds of two, and one for the second halt.
    assert_eq!(run.cycles, 1 + 3 * 2 + 1);
    let (_, run) = try_run(&single(), "brn(target_true=5, target_false=0) halt()");
    assert_eq!(run.unwrap().cycles, 2, "0 falls through");
}

#[test]
fn a_jump_out_of_the_memory_stops() {
    let (_, run) = try_run(&single(), "brn(target_false=-2)");
    let message = run.unwrap_err().to_string();
    assert_eq!(message, "cycle 0, cell (0, 0), instruction 0: jumps to instruction -1; legal are 0 to 255");
    let (_, run) = try_run(&single(), "brn(target_false=255)");
    assert!(run.unwrap_err().to_string().contains("jumps to instruction 256"));
    let (_, run) = try_run(&single(), "brn(target_false=254)");
    assert_eq!(run.unwrap().cycles, 2, "instruction 255 is the last, and halts");
    // The released sequencer ignores a branch.
    let released = from_short("1x1: [swb,iosram_both,rf,rf,rf,dpu]").unwrap();
    let (_, run) = try_run(&released, "brn(target_true=5, target_false=-1) halt()");
    assert_eq!(run.unwrap().cycles, 2);
}

#[test]
fn a_runaway_program_stops_and_says_where_it_is() {
    let (_, run) = try_run(&single(), "calc(mode=add, operand2=9, result=2) brn(target_false=-1)");
    let message = run.unwrap_err().to_string();
    assert!(
        message.starts_with(
            "still running in cycle 10000, after 10000 active cycles\ncell (0, 0): at instruction 1 (brn)"
        ),
        "{message}"
    );
    assert!(message.contains("0 ports run, r2 = 9"), "{message}");
}

/// A chain of three units passes a word on after the last address, while the cell is otherwise
/// idle. A later store must see the final value, not an intermediate one.
#[test]
fn units_go_on_when_ports_have_stopped() {
    let fabric =
        from_short("1x2: [swb,iosram_both,rf,rf,rf,dpu,dpu,dpu]").unwrap().of_revision(Revision::Text);
    let chain = format!(
        "{LOAD} dpu(slot=8, mode=add) dpu(slot=10, mode=add) dpu(slot=12, mode=add)
        swb(slot=0, channel=8, source=5, target=8) swb(slot=0, channel=10, source=8, target=10)
        swb(slot=0, channel=12, source=10, target=12) swb(slot=0, channel=7, source=12, target=7)
        dsu(slot=5, port=word_read) dsu(slot=7, port=word_write)
        act(ports=2, param=5) wait(cycle=30) act(ports=1, param=7) wait(cycle=3) halt()"
    );
    // The other cell is always busy, so the machine skips no cycle.
    let busy = "calc(mode=add, operand2=1, result=1) ".repeat(80);
    for (first, second, at) in [(&busy, &chain, 1), (&chain, &busy, 0)] {
        let text = format!("cell (row=0, col=0)\n{first} halt()\ncell (row=0, col=1)\n{second} halt()");
        let program = assemble(&fabric, "test", &text).unwrap().program;
        let mut machine = Machine::new(&fabric, &program).unwrap();
        machine.set_input(&[(0, [3; 16]), (1, [5; 16])].into()).unwrap();
        machine.run(1000, &mut ()).unwrap();
        let cell = &machine.cells()[at];
        assert_eq!(cell.rfs[0].rows[0][0], 5, "the word was there");
        assert_eq!(cell.rfs[2].rows[0][0], 0, "cell {at}");
    }
}

/// A unit writes a word to one register; only that register can be read afterwards.
#[test]
fn what_was_never_written_is_known_word_by_word() {
    for written in [0, 1, 15, 16, 17, 63] {
        for read in [0, 1, 15, 16, 17, 33, 63] {
            let text = format!(
                "swb(slot=0, channel=5, source=8, target=5) dsu(slot=5, port=word_write, init_addr={written})
                dsu(slot=5, port=word_read, init_addr={read}) act(ports=1, param=5) wait(cycle=2)
                act(ports=2, param=5) wait(cycle=2) halt()"
            );
            let fabric = single();
            let mut machine = Machine::new(&fabric, &program(&fabric, &text)).unwrap();
            machine.unset(UninitMemory::Poison);
            let run = machine.run(100, &mut ());
            match run {
                Ok(_) => assert_eq!(written, read),
                Err(Fault::Access { kind, .. }) => {
                    assert_eq!(kind, FaultKind::Unwritten { register: read });
                    assert_ne!(written, read);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

/// A word that no component sends is unwritten, whether or not it is linked.
#[test]
fn a_word_that_nothing_sends_is_not_written() {
    let fabric = single();
    for (link, is_written) in [
        ("", false),
        ("swb(slot=0, channel=5, source=6, target=5)", false),
        ("swb(slot=0, channel=5, source=8, target=5)", true),
    ] {
        let text = format!(
            "{link} dsu(slot=5, port=word_write, init_addr=3) dsu(slot=5, port=word_read, init_addr=3)
            act(ports=1, param=5) wait(cycle=2) act(ports=2, param=5) wait(cycle=2) halt()"
        );
        let mut machine = Machine::new(&fabric, &program(&fabric, &text)).unwrap();
        machine.unset(UninitMemory::Poison);
        match machine.run(100, &mut ()) {
            Ok(_) => assert!(is_written, "{link}"),
            Err(Fault::Access { kind, .. }) => {
                assert_eq!((kind, is_written), (FaultKind::Unwritten { register: 3 }, false), "{link}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// An unwritten row of the memory goes to a file, where a dpu writes one word of it, back to
/// another row, and out. A reader gets the origin reported.
#[test]
fn words_that_were_passed_on_are_told_with_their_origin() {
    let fabric = single();
    let text = |words: &str| {
        format!(
            "route(slot=0, sr=send, source=2, target=16) route(slot=0, sr=receive, source=4, target=32)
            dsu(slot=2, port=sram_read, init_addr=3) rep(slot=2, port=sram_read, iter=8, step=0)
            dsu(slot=5, port=bulk_write) act(ports=8, param=2) act(ports=4, param=5) wait(cycle=8)
            swb(slot=0, channel=5, source=8, target=5) {words} act(ports=1, param=5) wait(cycle=18)
            route(slot=0, sr=send, source=2, target=0) route(slot=0, sr=send, source=5, target=16)
            route(slot=0, sr=receive, source=4, target=4)
            dsu(slot=5, port=bulk_read) rep(slot=5, port=bulk_read, iter=8, step=0)
            dsu(slot=2, port=sram_write, init_addr=5) act(ports=8, param=5) act(ports=4, param=2) wait(cycle=8)
            dsu(slot=1, port=sram_read, init_addr=5) dsu(slot=1, port=output_buffer, init_addr=2)
            act(ports=10, param=1) wait(cycle=2) halt()"
        )
    };
    let taken = |words: &str, count: usize| {
        let mut machine = Machine::new(&fabric, &program(&fabric, &text(words))).unwrap();
        machine.unset(UninitMemory::Poison);
        machine.run(1000, &mut ()).unwrap();
        machine.unwritten(2, count)
    };
    let one = "dsu(slot=5, port=word_write)";
    assert_eq!(taken(one, 1), None, "the word that was written");
    for count in [2, 16] {
        match taken(one, count) {
            Some(Fault::Access { slot: 2, port: 3, kind, .. }) => {
                assert_eq!(kind, FaultKind::UnwrittenRow { row: 3, word: 0 });
            }
            other => panic!("{other:?}"),
        }
    }
    let all = "dsu(slot=5, port=word_write) rep(slot=5, port=word_write, iter=16, step=1)";
    assert_eq!(taken(all, 16), None);
}

/// A row that arrives at a file replaces a word that is written to the same file in the same cycle,
/// but not in other files.
#[test]
fn a_row_comes_before_a_word_of_the_same_cycle() {
    let fabric = single();
    for (row, is_written) in [(0, true), (1, false), (2, true)] {
        let text = format!(
            "route(slot=0, sr=send, source=2, target=16) route(slot=0, sr=receive, source=4, target=32)
            dsu(slot=2, port=sram_read, init_addr=3) rep(slot=2, port=sram_read, iter=8, step=0)
            swb(slot=0, channel=5, source=8, target=5) dsu(slot=5, port=bulk_write, init_addr={row})
            dsu(slot=5, port=word_write, init_addr=18) dsu(slot=5, port=word_read, init_addr=18)
            act(ports=8, param=2) act(ports=5, param=5) wait(cycle=8) act(ports=2, param=5) wait(cycle=2) halt()"
        );
        let mut machine = Machine::new(&fabric, &program(&fabric, &text)).unwrap();
        machine.unset(UninitMemory::Poison);
        match machine.run(1000, &mut ()) {
            Ok(_) => assert!(is_written, "row {row}"),
            Err(Fault::Access { kind, .. }) => {
                assert_eq!((kind, is_written), (FaultKind::Unwritten { register: 18 }, false), "row {row}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Reads of input rows that were never filled.
#[test]
fn unwritten_rows_of_the_input_are_told() {
    let fabric = single();
    let taken = |row: u32| {
        let text = format!(
            "dsu(slot=1, port=input_buffer, init_addr={row}) dsu(slot=1, port=sram_write) act(ports=5, param=1)
            wait(cycle=2) dsu(slot=1, port=sram_read) dsu(slot=1, port=output_buffer, init_addr=7)
            act(ports=10, param=1) wait(cycle=2) halt()"
        );
        let mut machine = Machine::new(&fabric, &program(&fabric, &text)).unwrap();
        machine.unset(UninitMemory::Poison);
        machine.set_input(&[(4, [1; 16])].into()).unwrap();
        machine.run(1000, &mut ()).unwrap();
        machine.unwritten(7, 1)
    };
    assert_eq!(taken(4), None);
    match taken(5) {
        Some(Fault::Access { slot: 1, port: 0, kind, .. }) => {
            assert_eq!(kind, FaultKind::UnwrittenInput { row: 5 });
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn twenty_refusals_are_listed() {
    let fabric = single();
    for (count, listed, more) in [(20, 20, ""), (21, 20, "\n  and 1 others"), (23, 20, "\n  and 3 others")] {
        let messages = refused(&fabric, &"wait(mode=events, cycle=1) ".repeat(count));
        assert!(messages.starts_with(&format!("the fabric refuses {count} of the program's instructions:")));
        assert_eq!(messages.matches("`wait` for events").count(), listed);
        let end = messages.find("\n  and ").map_or("", |at| &messages[at..]);
        assert_eq!(end, more);
    }
}

/// Both cells write row 7 in one cycle.
#[test]
fn of_columns_that_write_a_row_the_highest_counts() {
    let fabric = from_short("1x2: [swb,iosram_both]").unwrap().of_revision(Revision::Text);
    let copy = |row: usize| {
        format!(
            "dsu(slot=1, port=input_buffer, init_addr={row}) dsu(slot=1, port=sram_write) act(ports=5, param=1)
            dsu(slot=1, port=sram_read) dsu(slot=1, port=output_buffer, init_addr=7) act(ports=10, param=1)
            wait(cycle=1) halt()"
        )
    };
    let text = format!("cell (row=0, col=1)\n{}\ncell (row=0, col=0)\n{}", copy(1), copy(2));
    let program = assemble(&fabric, "test", &text).unwrap().program;
    let mut machine = Machine::new(&fabric, &program).unwrap();
    machine.set_input(&[(1, [1; 16]), (2, [2; 16])].into()).unwrap();
    machine.run(100, &mut ()).unwrap();
    assert_eq!(machine.output_image(), [(7, [1; 16])].into());
}

#[test]
fn a_warning_is_given_once_for_its_instruction_and_a_hundred_in_all() {
    let divide = "calc(mode=div, operand1=0, operand2=0, result=1) ";
    let (_, looped) = run(&format!(
        "calc(mode=add, operand2=3, result=2) {divide} {divide} calc(mode=sub, operand1=2, operand2=1, result=2)
         brn(reg=2, target_true=-4, target_false=1) halt() halt()"
    ));
    let places: Vec<String> = looped.warnings.iter().map(ToString::to_string).collect();
    assert_eq!((looped.warnings.len(), looped.more_warnings), (2, 0), "{places:?}");
    assert!(places[0].contains("instruction 1") && places[1].contains("instruction 2"), "{places:?}");
    let (_, many) = run(&format!("{} halt()", divide.repeat(103)));
    assert_eq!((many.warnings.len(), many.more_warnings), (100, 3));
    let (_, harmless) =
        run("calc(mode=add, operand2=0, result=1) calc(mode=div, operand2=1, result=1) halt()");
    assert_eq!(harmless.warnings, []);
}

#[test]
fn waits_cost_no_time_on_the_host() {
    let fabric = single();
    let mut machine = Machine::new(&fabric, &program(&fabric, "wait(cycle=134217727) halt()")).unwrap();
    assert_eq!(machine.run(u64::MAX, &mut ()).unwrap().cycles, (1 << 27) + 1);
}

#[test]
fn a_map_of_registers_activates() {
    // Port bulk_read of slot 7 is bit 31 of the map, so register 2 is 0 and register 3 is 0x8000.
    let (machine, run) = run("calc(mode=addh, operand2=128, result=3) dsu(slot=7, port=bulk_read)
         rep(slot=7, port=bulk_read, iter=9) act(mode=map, param=2) halt()");
    assert_eq!(machine.cells()[0].sequencer.regs[3], i16::MIN);
    assert_eq!(machine.cells()[0].ports.active, 1 << 31);
    assert!(run.warnings[0].to_string().contains("port 3 of slot 7 still runs"), "{:?}", run.warnings);
}

#[test]
fn what_no_source_defines_is_refused() {
    let fabric = single();
    for (text, message) in [
        ("wait(mode=events, cycle=1)", "`wait` for events is unsupported"),
        ("act(mode=map, param=0)", "four registers starting at 0; legal are 1 to 12"),
        ("act(mode=map, param=13)", "four registers starting at 13"),
        ("dsu(slot=5, init_addr_sd=d)", "hardware ignores init_addr_sd=d"),
        ("dpu(slot=8, mode=relu)", "no source defines dpu mode relu: it needs `extensions`"),
        ("dpu(slot=8, mode=mode_6)", "dpu mode 6 is reserved"),
        ("dpu(slot=9, mode=add)", "slot 9 belongs to a dpu at slot 8"),
        ("dsu(slot=3, port=sram_read)", "slot 3 belongs to a iosram_both at slot 1"),
        ("dsu(slot=2, port=input_buffer)", "slot 2 (iosram_both) has no port 0"),
        ("route(slot=0, sr=send, source=2, target=4)", "direction 2 is not wired"),
        ("route(slot=0, sr=receive, source=9, target=4)", "direction 9 is not wired"),
        ("swb(slot=0, channel=5, source=5, target=6)", "channel is 5; it must equal the target 6"),
    ] {
        let found = refused(&fabric, text);
        assert!(found.contains(message), "{text}: {found}");
        assert!(found.contains("cell (0, 0), instruction 0"), "{found}");
    }
    let top = from_short("3x1: top=[swb,iosram_top] mid=[swb] btm=[swb,iosram_btm]")
        .unwrap()
        .of_revision(Revision::Text);
    assert!(refused(&top, "dsu(slot=1, port=output_buffer)").contains("slot 1 (iosram_top) has no port 1"));
}

#[test]
fn extensions_give_a_meaning() {
    let mut fabric = single();
    fabric.options.extensions = true;
    let text = "dpu(slot=8, mode=add_const, immediate=7) swb(slot=0, channel=7, source=8, target=7)
        calc(mode=add, operand2=5, result=3) dsu(slot=7, port=word_write, init_addr_sd=d, init_addr=3)
        act(ports=1, param=7) wait() halt()";
    let (machine, run) = try_run(&fabric, text);
    run.unwrap();
    assert_eq!(machine.cells()[0].rfs[2].rows[0][..7], [0, 0, 0, 0, 0, 7, 0]);
    let mode = "dpu(slot=8, mode=mode_31)";
    assert!(refused(&fabric, mode).contains("dpu mode 31 is reserved"));
}

#[test]
fn five_levels_need_extensions() {
    let rep = "rep(slot=5, port=word_read, iter=2)";
    let text = format!(
        "dsu(slot=5, port=word_read) {rep} {rep} {rep} {rep} {rep} act(ports=2, param=5) wait(cycle=31) halt()"
    );
    let (_, run) = try_run(&single(), &text);
    assert!(run.unwrap_err().to_string().contains("too many levels: a lane has at most 4"));
    let mut fabric = single();
    fabric.options.extensions = true;
    let (machine, run) = try_run(&fabric, &text);
    assert_eq!((run.unwrap().warnings, machine.cells()[0].ports.active), (vec![], 0));
}

#[test]
fn a_port_that_runs_is_not_configured() {
    let text = "dsu(slot=5, port=word_read) rep(slot=5, port=word_read, iter=9) act(ports=2, param=5) dsu(slot=5, port=word_read)";
    let (_, run) = try_run(&single(), text);
    let Err(Fault::Instruction { cycle: 3, kind, .. }) = run else { panic!("{run:?}") };
    assert_eq!(kind, FaultKind::Busy { slot: 5, port: 1, until: 11 });
}

#[test]
fn hardware_needs_idle_cycles_before_the_next_configuration() {
    // The port's only address is in cycle 2. It is opened again `before` cycles later.
    let again = |before: usize, between: usize, strict| {
        let mut fabric = single();
        fabric.options.strict = strict;
        let (before, between) = ("wait() ".repeat(before), "wait() ".repeat(between));
        let once = "dsu(slot=5, port=word_read)";
        let act = "act(ports=2, param=5)";
        try_run(&fabric, &format!("{once} {act} {before} {once} {between} {act} wait() halt()")).1
    };
    assert_eq!(again(2, 0, true).unwrap().warnings, []);
    let message = again(1, 1, false).unwrap().warnings[0].to_string();
    assert!(
        message.contains("the last address was in cycle 2; it may be configured in cycle 4 at the earliest"),
        "{message}"
    );
    assert!(matches!(again(1, 1, true), Err(Fault::Instruction { kind: FaultKind::Early { .. }, .. })));
}

#[test]
fn addresses_wrap_unless_strict() {
    let text = "dsu(slot=5, port=word_read, init_addr=63) rep(slot=5, port=word_read, iter=2) act(ports=2, param=5) wait(cycle=3) halt()";
    let (_, run) = run(text);
    assert!(
        run.warnings[0].to_string().contains("address 64 is beyond 0 to 63, and wraps"),
        "{:?}",
        run.warnings
    );
    let mut fabric = single();
    fabric.options.strict = true;
    let message = try_run(&fabric, text).1.unwrap_err().to_string();
    assert_eq!(message, "cycle 4, cell (0, 0), slot 5, port 1: address 64 is beyond 0 to 63");
}

#[test]
fn a_buffer_has_an_end() {
    let text = "dsu(slot=1, port=input_buffer, init_addr=1024) act(ports=1, param=1) wait() halt()";
    let message = try_run(&preset("1x1").unwrap(), text).1.unwrap_err().to_string();
    assert_eq!(
        message,
        "cycle 2, cell (0, 0), slot 1, port 0: row 1024 of the input buffer, which has rows 0 to 1023"
    );
}

#[test]
fn the_buffers_write_wins_over_a_bulk_row() {
    // Row 3 of the input and row 0 of file 5, which is zero, both go to row 0 of the memory.
    let text = "route(slot=0, sr=send, source=5, target=16) route(slot=0, sr=receive, source=4, target=4)
        dsu(slot=1, port=input_buffer, init_addr=3) dsu(slot=1, port=sram_write) dsu(slot=2, port=sram_write)
        dsu(slot=5, port=bulk_read) act(mode=contiguous, ports=69, param=1) wait() halt()";
    let (machine, run) = run(text);
    assert_eq!(machine.cells()[0].iosrams[0].rows[0][2], 302);
    assert!(run.warnings[0].to_string().contains("a bulk row is dropped"), "{:?}", run.warnings);
}

#[test]
fn a_bulk_row_wins_over_a_word_of_its_row() {
    // The dpu adds zeros, so its words are 0. The bulk row is row 3 of the input, read through the
    // memory.
    let write = |row: usize| {
        let text = format!(
            "dsu(slot=1, port=input_buffer, init_addr=3) dsu(slot=1, port=sram_write) act(ports=5, param=1)
             route(slot=0, sr=send, source=2, target=16) route(slot=0, sr=receive, source=4, target=32)
             dsu(slot=2, port=sram_read) dsu(slot=5, port=bulk_write)
             dsu(slot=5, port=word_write, init_addr={}) act(mode=port_index, ports=36, param=13) wait() halt()",
            16 * row
        );
        // The map activates ports 0, 2 and 3 of slots 2 and 5. Ports without a configuration have
        // address 0.
        run(&text).0.cells()[0].rfs[0].rows[0][0]
    };
    assert_eq!((write(0), write(1)), (300, 300));
}

#[test]
fn products_saturate_before_the_sum() {
    // 200 * 200 saturates to 32767. Added to an accumulator of -1 * 1, the sum is 32766.
    let text = "dpu(slot=8, mode=mac) swb(slot=0, channel=8, source=5, target=8) swb(slot=0, channel=9, source=6, target=9)
        dsu(slot=5, port=word_read) rep(slot=5, port=word_read, iter=2) dsu(slot=6, port=word_read)
        rep(slot=6, port=word_read, iter=2) act(ports=34, param=5) wait(cycle=3) halt()";
    let fabric = single();
    let mut machine = Machine::new(&fabric, &program(&fabric, &format!("{LOAD} halt()"))).unwrap();
    let mut row = [0; 16];
    (row[0], row[1]) = (-1, 200);
    let mut other = [0; 16];
    (other[0], other[1]) = (1, 200);
    machine.set_input(&[(1, row)].into()).unwrap();
    machine.run(1000, &mut ()).unwrap();
    // File 6 gets other operands; memories keep their contents between programs.
    machine.set_input(&[(1, other)].into()).unwrap();
    machine
        .reload(&program(
            &fabric,
            &format!("{} halt()", LOAD.replace("ports=68", "ports=64").replace("target=96", "target=64")),
        ))
        .unwrap();
    machine.run(1000, &mut ()).unwrap();
    machine.reload(&program(&fabric, text)).unwrap();
    machine.run(1000, &mut ()).unwrap();
    assert_eq!(machine.cells()[0].dpus[0].out, 32766);
}

#[test]
fn lints_say_what_is_hardly_meant() {
    let fabric = single();
    for (text, message) in [
        ("dsu(slot=5, port=word_read) word(bits=0x85400080)", "iter=0 does not repeat"),
        ("act(ports=4, param=0)", "port 2 of slot 0 is activated"),
        (
            "dsu(slot=1, port=sram_write) dsu(slot=1, port=sram_read) rep(slot=1, port=sram_write, iter=2)",
            "hardware applies it to port 3",
        ),
        (
            "dsu(slot=1, port=sram_read) dsu(slot=1, port=sram_read)",
            "ports of an iosram have one lane in hardware",
        ),
        ("evt(slot=8) evt(slot=8)", "hardware loses the first level of lane 0"),
        ("swb(slot=0, channel=5, source=1, target=5)", "slot 1 has no words"),
        ("route(slot=0, sr=send, source=8, target=16)", "slot 8 has no bulk rows"),
        ("calc(mode=add, operand2_sd=d, operand2=16)", "register 16 of 16"),
    ] {
        let ops = program(&fabric, text).decode(&fabric).unwrap();
        let found: Vec<String> = lints(&fabric, &ops).into_iter().map(|(_, lint)| lint.to_string()).collect();
        assert!(found.len() == 1 && found[0].contains(message), "{text}: {found:?}");
    }
    let ops = program(&fabric, "dsu(slot=5) rep(slot=5, iter=0) repx(slot=5, iter=1, step=0)")
        .decode(&fabric)
        .unwrap();
    assert_eq!(lints(&fabric, &ops), [], "256 times");
}

/// Control flow does not depend on data, so configurations and starts of active ports are found in
/// advance.
#[test]
fn lints_follow_the_sequencer() {
    let fabric = single();
    let read = "dsu(slot=5, port=word_read) rep(slot=5, port=word_read, iter=8) act(ports=2, param=5)";
    let message = |rest: &str| -> Vec<String> {
        let ops = program(&fabric, &format!("{read} {rest} halt()")).decode(&fabric).unwrap();
        lints(&fabric, &ops).into_iter().map(|(at, lint)| format!("{}: {lint}", at.pc)).collect()
    };
    // The port is activated in cycle 2 and has addresses in cycles 3 to 10.
    let busy = "4: in cycle 10: slot 5, port 1 is configured while it runs; its last address is in cycle 10";
    assert_eq!(message("wait(cycle=6) dsu(slot=5, port=word_read)"), [busy]);
    let early = "4: in cycle 11: slot 5, port 1: the last address was in cycle 10; it may be configured in cycle 12 at the earliest";
    assert_eq!(message("wait(cycle=7) dsu(slot=5, port=word_read)"), [early]);
    assert_eq!(message("wait(cycle=8) dsu(slot=5, port=word_read)"), [""; 0]);
    let runs = "4: in cycle 9: slot 5, port 1 is activated while it runs: the second start is lost";
    assert_eq!(message("wait(cycle=5) act(ports=2, param=5)"), [runs]);
    assert_eq!(message("wait(cycle=6) act(ports=2, param=5)").len(), 1, "too early, but idle");
    // The conflict occurs in the second iteration of a loop and is reported only once.
    let rounds = "calc(mode=add, operand1=1, operand2=3, result=1) act(ports=2, param=6)
        calc(mode=sub, operand1=1, operand2=1, result=1) brn(reg=1, target_true=-3)";
    let read = "dsu(slot=6, port=word_read) rep(slot=6, port=word_read, iter=99)";
    assert_eq!(
        message(&format!("{read} {rounds}")),
        ["6: in cycle 9: slot 6, port 1 is activated while it runs: the second start is lost"]
    );
    assert_eq!(message("brn(reg=0, target_false=-1)"), [""; 0], "a program that does not end");
}

#[test]
fn programs_that_do_not_fit_are_refused() {
    let fabric = from_short("1x1: [swb,rf]").unwrap();
    let long = program(&fabric, &"wait() ".repeat(257));
    let message = Machine::new(&fabric, &long).unwrap_err().to_string();
    assert!(message.starts_with("cell (0, 0) has 257 instructions: at most 256 can be loaded"), "{message}");
    let other = program(&single(), "dpu(slot=8, mode=add)");
    let message = Machine::new(&fabric, &other).unwrap_err().to_string();
    assert!(
        message.contains("cell (0, 0), instruction 0: 0xc8020000 goes to slot 8, which is empty"),
        "{message}"
    );
}
