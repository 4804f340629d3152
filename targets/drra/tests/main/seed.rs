//! The ISA document to the letter (`+seed`), compared with other fabrics.

use npukit_drra::internals::asm::{Listing, assemble, disassemble};
use npukit_drra::internals::config::{ConfigError, from_json, from_short, to_json};
use npukit_drra::internals::fabric::{Direction, Place};
use npukit_drra::internals::fault::{Fault, FaultKind};
use npukit_drra::internals::isa::{Isa, range};
use npukit_drra::internals::kernel::compile;
use npukit_drra::internals::machine::{Machine, MemoryKind, Run};
use npukit_drra::internals::seed::{DsuOption, Event, Events, LogicOperands};
use npukit_drra::{DRRA, Fabric, Program, Revision};
use npukit_target::{Instance, InstanceSpec};

const CELL: &str = "1x1: [swb,rf,rf,rf,dpu]";

fn seed() -> Fabric {
    from_short(CELL).unwrap().of_revision(Revision::Seed)
}

fn program(fabric: &Fabric, text: &str) -> Program {
    assemble(fabric, "test", &format!("cell (row=0, col=0)\n{text}")).unwrap().program
}

/// Runs a program on a cell. File 1 of the cell holds 100, 101, 102 and so on.
fn run_on(fabric: &Fabric, text: &str) -> (Machine, Result<Run, Fault>) {
    let mut machine = Machine::new(fabric, &program(fabric, text)).unwrap_or_else(|error| panic!("{error}"));
    let file = MemoryKind::Registers { place: Place::default(), slot: 1 };
    (0..64).for_each(|index| machine.poke(file, index, &[100 + index as i16]).unwrap());
    let run = machine.run(10_000, &mut ());
    (machine, run)
}

fn run(text: &str) -> (Machine, Run) {
    let (machine, run) = run_on(&seed(), text);
    (machine, run.unwrap())
}

fn refused(fabric: &Fabric, text: &str) -> String {
    Machine::new(fabric, &program(fabric, text)).unwrap_err().to_string()
}

/// Scalar registers and flags after a program.
fn registers(text: &str) -> ([i16; 16], u16) {
    let (machine, _) = run(text);
    let sequencer = &machine.cells()[0].sequencer;
    (sequencer.regs, sequencer.flags)
}

/// `rep`: `iter` has the default 0; the released reading refuses such a text.
#[test]
fn a_repetition_of_no_times_is_a_single_time() {
    let text = "swb(slot=0, channel=2, source=1, target=2)
        dsu(slot=1, port=word_read, init_addr=6) rep(slot=1, port=word_read)
        dsu(slot=2, port=word_write, init_addr=9) act(param=1, ports=0x12) wait() halt()";
    let released = assemble(&from_short(CELL).unwrap(), "test", &format!("cell (row=0, col=0)\n{text}"));
    assert_eq!(released.unwrap_err().errors[0].to_string(), "iter=0 does not fit: legal are 1 to 255");
    let (machine, run) = run(text);
    assert_eq!(machine.cells()[0].rfs[1].rows[0][8..11], [0, 106, 0]);
    assert_eq!(run.warnings, []);
    let words = program(&seed(), text);
    let listing = disassemble(&seed(), &words, Listing::Named).text();
    assert_eq!(assemble(&seed(), "test", &listing).unwrap().program, words, "{listing}");
}

