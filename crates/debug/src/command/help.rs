//! [`Help`]: table of all commands. A test checks that `docs/debug.md` lists the same commands.

/// Help of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// Name of the command.
    pub name: &'static str,
    /// Short name; may be empty.
    pub short: &'static str,
    /// Syntax with all arguments.
    pub form: &'static str,
    /// Effect of the command, in one line.
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

/// Table of all commands, in the order of `help`.
#[rustfmt::skip] // A table.
pub const COMMANDS: &[Help] = &[
    help("step", "s", "step [N]", "executes the next step, or N steps"),
    help("back", "b", "back [N]", "undoes the last step, or N steps"),
    help("next", "n", "next [N]", "runs to the beginning of the next layer"),
    help("previous", "p", "previous [N]", "goes back to the beginning of this layer, or of the one before"),
    help("continue", "c", "continue", "runs to the next breakpoint or watchpoint, or to the end"),
    help("reverse", "r", "reverse", "goes back to the previous breakpoint or watchpoint, or to the start"),
    help("goto", "g", "goto N | start | end | instruction N | line [FILE:]N | layer NAME | cycle N", "goes to a step, ignoring breakpoints and watchpoints"),
    help("break", "", "break INSTRUCTION | line [FILE:]N | layer NAME | wait UNIT", "stops before an instruction, a layer, or an instruction for which a unit waits"),
    help("watch", "", "watch RANGE [read | write | access | saturation] [if [raw] ORDER NUMBER]", "stops after a step that accesses numbers of a memory"),
    help("delete", "", "delete N | all", "removes a breakpoint or watchpoint, or all of them"),
    help("points", "", "points", "lists breakpoints and watchpoints"),
    help("scan", "", "scan", "lists all steps of the program that hit a watchpoint"),
    help("where", "w", "where", "shows the position, and why the program stopped there"),
    help("list", "l", "list [N]", "lists N instructions before and after the next step"),
    help("show", "x", "show RANGE [real | raw | hex | float | error]", "shows numbers of a memory"),
    help("accesses", "a", "accesses [STEP]", "shows what the next step, or another one, reads and writes"),
    help("changed", "", "changed", "shows the addresses that the last step wrote"),
    help("who", "", "who RANGE [depth N]", "traces numbers of a memory back to the steps and operands that made them"),
    help("clock", "", "clock", "shows the cycles of the next step, and what its units wait for"),
    help("motion", "m", "motion [CYCLE]", "shows the values inside a unit during the next step, in one cycle or in all"),
    help("layers", "", "layers", "lists the layers and the steps at which they begin"),
    help("memories", "", "memories", "lists the memories"),
    help("tensors", "", "tensors", "lists the addresses of inputs, constants and outputs"),
    help("expect", "", "expect step N | cycle N | line N | layer NAME | text TEXT | stop REASON [N] | saturations N | hits N | writer STEP | writer nobody | RANGE [real | raw | float | error] NUMBER... [within NUMBER]", "fails if the program differs"),
    help("help", "h", "help [COMMAND]", "lists the commands, or explains one"),
];
