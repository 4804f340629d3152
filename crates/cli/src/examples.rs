//! Examples of each verb, for its help and its manual page.

use clap::Command;

/// Command line with a description.
type Example = (&'static str, &'static str);

/// First commands of a new user, with the questions that they answer.
pub const FIRST: [Example; 3] = [
    ("npu check model.onnx --target tcu:pynqz1 --compile", "Does my network fit, and how fast is it?"),
    (
        "npu run model.onnx --target tcu:pynqz1 --input random:1",
        "What does the accelerator compute, bit for bit?",
    ),
    ("npu compile model.onnx --target tcu:pynqz1", "Which files does the board load?"),
];

/// Examples of all verbs. Command lines are written as in a shell.
#[rustfmt::skip] // A table.
const EXAMPLES: &[(&str, &[Example])] = &[
    ("compile", &[
        ("npu compile m.onnx --target tcu:pynqz1", "Write the files that the board's driver loads"),
        ("npu compile m.onnx --target opu --calibrate x.npy -o out/", "Choose integer scales from typical inputs"),
        ("npu compile m.onnx --target tcu --emit plan", "Show the memory plan"),
        ("npu compile m.onnx --target tcu -o out/ --test-vectors x.npy", "Write an input and its bit-exact output, too"),
    ]),
    ("run", &[
        ("npu run m.onnx --target tcu:pynqz1 --input random:1 -o y.npz", "Compile, run bit-exactly, compare with float"),
        ("npu run m.onnx --target tcu --input photos/ --scale 1/255 --labels y.txt", "Measure the accuracy on images, next to that of float"),
        ("npu run out/m_onnx_pynqz1.tmodel --input x.npy --waves m.fst", "Run an artifact, and write waveforms for GTKWave"),
        ("npu run p.s --target tcu --mem dram0=x.npy --dump acc[0:4] --motion m.svg", "Run a program in assembly, show a memory, and draw its array at work"),
    ]),
    ("eval", &[
        ("npu eval m.onnx --input x.npy -o y.npz", "Compute in float only"),
        ("npu eval m.onnx --input photos/ --scale 1/255 --labels y.txt", "Measure the accuracy of float on images"),
    ]),
    ("time", &[
        ("npu time m.onnx --target tcu:ultra96v2", "Show cycles, milliseconds and where they go"),
        ("npu time out/m_onnx_pynqz1.tmodel --trace t.pftrace", "Write a trace of all units, for ui.perfetto.dev"),
        ("npu time m.gguf --target pccx --context 128,8192 --batch 1,8", "Time a language model, without its weights"),
        ("npu time m.onnx --target opu --host 5,400e6 --technology horowitz-45nm -v", "Estimate the host's time, and energy"),
    ]),
    ("debug", &[
        ("npu debug p.s --target tcu --mem dram0=x.npy", "Step through a program in assembly on the terminal"),
        ("npu debug out/m_onnx_pynqz1.tmodel --model m.onnx --input x.npy", "Debug an artifact, with its model in float for comparison"),
        ("npu debug p.s --target opu --script s.txt", "Execute a file of commands, and fail if its expectations are not met"),
        ("npu debug --dap", "Serve an editor that steps through programs"),
    ]),
    ("check", &[
        ("npu check m.onnx --target tcu:pynqz1", "Check whether a model fits, and what to change"),
        ("npu check m.onnx --target opu --calibrate x.npy", "Estimate the risk of saturation from typical inputs"),
    ]),
    ("verify", &[
        ("npu verify m.onnx --target tcu:pynqz1", "Compile a model, and prove that the program computes it"),
        ("npu verify m.onnx --artifact out/m_onnx_pynqz1.tmodel", "Prove an artifact from any source"),
    ]),
    ("conform", &[
        ("npu conform tcu tests/golden/tcu", "Run all golden vectors of a folder"),
        ("npu conform drra kernels.json encodings.json --json", "Run two files, and print a report for programs"),
    ]),
    ("demo", &[
        ("npu demo", "Compile, run and time a small network"),
        ("npu demo --target opu", "Do it on another accelerator"),
    ]),
    ("generate", &[
        ("npu generate 123+456=", "Continue a text in float"),
        ("npu generate 123+456= --target pccx --profile", "Continue it bit-exactly, and show where a token's time goes"),
        ("npu generate --model smollm2.gguf --chat --temperature 0.7 --top-p 0.9", "Converse with a model from a file"),
        ("npu generate --accuracy --target pccx", "Count right answers for held-out texts"),
    ]),
    ("serve", &[
        ("npu serve --model smollm2.gguf", "Serve a model to programs of this computer"),
        ("npu serve --model smollm2.gguf --port 0 --origin http://localhost:3000", "Choose a free port, and allow a web page"),
    ]),
    ("embed", &[
        ("npu embed 'A cat sleeps' 'A kitten naps' --model all-MiniLM-L6-v2/", "Compare texts by their vectors"),
        ("npu embed 'A cat sleeps' --model m.gguf -o v.npy", "Write the vectors as an array"),
    ]),
    ("zoo", &[
        ("npu zoo", "List the reference networks"),
        ("npu zoo resnet20v2", "Write one of them: resnet20v2.onnx"),
        ("npu zoo mlp -o m.onnx --seed 7", "Write it with other weights"),
    ]),
    ("bench", &[
        ("npu bench programs", "Compare cycles of reference networks with published ones"),
        ("npu bench programs --only resnet20v2,zcu104", "Select one network and one board"),
        ("npu bench programs --host 5,400e6", "Add the host's estimated time to milliseconds"),
        ("npu bench speed --runs 9", "Measure the simulator, nine times each"),
    ]),
    ("host", &[
        ("npu host pccx map", "Show registers, and the bits of commands and status"),
        ("npu host pccx commands c.txt -o c.bin", "Encode commands to words, or decode words to text"),
        ("npu host pccx accesses p.s --json", "Print the accesses of a driver that runs a program"),
        ("npu host pccx answers c.txt", "Let the device answer commands with a language model"),
    ]),
    ("asm", &[
        ("npu asm p.s --target tcu:pynqz1", "Assemble a text to words: p.tprog"),
        ("npu asm k.pasm --target drra:3x1 -o instr.bin", "Schedule operations, and assemble them to words"),
        ("npu asm p.s --target opu -o p.words --map lines.json", "Write the source map to another file than p.words.map"),
    ]),
    ("disasm", &[
        ("npu disasm p.tprog --target tcu:pynqz1", "Print a program"),
        ("npu disasm out/m_onnx_pynqz1.tmodel", "Print the program of an artifact, with its layers"),
        ("npu disasm p.tprog --target tcu:pynqz1 --plain -o p.s", "Write only its instructions"),
        ("npu disasm instr.bin --target drra:3x1 --format upstream -o k.asm", "Write it in the format of upstream's own tool"),
    ]),
    ("lint", &[
        ("npu lint out/m_onnx_pynqz1.tmodel", "Check an artifact"),
        ("npu lint p.s --target tcu:pynqz1", "Check a text"),
    ]),
    ("format", &[
        ("npu format k.pasm --target drra", "Print a formatted program"),
        ("npu format k.pasm --target drra -o k.pasm", "Format it in place"),
        ("npu format k.pasm --target drra --check", "Fail if it is not formatted"),
    ]),
    ("report", &[
        ("npu report m.onnx --target tcu --input x.npy", "Show layers, units, memories and values"),
        ("npu report m.onnx --target opu --against report.html -o both.html", "Compare it with another target"),
        ("npu report m.onnx --target tcu --svg figures/", "Draw the roofline and the timeline for a paper"),
        ("npu report m.onnx --target tcu --technology my.toml --host 5,400e6", "Add energy, and the host's time"),
    ]),
    ("explore", &[
        ("npu explore m.onnx --space space.toml", "Compile a model for every machine of a space"),
        ("npu explore m.onnx --target tcu --target opu", "Compare targets"),
        ("npu explore m.onnx --space space.toml --resume points.log", "Continue the last run"),
        ("npu explore m.onnx --space s.toml --best latency --where 'dsp<99' --write b",
         "Write the fastest machine that fits, and its program"),
    ]),
    ("bug-report", &[
        ("npu bug-report m.onnx --target tcu:pynqz1", "Write a folder to attach to an issue, without weights and names"),
        ("npu bug-report m.onnx --target opu --with-model", "Add the model, with its weights and names"),
    ]),
    ("rtl", &[
        ("npu rtl tcu:zcu104", "Write the circuit of a board"),
        ("npu rtl tcu:my.tarch,array_size=16 -o out/", "Write the circuit of your own instance"),
        ("npu rtl tcu:zcu104 --released -o out/", "Write it with the defects of the released circuit"),
        ("npu rtl tcu:ulx3s --board -o out/", "Write a system for a board, with processor and memory"),
    ]),
    ("build", &[
        ("npu build out/", "Make the bitstream of a system that `npu rtl --board` wrote"),
        ("npu build out/ --json", "Print resources, clocks and the slowest path as JSON"),
    ]),
    ("cosim", &[
        ("npu cosim m.onnx --target tcu:zcu104 --input x.npy", "Compare the circuit with machine and clock in all bits and cycles"),
        ("npu cosim out/m_onnx_pynqz1.tmodel --input x.npy --stalls 7", "Compare for an artifact, with random memory stalls"),
        ("npu cosim m.onnx --target tcu:zcu104 --rtl mine/ --waves d.fst", "Find out where your own circuit differs"),
    ]),
    ("isa", &[
        ("npu isa tcu:pynqz1", "Print all instructions with their bits"),
        ("npu isa opu --format markdown", "Print them as Markdown"),
    ]),
    ("glossary", &[
        ("npu glossary", "Print all words"),
        ("npu glossary saturation", "Explain one"),
        ("npu glossary systolic array", "Explain a term of two words"),
    ]),
    ("targets", &[
        ("npu targets", "List the accelerators and their instances"),
        ("npu targets tcu:pynqz1 --svg pynqz1.svg", "Draw the units, memories and data paths of an instance"),
        ("npu targets tcu --options", "List the options of its compiler"),
        ("npu targets tcu:ultra96v2", "List the parameters that `--target tcu:ultra96v2,array_size=8` may set"),
    ]),
    ("trace", &[
        ("npu trace m.onnx --input x.npy -o float.npz", "Write every value of the network in float"),
        ("npu trace m.onnx --target tcu:pynqz1 --input x.npy -o t.npz", "Write the machine's values of every layer"),
        ("npu trace out/m_onnx_pynqz1.tmodel --model m.onnx --input x.npy -o t.npz", "Write them for an artifact"),
    ]),
    ("diff", &[
        ("npu diff before.json after.json --threshold 2", "Fail if a figure became worse by more than 2 %"),
        ("npu diff m.onnx m.onnx@tcu:pynqz1 --input x.npy", "Show where the machine differs from float, and why"),
        ("npu diff m.onnx@tcu:pynqz1 board.npz --input x.npy", "Show where a board differs from the machine"),
        ("npu diff out/m_onnx_pynqz1.tmodel dram0=dram0.bin --input x.npy", "Compare the board's memory"),
    ]),
    ("explain", &[
        ("npu explain saturation", "Explain a term; `npu explain` lists all terms"),
        ("npu explain open-dimensions", "Explain an error code"),
        ("npu explain lost-addition --target tcu", "Explain a finding of `npu lint`"),
        ("npu explain matmul --target tcu", "Print one instruction"),
    ]),
    ("lsp", &[
        ("npu lsp", "Serve the editor that starts it"),
        ("npu lsp --target tcu:zcu104", "Serve it, with a target for texts that specify none"),
    ]),
    ("completions", &[
        ("npu completions bash", "Print the script; `source <(npu completions bash)` loads it"),
        ("npu completions fish", "Print the script for fish: `npu completions fish | source`"),
    ]),
    ("man", &[
        ("npu man", "Write the pages; `man man1/npu-run.1` shows one"),
        ("npu man -o man1 --date 2026-01-31", "Write them with a date"),
    ]),
];