/// `result`: the scalar register or the flag register, depending on the calculation mode.
#[test]
fn comparisons_and_logic_give_flags() {
    let set = "calc(mode=add, operand2=5, result=1)";
    for (mode, expected) in [("eq", 0), ("ne", 1), ("gt", 1), ("ge", 1), ("lt", 0), ("le", 0)] {
        let (regs, flags) =
            registers(&format!("{set} calc(mode={mode}, operand1=1, operand2=4, result=3) halt()"));
        assert_eq!((regs[1], regs[3], flags), (5, 0, expected << 3), "{mode}");
    }
    // The instruction sets flag 2, but not flags 3 and 4.
    let flags = "calc(mode=eq, operand2=0, result=2)";
    for (text, expected) in [
        ("calc(mode=and, operand1=2, operand2_sd=d, operand2=3, result=5)", false),
        ("calc(mode=or, operand1=2, operand2_sd=d, operand2=3, result=5)", true),
        ("calc(mode=and, operand1=2, operand2=1, result=5)", true),
        ("calc(mode=not, operand1=2, result=5)", false),
        ("calc(mode=not, operand1=4, result=5)", true),
    ] {
        let (regs, found) = registers(&format!("{flags} {text} halt()"));
        assert_eq!((regs, found), ([0; 16], 1 << 2 | u16::from(expected) << 5), "{text}");
    }
    let (regs, flags) = registers("calc(mode=add, operand2=7, result=5) halt()");
    assert_eq!((regs[5], flags), (7, 0), "sums stay in scalar registers");
}

#[test]
fn operands_of_logic_may_be_scalar_registers() {
    let mut fabric = seed();
    fabric.options.seed.logic_operands = LogicOperands::Registers;
    let text = "calc(mode=add, operand2=9, result=2) calc(mode=not, operand1=2, result=5)
        calc(mode=or, operand1=2, operand2=0, result=6) halt()";
    let (machine, _) = run_on(&fabric, text);
    assert_eq!(machine.cells()[0].sequencer.flags, 1 << 6);
}

