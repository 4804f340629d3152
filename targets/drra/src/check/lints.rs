//! Lint kinds of [`mod@crate::check`]: [`LINTS`].

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
mod table {
npukit_target::lints! {
    CONFIGURED_WHILE_RUNNING = "configured-while-running", asm [Error]: "a port is configured while it runs";
        "An address generator reads the registers that `dsu`, `rep` and `repx` write. They must not change while its port is \
         active: the address sequence would mix the old and the new configuration. Put a `wait` before it, of the length that \
         the message gives, or configure another port.";
    DEFAULT_STEP = "default-step", asm [Warning]: "`repx` leaves `step` to its default of 1";
        "`repx` holds the high bits of the fields of the `rep` before it, so a step of 1 means 128: the default adds 128 to \
         the step. Write `step=0` if only repetitions or delays are long.";
    DROPPED_ROW = "dropped-row", [Warning]: "a memory receives two rows in one cycle, and one is lost";
        "A memory takes one row per cycle. Rows from the input buffer have priority, and the row that another memory sends in \
         that cycle is dropped. Start one of the two transfers after the other has ended.";
    EARLY_CONFIGURATION = "early-configuration", asm [Error]: "a port is configured in the first cycles after its last address";
        "A port that gives its last address in cycle L clears its configuration in the next cycles. A configuration written in \
         L + 1 is lost in some circuits and kept in others. It is an error where it is not known to be kept, and a warning on \
         fabrics that keep it. Make the `wait` before it one cycle longer.";
    FAULTS = "faults", asm [Error]: "the cell cannot execute this";
        "The sequencer stops at this instruction: a branch leaves the program, or a register names a slot or a port that does \
         not exist. The message gives the reason.";
    FIRST_ADDRESS = "first-address", asm [Error]: "the circuit has no first address at this port";
        "The address generator of this component starts at 0 and ignores `init_addr`. Put the first vector at address 0, or \
         use a component whose generator has a first address.";
    LOST_LANE = "lost-lane", asm [Error]: "a second lane or `trans` at a port that has one lane";
        "The ports of input and output memories have a single lane in hardware: a second lane, or a `trans` to another \
         pattern, is lost. Use two runs of the port with one pattern each. With `+seed`, it is a warning.";
    NARROW_FIELD = "narrow-field", asm [Error]: "the circuit keeps fewer bits of a field";
        "The address generators of the released components are narrower than the instruction word. A dpu keeps 7 bits of \
         `iter`, so `rep(slot=4, port=rst, iter=144, delay=1)` repeats 16 times. Split the repetition into two levels.";
    NEGATIVE_STEP = "negative-step", asm [Error]: "the circuit takes a negative step for a large positive one";
        "Buffer addresses are wider than a step, and the circuit does not sign-extend the step: -1 becomes 255. Count upwards, \
         or let addresses wrap at the depth of the memory.";
    NO_BRANCH = "no-branch", asm [Error]: "the sequencer ignores `brn`";
        "The sequencer of the released fabric ignores a conditional branch and continues with the next instruction. Unroll the \
         loop, or use the repetitions of the ports.";
    NO_EVENT = "no-event", asm [Warning]: "`wait` for events names no existing port";
        "Without a port that could end, the wait ends at once. Name the slots of active ports.";
    NO_PORT = "no-port", asm [Warning]: "a port is activated that does not exist";
        "`act` starts the ports of a slot, one per bit. One of the bits belongs to a port without an address generator, so \
         nothing starts. See the ports of the slot's component with `npu isa drra`.";
    NO_REGISTER = "no-register", asm [Warning]: "a register has a number above 15";
        "The sequencer has 16 registers, and register numbers are taken modulo 16. Write a number from 0 to 15.";
    NO_TIMES = "no-times", asm [Warning]: "a repetition of 0 times";
        "`iter=0` does not repeat; the address generator runs once. Remove the `rep`, or write the intended number.";
    NOTHING_THERE = "nothing-there", asm [Warning]: "a route or a switch names a slot without data";
        "`swb` connects words of register files and dpus, `route` connects rows of memories. The named slot has neither, so \
         the instruction has no effect. See the slots of the fabric with `npu targets drra`.";
    OTHER_ADDRESSES = "other-addresses", asm [Error]: "a port gives addresses that differ from its instructions";
        "The sequencer was followed twice: as the circuit works, and as the ISA document describes it. The port that is \
         started here gives different addresses in the two runs, for a reason that no other finding names. Write the whole \
         configuration of the port again, without interruption, before starting it.";
    OTHER_PORT = "other-port", asm [Error]: "hardware applies the instruction to another port";
        "Hardware ignores the port of `rep`, `repx` and `trans`, and uses the port of the last `dsu` or `evt` of the slot. \
         Write all instructions of a port one after the other. With `+seed`, it is a warning.";
    OTHER_RESULT = "other-result", asm [Error]: "the sequencer computes another number";
        "The released sequencer lacks the operation, or the width, that the ISA document specifies for this `calc`. The \
         message has both results.";
    REFUSED = "refused", asm [Error]: "the fabric does not execute this instruction";
        "The slot has no such component, the component has no such port, or no document defines the mode. The machine stops \
         before it runs the program. The message gives the reason, and a fabric on which the instruction is legal.";
    HIGH_PARTS = "repx-high-parts", asm [Error]: "the circuit places the fields of `repx` at other bits";
        "`repx` adds high bits to the fields of the `rep` before it. This component has fewer low bits than the ISA document \
         specifies, so the high bits land lower and change the value. Use values that fit the low bits alone.";
    NEXT_LEVEL = "repx-next-level", asm [Error]: "the circuit writes `repx` into the next level";
        "According to the ISA document, `repx` extends the `rep` before it; in this component it is one more level of \
         repetition. Use values that fit a `rep` alone.";
    RESERVED_MODE = "reserved-mode", asm [Warning]: "a reserved mode of the dpu";
        "No source names this mode, and its result is 0. Choose a mode that `npu isa` lists.";
    SECOND_LANE = "second-lane", asm [Error]: "hardware loses repetitions when a second lane is opened";
        "A second `dsu` for the same port opens a lane. The circuit then loses the first level of the first lane. Give the \
         first lane an outer level that repeats once. With `+seed`, it is a warning.";
    STARTED_WHILE_RUNNING = "started-while-running", asm [Error]: "a port is started while it runs";
        "The port continues unchanged, and the second start is lost. Wait until the port has given its last address; the \
         message gives the cycle.";
    STILL_RUNNING = "still-running", [Warning]: "a port still runs when the last cell halts";
        "The call returns with the last `halt`, even if ports are active. Words that this port has not written by then are \
         missing, and the port is still active in the next call. Put a `wait` before the `halt`, as long as the port runs.";
    UNREACHABLE = "unreachable", [Warning]: "instructions that are never executed";
        "The control flow of a sequencer does not depend on data, so it was followed from the first instruction to `halt`. It \
         never reaches these instructions: they follow a `halt`, or a branch skips them. Remove them, or correct the branch.";
    UNREAD_RESULT = "unread-result", [Warning]: "a port writes words that are never read";
        "The program was followed to its end, and none of the words that this port wrote after this configuration was read: \
         not by a dpu, not by another memory, not by the output buffer. Remove the transfer, or check the addresses of the \
         reader. Words that a register file or a memory should hold after the program are reported too; allow the finding \
         there.";
    UNUSED_CONFIGURATION = "unused-configuration", [Warning]: "a port is configured and never started";
        "`dsu` or `evt` and the following repetitions configure a port, and `act` starts it. The cell was followed to its \
         `halt`, and this port was not started after its configuration. Start it, or remove the configuration.";
    UNWRITTEN_READ = "unwritten-read", [Warning]: "words are read before they are written";
        "The program was followed to its end; every row of the input buffer counts as written. The port that is started here \
         reads words that no instruction has written before, or passes such words to an instruction that uses them. After \
         reset, hardware may hold any value there. Start the port later, or check the addresses of the writer.";
    WRAPPED_ADDRESS = "wrapped-address", [Warning]: "a port gives an address beyond its memory";
        "Addresses of a port wrap at the depth of the memory, so this one selects another word. Check `init_addr` and the \
         steps of the repetitions, or allow the finding if the wrap is intended.";
}
}

pub use table::*;