/// Returns the examples of a verb.
pub fn of(verb: &str) -> &'static [Example] {
    // Default: a verb without examples is an error that a test finds.
    EXAMPLES.iter().find(|(name, _)| *name == verb).map_or(&[], |(_, examples)| *examples)
}

/// Number of examples with `-h`.
const BRIEF: usize = 2;

/// Adds examples to the help of each verb; `-h` only shows the first ones.
pub fn attach(command: Command) -> Command {
    command.mut_subcommands(|verb| {
        let examples = of(verb.get_name());
        let brief = examples.iter().take(BRIEF).map(|(line, _)| format!("\n  {line}"));
        let full = examples.iter().map(|(line, does)| format!("\n  {does}:\n    {line}\n"));
        let (brief, full) = (text(brief), text(full));
        verb.after_help(brief).after_long_help(full.trim_end().to_owned())
    })
}

fn text(lines: impl Iterator<Item = String>) -> String {
    format!("Examples:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::cli::command;

    #[test]
    fn every_verb_has_examples() {
        let verbs: Vec<String> = command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        for verb in &verbs {
            let count = of(verb).len();
            assert!((2..=4).contains(&count), "{verb}: {count}");
        }
        assert_eq!(EXAMPLES.len(), verbs.len(), "every example belongs to a verb");
    }

    /// `docs/commands.md` has each verb with its examples between two marks. `NPUKIT_BLESS=1`
    /// updates it.
    #[test]
    fn the_page_of_commands_has_every_verb() {
        let section = |verb: &Command| {
            let lines: String =
                of(verb.get_name()).iter().map(|(line, does)| format!("# {does}\n{line}\n")).collect();
            format!("### {}\n\n{}.\n\n```text\n{lines}```\n\n", verb.get_name(), verb.get_about().unwrap())
        };
        let sections: String =
            command().get_subcommands().filter(|verb| !verb.is_hide_set()).map(section).collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
        let page = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        let (begin, end) = ("<!-- commands -->\n", "<!-- /commands -->");
        let (before, rest) = page.split_once(begin).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        let expected = format!("{before}{begin}{sections}{end}{after}");
        if std::env::var("NPUKIT_BLESS").is_ok_and(|bless| bless == "1") {
            std::fs::write(path, &expected).unwrap();
        } else {
            assert!(page == expected, "NPUKIT_BLESS=1 writes docs/commands.md");
        }
    }

    /// The parser accepts each example for its verb, and the instances in them exist.
    #[test]
    fn every_example_is_a_command_line() {
        for (verb, examples) in EXAMPLES {
            for (line, does) in *examples {
                assert!(line.len() <= 76 && does.len() <= 76, "{line} is wider than 80 columns");
                let words = shlex::split(line).unwrap();
                let matches =
                    command().try_get_matches_from(&words).unwrap_or_else(|e| panic!("{line}: {e}"));
                let (found, given) = matches.subcommand().unwrap();
                assert_eq!(found, *verb, "{line}");
                let target = given.try_get_one::<String>("target").ok().flatten();
                let preset = target.filter(|target| !target.contains(".tarch"));
                assert!(
                    preset.is_none_or(|spec| npukit::resolve(spec, &crate::disk::Disk).is_ok()),
                    "{line}"
                );
            }
        }
    }
}