/// `brn`: tests the flag register; the PC is relative to the current PC.
#[test]
fn branches_go_by_flags_from_themselves() {
    let (machine, run) = run("calc(mode=add, operand2=3, result=1) calc(mode=sub, operand1=1, operand2=1, result=1)
         calc(mode=ne, operand1=1, operand2=0, result=4) brn(reg=4, target_true=-2, target_false=2) halt() halt()");
    assert_eq!(machine.cells()[0].sequencer.regs[1], 0);
    assert_eq!(run.cycles, 1 + 3 * 3 + 1);
    assert_eq!(machine.cells()[0].sequencer.pc, 5, "over an instruction to the second `halt`");
    // A nonzero scalar register has no effect on the branch.
    let (machine, _) = self::run(
        "calc(mode=add, operand2=3, result=1) brn(reg=1, target_true=2, target_false=1) halt() halt()",
    );
    assert_eq!(machine.cells()[0].sequencer.pc, 2);
    let (_, run) = run_on(&seed(), "brn(target_false=-1)");
    assert!(
        matches!(run, Err(Fault::Instruction { kind: FaultKind::Branch { target: -1, .. }, .. })),
        "{run:?}"
    );
    let (_, run) = run_on(&seed(), "brn()");
    assert!(matches!(run, Err(Fault::Limit { .. })), "0 is itself: {run:?}");
}

/// Mode 1: `param` is the port of each slot; on all other fabrics it is a mask of ports.
#[test]
fn port_index_names_a_port() {
    let raised = |fabric: &Fabric, param: u8| {
        let text = format!(
            "dsu(slot=1, port={param}) rep(slot=1, port={param}, iter=200) act(mode=port_index, ports=2, param={}) halt()",
            if fabric.options.revision == Revision::Seed { param } else { 1 << param }
        );
        run_on(fabric, &text).0.cells()[0].ports.active
    };
    let text = seed().of_revision(Revision::Text);
    for port in 0..4_u8 {
        assert_eq!(raised(&seed(), port), 1 << (4 + port));
        assert_eq!(raised(&text, port), 1 << (4 + port));
    }
    // A fifth port is reported because a resource has only four.
    let warnings = instance("1x1+seed").assemble(
        "k.asm",
        "cell (row=0, col=0) act(mode=port_index, ports=2, param=4)",
        &npukit_target::NoFiles,
    );
    assert!(warnings.unwrap().warnings[0].contains("port 4 of each slot: legal are 0 to 3 [no-port]"));
}

/// Mode 2: a map may start at any register, and wraps around.
#[test]
fn maps_begin_at_any_register() {
    for first in [0, 13, 15_u8] {
        // Bit 5 of the map is port 1 of slot 1, and bit 8 is port 0 of slot 2. Bit 16 is in the
        // second register.
        let second = (first + 1) % 16;
        let text = format!(
            "calc(mode=add, operand1=7, operand2=0x20, result={first})
             calc(mode=addh, operand1={first}, operand2=1, result={first})
             calc(mode=add, operand1=7, operand2=1, result={second})
             swb(slot=0, channel=2, source=1, target=2) swb(slot=0, channel=4, source=3, target=4)
             dsu(slot=1, port=word_read, init_addr=6) dsu(slot=2, port=word_write, init_addr=9)
             act(mode=map, param={first}) wait() halt()"
        );
        let (machine, run) = run(&text);
        assert_eq!(machine.cells()[0].rfs[1].rows[0][9], 106, "{first}");
        assert_eq!(run.warnings, []);
    }
    assert!(
        refused(&seed(), "act(mode=map, param=16)").contains("starting at register 16; legal are 0 to 15")
    );
}

/// `wait`, mode 1: waits for the events of a mask of slots; here for all of them, or for the first.
#[test]
fn waits_end_with_events() {
    let start = "dsu(slot=1, port=word_read) rep(slot=1, port=word_read, iter=20)
        dsu(slot=2, port=word_read) rep(slot=2, port=word_read, iter=8) act(ports=0x22, param=1)";
    let halted = |fabric: &Fabric, mask: u16, text: &str| {
        let (machine, run) =
            run_on(fabric, &format!("{start} wait(mode=events, cycle={mask}) {text} halt()"));
        assert_eq!(run.unwrap().warnings, []);
        machine.cells()[0].sequencer.halted.unwrap()
    };
    // `act` is in cycle 4. File 1 has addresses in cycles 5 to 24, file 2 in cycles 5 to 12.
    assert_eq!(halted(&seed(), 0b010, ""), 25);
    assert_eq!(halted(&seed(), 0b110, ""), 25);
    assert_eq!(halted(&seed(), 0b100, "wait(cycle=11)"), 13 + 12);
    let mut any = seed();
    any.options.seed.events = Events::Any;
    assert_eq!(halted(&any, 0b110, "wait(cycle=11)"), 13 + 12);
    let mut port = seed();
    port.options.seed.event = Event::Port0;
    assert_eq!(halted(&port, 0b010, "wait(cycle=18)"), 6 + 19, "port 0 does not run");
    assert!(
        refused(&seed(), "wait(mode=events, cycle=0x10002)")
            .contains("`cycle` is 0x10002; it must be a mask of slots 0 to 15")
    );
    let message = instance("1x1+seed").assemble(
        "k.asm",
        "cell (row=0, col=0) wait(mode=events)",
        &npukit_target::NoFiles,
    );
    assert!(message.unwrap().warnings[0].contains("it ends at once [no-event]"));
}

/// A port may be configured in the cycle after its last address, as nothing erases it.
#[test]
fn after_an_event_a_port_is_configured_at_once() {
    let (machine, run) = run("swb(slot=0, channel=2, source=1, target=2)
        dsu(slot=1, port=word_read) rep(slot=1, port=word_read, iter=4)
        dsu(slot=2, port=word_write) rep(slot=2, port=word_write, iter=4) act(ports=0x12, param=1)
        wait(mode=events, cycle=0b110)
        dsu(slot=1, port=word_read, init_addr=32) dsu(slot=2, port=word_write, init_addr=4) act(ports=0x12, param=1)
        wait(mode=events, cycle=0b110) halt()");
    assert_eq!(machine.cells()[0].rfs[1].rows[0][..6], [100, 101, 102, 103, 132, 0]);
    assert_eq!(run.warnings, []);
}

/// Fields marked as dynamic are replaced by scalar registers.
#[test]
fn first_addresses_come_from_registers() {
    let (machine, run) =
        run("calc(mode=add, operand2=40, result=3) swb(slot=0, channel=2, source=1, target=2)
        dsu(slot=1, port=word_read, init_addr_sd=d, init_addr=3) dsu(slot=2, port=word_write)
        act(ports=0x12, param=1) wait() halt()");
    assert_eq!((machine.cells()[0].rfs[1].rows[0][0], run.warnings), (140, vec![]));
}

/// Directions 0 to 8: NW, N, NE, W, C, E, SW, S, SE.
#[test]
fn rows_go_in_nine_directions() {
    let kinds = "[swb,rf,rf]";
    let fabric = from_short(&format!("3x3: top={kinds} mid={kinds} btm={kinds}")).unwrap();
    let fabric = fabric.of_revision(Revision::Seed);
    for direction in Direction::ALL {
        let code = direction.code();
        let (row, col) = (usize::from(code / 3), usize::from(code % 3));
        let receive = format!(
            "route(slot=0, sr=receive, source={}, target=0b100) dsu(slot=2, port=bulk_write) act(param=2, ports=4) wait() halt()",
            8 - code
        );
        let send =
            format!("route(slot=0, sr=send, source=1, target={}) dsu(slot=1, port=bulk_read)", 1 << code);
        let text = if direction == Direction::Center {
            format!(
                "cell (row=1, col=1) {send} route(slot=0, sr=receive, source=4, target=4) dsu(slot=2, port=bulk_write)
                 act(param=1, ports=0x48) wait() halt()"
            )
        } else {
            format!(
                "cell (row=1, col=1) {send} act(param=1, ports=8) wait() halt() cell (row={row}, col={col}) {receive}"
            )
        };
        let source = assemble(&fabric, "t", &text).unwrap();
        let mut machine = Machine::new(&fabric, &source.program).unwrap();
        let file = MemoryKind::Registers { place: Place { row: 1, col: 1 }, slot: 1 };
        machine.poke(file, 3, &[10]).unwrap();
        machine.run(100, &mut ()).unwrap();
        assert_eq!(machine.cells()[3 * row + col].rfs[1].rows[0][3], 10, "{direction:?}");
        if direction.is_diagonal() {
            let released = fabric.clone().of_revision(Revision::Released);
            let message = Machine::new(&released, &source.program).unwrap_err().to_string();
            assert!(message.contains(&format!("direction {code} is not wired")), "{message}");
        }
    }
}

/// `option` of `dsu`: four configurations of a port, each started by its own `act`.
#[test]
fn options_of_dsu_are_configurations() {
    let text = "swb(slot=0, channel=2, source=1, target=2)
        dsu(slot=2, port=word_write) rep(slot=2, port=word_write, iter=8)
        dsu(slot=1, option=2, port=word_read, init_addr=32) rep(slot=1, port=word_read, iter=4)
        dsu(slot=1, option=1, port=word_read, init_addr=8) rep(slot=1, port=word_read, iter=4)
        act(ports=0x12, param=1) wait(cycle=2) act(ports=2, param=1) wait(cycle=4) halt()";
    let (machine, run) = run(text);
    let expected = [108, 109, 110, 111, 132, 133, 134, 135];
    assert_eq!((machine.cells()[0].rfs[1].rows[0][..8].to_vec(), run.warnings), (expected.to_vec(), vec![]));
    // While one option runs, another option may be configured.
    let (_, run) = run_on(
        &seed(),
        "dsu(slot=1, port=word_read) rep(slot=1, port=word_read, iter=9) act(ports=2, param=1)
         dsu(slot=1, option=1, port=word_read) wait(cycle=9) halt()",
    );
    run.unwrap();
    let busy = "dsu(slot=1, port=word_read) rep(slot=1, port=word_read, iter=9) act(ports=2, param=1)
         dsu(slot=1, port=word_read) halt()";
    let (_, run) = run_on(&seed(), busy);
    assert!(matches!(run, Err(Fault::Instruction { kind: FaultKind::Busy { .. }, .. })), "{run:?}");
    // If options have no effect, the text configures two unconnected lanes.
    let mut fabric = seed();
    fabric.options.seed.dsu_option = DsuOption::Nothing;
    let (_, run) = run_on(&fabric, text);
    assert!(run.unwrap_err().to_string().contains("2 lanes have 0 `trans` in between"));
}

/// Steps are 0 to 127, in the table, in text both ways and in the machine.
#[test]
fn steps_have_no_sign() {
    for component in npukit_drra::internals::component::Component::ALL {
        for row in Isa::seed().rows(component).iter().filter(|row| row.name == "rep") {
            assert_eq!(range(&row.fields[row.field("step").unwrap()]), (0, 127));
        }
        for row in Isa::get().rows(component).iter().filter(|row| row.name == "rep") {
            assert_eq!(range(&row.fields[row.field("step").unwrap()]), (-64, 63));
        }
    }
    let text = "cell (row=0, col=0)\nrep(slot=1, port=word_read, iter=2, step=100)\n";
    let words = assemble(&seed(), "t", text).unwrap().program;
    assert_eq!(disassemble(&seed(), &words, Listing::Named).text(), text);
    let listed = disassemble(&seed().of_revision(Revision::Text), &words, Listing::Named).text();
    assert!(listed.contains("step=-28"), "{listed}");
    let message = assemble(&seed(), "t", &text.replace("100", "-1")).unwrap_err();
    assert!(format!("{message:?}").contains("0 to 127"), "{message:?}");
    // Forward by 63 steps of 1, and back by 1 with both halves of a step.
    let (machine, run) = run("swb(slot=0, channel=2, source=1, target=2)
        dsu(slot=1, port=word_read, init_addr=3) rep(slot=1, port=word_read, iter=4, step=127)
        repx(slot=1, port=word_read, step=127) dsu(slot=2, port=word_write) rep(slot=2, port=word_write, iter=4)
        act(ports=0x12, param=1) wait(mode=events, cycle=2) halt()");
    assert_eq!(machine.cells()[0].rfs[1].rows[0][..4], [103, 102, 101, 100]);
    assert_eq!(run.warnings, []);
    let big = from_short("1x1: [swb,iosram_top,rf]").unwrap().of_revision(Revision::Seed);
    let text = "dsu(slot=1, port=input_buffer, init_addr=5) rep(slot=1, port=input_buffer, iter=2, step=127)
        dsu(slot=1, port=sram_write) rep(slot=1, port=sram_write, iter=2) act(param=1, ports=5) wait(cycle=2) halt()";
    let mut machine = Machine::new(&big, &program(&big, text)).unwrap();
    machine.set_input(&[(5, [1; 16]), (132, [2; 16])].into()).unwrap();
    machine.run(100, &mut ()).unwrap();
    assert_eq!((machine.cells()[0].iosrams[0].rows[0][0], machine.cells()[0].iosrams[0].rows[1][0]), (1, 2));
}

/// All 32 modes are accepted. The three reserved modes give 0, with a warning.
#[test]
fn every_mode_of_the_dpu_is_taken() {
    for mode in 0..32 {
        let text = format!("dpu(slot=4, mode={mode}, immediate=3) wait(cycle=2) halt()");
        let (machine, _) = run(&text);
        let reserved = [6, 15, 31].contains(&mode);
        if reserved {
            assert_eq!(machine.cells()[0].dpus[0].out, 0);
        }
        let messages = instance("1x1+seed").assemble(
            "k.asm",
            &format!("cell (row=0, col=0) {}", text.replace("slot=4", "slot=8")),
            &npukit_target::NoFiles,
        );
        let messages = messages.unwrap().warnings;
        assert_eq!(
            messages.iter().any(|message| message.contains("is reserved: its result is 0")),
            reserved,
            "{messages:?}"
        );
    }
    let (machine, _) =
        run("swb(slot=0, channel=4, source=1, target=4) dpu(slot=4, mode=add_const, immediate=11)
        dsu(slot=1, port=word_read, init_addr=2) act(ports=2, param=1) wait() halt()");
    assert_eq!(machine.cells()[0].dpus[0].out, 11, "0 + 11 when nothing is read any more");
}

fn instance(name: &str) -> Box<dyn Instance> {
    DRRA.instance(InstanceSpec::Preset(name)).unwrap()
}

/// Suffixes combine in any order.
#[test]
fn endings_combine() {
    for name in ["3x1+seed+ext+f11", "3x1+f11+ext+seed", "3x1+ext+seed+f11", "3x1+seed+f11+ext"] {
        let config = instance(name).info().config.clone();
        assert_eq!(config["revision"]["name"], "seed", "{name}");
        assert_eq!(config["extensions"], true, "{name}");
        assert_eq!(config["fraction_bits"], 11, "{name}");
        assert_eq!(config["seed"]["event"], "slot", "{name}");
    }
    let Err(error) = DRRA.instance(InstanceSpec::Preset("3x1+seed+ext+later")) else {
        panic!("two revisions")
    };
    let message = format!("{error:?} {error}");
    assert!(message.contains("`+seed` and `+later` both select a revision"), "{message}");
}

/// The instruction-set page and the assembler have the same ranges, in each reading.
#[test]
fn the_page_is_of_the_reading() {
    for (name, step, brn) in [("3x1", "-64 to 63", "from the next"), ("3x1+seed", "0 to 127", "from itself")]
    {
        let spec = instance(name).isa().unwrap();
        let find = |name: &str| spec.instructions.iter().find(|row| row.name == name).unwrap();
        let field = &find("rep").fields[find("rep").field("step").unwrap()];
        assert_eq!(field.legal(), step, "{name}");
        assert!(find("brn").meaning.contains(brn), "{name}");
    }
}

/// A fabric file chooses where the ISA document is silent, and its elaborated form keeps the
/// choice.
#[test]
fn files_choose_what_the_text_leaves_open() {
    let mut file = to_json(&seed());
    file["options"]["seed"] =
        serde_json::json!({ "event": "port1", "events": "any", "dsu_option": "nothing" });
    let fabric = from_json(&file.to_string()).unwrap();
    let choices = fabric.options.seed;
    assert_eq!((choices.event, choices.events), (Event::Port1, Events::Any));
    assert_eq!((choices.dsu_option, choices.logic_operands), (DsuOption::Nothing, LogicOperands::Flags));
    assert_eq!(from_json(&to_json(&fabric).to_string()).unwrap().options, fabric.options);
    file["options"]["revision"] = "released".into();
    assert!(matches!(from_json(&file.to_string()), Err(ConfigError::Seed { revision: "released" })));
}

/// Loops and branches of PASM test flags; the scheduler names one port if several slots start.
#[test]
fn pasm_is_compiled_for_the_reading() {
    let text = "for (iter=5) {
  epoch {
    cop (row=0, col=0) { calc (mode=add, operand1=1, operand2=2, result=1) }
  }
}
epoch {
  cop (row=0, col=0) { calc (mode=gt, operand1=1, operand2=9, result=2) }
}
if (reg=2) {
  epoch { cop (row=0, col=0) { calc (mode=add, operand1=0, operand2=21, result=3) } }
} else {
  epoch { cop (row=0, col=0) { calc (mode=add, operand1=0, operand2=12, result=3) } }
}
epoch {
  rop<one> (row=0, col=0, slot=1, port=1) { dsu (init_addr=1) }
  rop<two> (row=0, col=0, slot=7, port=1) { dsu (init_addr=2) }
  rop<sum> (row=0, col=0, slot=0, port=0) { swb (channel=2, source=1, target=2) }
  cstr(\"one == two\")
  cstr(\"sum < one\")
}";
    let fabric = from_short("1x1: [swb,rf,rf,rf,rf,rf,rf,rf]").unwrap();
    for (revision, name) in [(Revision::Seed, "calc(mode=ne"), (Revision::Text, "brn(")] {
        let fabric = fabric.clone().of_revision(revision);
        let kernel = compile(&fabric, "k.pasm", text, 0).unwrap_or_else(|errors| panic!("{errors:?}"));
        let listed = disassemble(&fabric, &kernel.program, Listing::Named).text();
        assert!(listed.contains(name), "{listed}");
        let param = if revision == Revision::Seed { "param=1" } else { "param=2" };
        assert!(listed.contains(&format!("act(ports=130, mode=port_index, {param})")), "{listed}");
        let mut machine = Machine::new(&fabric, &kernel.program).unwrap();
        let run = machine.run(1000, &mut ()).unwrap();
        assert_eq!(Some(run.cycles as i64), kernel.cycles, "{revision:?}");
        let regs = machine.cells()[0].sequencer.regs;
        assert_eq!((regs[1], regs[3]), (10, 21), "{revision:?}");
    }
}
