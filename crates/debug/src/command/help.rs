//! [`Help`]: table of all commands. A test checks that `docs/debug.md` lists the same commands.

/// Help of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// Name of the command.
    pub name: &'static str,
    /// Short name; empty if there is none.
    pub short: &'static str,
    /// Syntax.
    pub form: &'static str,
    /// Effect, in one line.
    pub meaning: &'static str,
}

impl Help {
    /// Returns the help of a command.
    pub fn of(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|help| help.name == name || (!help.short.is_empty() && help.short == name))
    }
}

const fn help(name: &'static str, short: &'static str, form: &'static str, meaning: &'static str) -> Help {
    Help { name, short, form, meaning }
}

/// All commands.
#[rustfmt::skip] // A table.
pub const COMMANDS: &[Help] = &[
    help("step", "s", "step [N]", "does the next step, or N of them"),
    help("back", "b", "back [N]", "takes the last step back, or N of them"),
    help("next", "n", "next [N]", "goes on to where the next layer begins"),
    help("previous", "p", "previous [N]", "goes back to where this layer begins, or the one before it"),
    help("continue", "c", "continue", "goes on to the next breakpoint or watchpoint, or the end"),
    help("reverse", "r", "reverse", "goes back to the last breakpoint or watchpoint, or the start"),
    help("goto", "g", "goto N | start | end | instruction N | line [FILE:]N | layer NAME | cycle N", "goes to a step, past all points"),
    help("break", "", "break INSTRUCTION | line [FILE:]N | layer NAME | wait UNIT", "stops before an instruction, a layer, or an instruction for which a unit waits"),
    help("watch", "", "watch RANGE [read | write | access | saturation] [if [raw] ORDER NUMBER]", "stops behind a step that uses numbers of a memory"),
    help("delete", "", "delete N | all", "takes a breakpoint or watchpoint away"),
    help("points", "", "points", "lists breakpoints and watchpoints"),
    help("scan", "", "scan", "lists every step of the whole program that hits a watchpoint"),
    help("where", "w", "where", "tells where the program stands, and why"),
    help("list", "l", "list [N]", "lists the next step with N instructions on either side"),
    help("show", "x", "show RANGE [real | raw | hex | float | error]", "shows numbers of a memory"),
    help("accesses", "a", "accesses [STEP]", "tells what the next step, or another one, reads and writes"),
    help("changed", "", "changed", "shows what the last step has written"),
    help("who", "", "who RANGE [depth N]", "tells who wrote numbers of a memory, from what, back to constants and inputs"),
    help("clock", "", "clock", "tells when the clock has the next step, and what units wait for"),
    help("layers", "", "layers", "lists the layers and the steps at which they begin"),
    help("memories", "", "memories", "lists the memories"),
    help("tensors", "", "tensors", "lists where inputs, constants and outputs lie"),
    help("expect", "", "expect step N | cycle N | line N | layer NAME | text TEXT | stop REASON [N] | saturations N | hits N | writer STEP | writer nobody | RANGE [real | raw | float | error] NUMBER... [within NUMBER]", "fails where it is otherwise"),
    help("help", "h", "help [COMMAND]", "lists the commands, or tells of one"),
];
