//! Kinds of findings of [`mod@crate::check`]: [`LINTS`].

#[rustfmt::skip] // A table.
mod table {
npukit_target::lints! {
    CONFIGURED_WHILE_RUNNING = "configured-while-running", asm [Error]: "a port is configured while it runs";
        "An address generator works from the registers that `dsu`, `rep` and `repx` write. While its port is active they may not \
         change: the sequence that runs would go on from a mixture. Put a `wait` before it, as long as the message says, or \
         configure another port.";
    DEFAULT_STEP = "default-step", asm [Warning]: "`repx` leaves `step` to its default of 1";
        "`repx` has the high parts of the fields of the `rep` before it, so that its step counts multiples of 128: the default \
         of 1 adds 128 to the step. Write `step=0` when only repetitions or delays are long.";
    DROPPED_ROW = "dropped-row", [Warning]: "two rows come to a memory in one cycle, and one is lost";
        "A memory takes one row in a cycle. What the input buffer writes comes first, and the row that another memory sends in \
         that cycle is dropped. Let one of the two transfers wait until the other has ended.";
    EARLY_CONFIGURATION = "early-configuration", asm [Error]: "a port is configured in the first cycles after its last address";
        "A port that has given its last address in cycle L clears its configuration in the next cycles. What is written in \
         L + 1 is lost in some circuits and kept in others, so that it is an error where it is not known to be right, and a \
         warning on fabrics that keep it. Add a cycle to the `wait` before it.";
    FAULTS = "faults", asm [Error]: "the cell cannot execute this";
        "The sequencer was followed to this instruction and stops there: a branch leaves the program, or a register names a \
         slot or a port that is not there. The message says which.";
    FIRST_ADDRESS = "first-address", asm [Error]: "the circuit has no first address at this port";
        "The address generator of this component begins at 0 whatever `init_addr` says. Put the first vector at address 0, or \
         use a component whose generator has one.";
    LOST_LANE = "lost-lane", asm [Error]: "a second lane or `trans` at a port that has one lane";
        "Hardware builds the ports of input and output memories with a single lane: what opens a second lane, or moves to another \
         pattern, is lost there. Use two calls of the port with one pattern each. Where the seed's text counts, it is a warning.";
    NARROW_FIELD = "narrow-field", asm [Error]: "the circuit keeps fewer bits of a field";
        "The generators of the released components are narrower than the instruction word. A dpu keeps 7 bits of `iter`, so that \
         `rep(slot=4, port=rst, iter=144, delay=1)` repeats 16 times. Split the repetition into two levels.";
    NEGATIVE_STEP = "negative-step", asm [Error]: "the circuit takes a negative step for a large positive one";
        "Addresses of a buffer have more bits than a step, and the circuit does not extend its sign there: step -1 is 255. \
         Count upwards, or let addresses wrap at the depth of the memory.";
    NO_BRANCH = "no-branch", asm [Error]: "the sequencer does not know `brn`";
        "The sequencer of the released fabric takes a conditional branch as nothing and goes on with the next instruction. Write \
         the instructions as often as they are needed, or use the repetitions of the ports.";
    NO_EVENT = "no-event", asm [Warning]: "`wait` for events names no port that is there";
        "Without a port that could end, the wait is over at once. Name the slots of ports that are active.";
    NO_PORT = "no-port", asm [Warning]: "a port is activated that does not exist";
        "`act` starts the ports of a slot by their bits. One of the bits stands for a port without a generator, so that nothing is \
         started there. Look at the slot's component: `npu isa drra` lists its ports.";
    NO_REGISTER = "no-register", asm [Warning]: "a register has a number beyond 15";
        "The sequencer has 16 registers, and numbers count modulo 16. Write the number that is meant.";
    NO_TIMES = "no-times", asm [Warning]: "a repetition of 0 times";
        "`iter=0` repeats nothing; the generator counts it as a single time. Take the `rep` away, or write the number that is \
         meant.";
    NOTHING_THERE = "nothing-there", asm [Warning]: "a route or a switch names a slot that has no data";
        "`swb` connects words of register files and dpus, `route` rows of memories. The slot that is named has none of that kind, so \
         that nothing comes of it. Look at the fabric with `npu targets drra`.";
    OTHER_ADDRESSES = "other-addresses", asm [Error]: "a port gives other addresses than its instructions say";
        "The sequencer was followed twice, as the circuit works and as the text of the instruction set says. The port that is \
         started here gives other addresses in the two, for a reason that no other finding names. Set up the port again, in one \
         piece, before it is started.";
    OTHER_PORT = "other-port", asm [Error]: "hardware takes the instruction for another port";
        "Of `rep`, `repx` and `trans` hardware ignores the port and takes the one of the last `dsu` or `evt` of the slot. Write \
         all instructions of one port one after the other. Where the seed's text counts, it is a warning.";
    OTHER_RESULT = "other-result", asm [Error]: "the sequencer computes another number";
        "`calc` in the released sequencer does not have the operation, or not the width, that the text of the instruction set \
         says. The message has both numbers.";
    REFUSED = "refused", asm [Error]: "the fabric does not execute this instruction";
        "The slot has no such component, the component no such port, or the document no meaning for the mode. The machine stops \
         at it, before the program runs. The message says which, and with which fabric it would be legal.";
    HIGH_PARTS = "repx-high-parts", asm [Error]: "the circuit puts the fields of `repx` elsewhere";
        "`repx` extends the fields of the `rep` before it by high bits, and this component has fewer low bits than the text of \
         the instruction set says, so that the high parts land lower and mean another number. Use values that fit the low bits \
         alone.";
    NEXT_LEVEL = "repx-next-level", asm [Error]: "the circuit writes `repx` into the next level";
        "In the text of the instruction set `repx` extends the `rep` before it; in this component it is one more level of \
         repetition. Use values that fit a `rep` alone.";
    RESERVED_MODE = "reserved-mode", asm [Warning]: "a mode of the dpu that is reserved";
        "The number has no name in any source, and the dpu gives 0 for it. Choose a mode that `npu isa` names.";
    SECOND_LANE = "second-lane", asm [Error]: "hardware loses repetitions when a second lane is opened";
        "A second `dsu` for the same port opens a lane. The circuit then forgets the first level of the first lane. Give the \
         first lane an outer level that repeats once. Where the seed's text counts, it is a warning.";
    STARTED_WHILE_RUNNING = "started-while-running", asm [Error]: "a port is started while it runs";
        "The port goes on as before and the second start is lost. Wait until it has given its last address: the message has \
         the cycle.";
    STILL_RUNNING = "still-running", [Warning]: "a port still runs when the last cell halts";
        "The call returns with the last `halt`, whatever ports still do: what this one has not written by then is missing, and the \
         next call finds it under way. Put a `wait` before the `halt`, as long as the port takes.";
    UNREACHABLE = "unreachable", [Warning]: "instructions that are never executed";
        "A cell's sequencer does the same whatever the data are, so that it can be followed from the first instruction to \
         `halt`. It never comes to these instructions: they stand behind a `halt`, or a branch jumps over them. Take them away, \
         or correct the branch.";
    UNREAD_RESULT = "unread-result", [Warning]: "a port writes words that nobody reads";
        "The program was followed to its end, and nothing was read of all that this port wrote since it was configured here: not \
         by a dpu, not by another memory, not by the output buffer. Take the transfer away, or look at the addresses of its \
         reader. What a register file or a memory is to hold after the program is reported, too; allow it there.";
    UNUSED_CONFIGURATION = "unused-configuration", [Warning]: "a port is configured and never started";
        "`dsu` or `evt`, with the repetitions behind them, set up a port, and `act` starts it. The cell was followed up to its \
         `halt`, and this port was not started after it was configured, as in a `dsu` and a `rep` with no `act` of that port \
         behind them. Start it, or take the configuration away.";
    UNWRITTEN_READ = "unwritten-read", [Warning]: "words are read that nothing has written";
        "The program was followed to its end, every row of the input buffer counting as written. The port that is started here \
         reads words that no instruction has written before, or passes such words on to where they are used. After reset \
         hardware has anything there. Start it later, or look at the addresses of the writer.";
    WRAPPED_ADDRESS = "wrapped-address", [Warning]: "a port gives an address beyond its memory";
        "Addresses of a port count modulo the depth of the memory, so that this one names another place. Look at `init_addr` and \
         the steps of the repetitions, or count modulo on purpose and allow it.";
}
}

pub use table::*;
