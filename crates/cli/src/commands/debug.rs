//! The verb `npu debug`: runs a program under a debugger: with a script, for an editor, on a
//! terminal, or line by line.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::debug::{Opened, Report, Request, open};
use npukit::{InputFile, MemFile, Source};
use npukit_debug::{Debugger, Fault, Launch, Outcome, Script, parse};

use crate::answer::Answer;
use crate::args::values::mem_file;
use crate::args::{
    CalibrationArgs, INPUTS, MODEL, MeaningArgs, ModelArgs, OUTPUT, PreprocessArgs, StrictArgs, TARGET,
};
use crate::candidates::targets;
use crate::color;
use crate::disk::settle;
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::parts::{Parts, Terminal, hand_over, missing, program};
use crate::requests::{calibration_with, context, input_files, meaning, model_options, preprocess, strictly};
use crate::text::remarks;
use crate::watch::Watch;

/// Arguments of `npu debug`.
#[derive(Debug, Args)]
pub struct DebugArgs {
    /// Assembly or binary program, artifact manifest, or model
    ///
    /// A model is compiled. Without --script and --dap, the program is shown on the terminal;
    /// without a terminal, commands are read from standard input, one per line. With --dap the
    /// editor selects the program instead.
    #[arg(value_name = "PROGRAM", required_unless_present = "dap", conflicts_with = "dap")]
    pub path: Option<String>,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact specifies its own.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub meaning: MeaningArgs,
    /// Model of an artifact, which is computed in float for comparison
    ///
    /// If a model is compiled here, it is the default.
    #[arg(long = "model", value_name = "MODEL", help_heading = MODEL)]
    pub of: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Arrays, images or audio files; the first sample is used. By default zeros
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    /// Fill a memory of an assembly program
    ///
    /// Also of a binary program, as for `npu run`.
    #[arg(long, value_name = "NAME[@A]=FILE", help_heading = INPUTS, value_parser = mem_file)]
    pub mem: Vec<MemFile>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Execute a file of commands, and fail if its expectations are not met
    ///
    /// The file has one command per line; comments start with `# `. Lines with `> ` after a command
    /// are its expected output. `docs/debug.md` lists all commands.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, conflicts_with = "dap")]
    pub script: Option<String>,
    /// Speak the Debug Adapter Protocol on standard input and output, for an editor
    #[arg(long, help_heading = OUTPUT)]
    pub dap: bool,
    /// Read commands by line, even on a terminal
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["dap", "script"])]
    pub plain: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

pub fn run(args: &DebugArgs, in_json: bool, parts: Option<&Parts>, watch: &Watch) -> Result<Answer, Failure> {
    if args.dap && in_json {
        return Err(Failure::Debugger {
            reason: "`--dap` cannot be used with `--json`: it only writes the protocol".to_owned(),
        });
    }
    if args.dap {
        return served(args, parts);
    }
    let path = args.path.as_deref().unwrap_or_default(); // Default: with --dap the editor sends the path later.
    let on_terminal = args.script.is_none() && !in_json && has_terminal(args);
    if on_terminal
        && parts.is_none()
        && let Some(program) = program()
    {
        watch.end();
        return hand_over(program);
    }
    settle(path);
    let (debugger, mut notes) = opened(&request(args, path)?)?;
    match &args.script {
        Some(script) => scripted(debugger, notes, script),
        None if in_json => Err(Failure::Debugger { reason: "`--json` needs --script FILE".to_owned() }),
        None => {
            // From here, the debugger uses the screen.
            watch.end();
            match parts.filter(|_| on_terminal) {
                Some(parts) => on_screen(parts, debugger, &notes),
                None => {
                    notes.extend(on_terminal.then(missing));
                    by_lines(debugger, &notes)
                }
            }
        }
    }
}

/// Whether a user sits at a terminal with cursor positioning.
fn has_terminal(args: &DebugArgs) -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb");
    let is_dumb = is_dumb && cfg!(unix); // Elsewhere terminals have no `TERM`.
    !args.plain && !is_dumb && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows the debugger on the terminal until the user quits.
fn on_screen(parts: &Parts, debugger: Debugger, notes: &[String]) -> Result<Answer, Failure> {
    let has_unicode = supports_unicode::on(supports_unicode::Stream::Stdout);
    let terminal = Terminal { has_colors: color::is_on(&io::stdout()), has_unicode };
    (parts.screen)(debugger, notes, terminal).map_err(|error| Failure::Debugger {
        reason: format!("lost the connection to the terminal: {error}"),
    })?;
    Ok(nothing().with_data(true))
}

/// Executes commands from standard input, line by line, until it ends.
fn by_lines(mut debugger: Debugger, notes: &[String]) -> Result<Answer, Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let is_typed = input.is_terminal();
    let mut failures = 0;
    say(&mut output, &(remarks(notes, &[]) + &debugger.place()))?;
    loop {
        if is_typed {
            say(&mut output, "> ")?;
        }
        let mut line = String::new();
        let length =
            input.read_line(&mut line).map_err(|error| Failure::Debugger { reason: error.to_string() })?;
        if length == 0 || ["quit", "exit", "q"].contains(&line.trim()) {
            break;
        }
        match parse(line.trim_end(), &debugger) {
            Ok(None) => {}
            Ok(Some(command)) => {
                let npukit_debug::Answer { text, failure } = debugger.execute(&command);
                failures += usize::from(failure.is_some());
                let failed = failure.map(|detail| format!("failed: {detail}\n"));
                // Default: no command has failed.
                say(&mut output, &(text + &failed.unwrap_or_default()))?;
            }
            Err(Fault { message, help, .. }) => {
                failures += 1;
                // Default: the message has no hint.
                let help = help.map(|help| format!("; {help}")).unwrap_or_default();
                say(&mut output, &format!("failed: {message}{help}\n"))?;
            }
        }
    }
    Ok(nothing().with_data(true).with_success(is_typed || failures == 0))
}

fn say(output: &mut impl Write, text: &str) -> Result<(), Failure> {
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Print)
}

/// Returns an empty answer, for commands that have already shown everything.
fn nothing() -> Answer {
    Answer::new(String::new(), &serde_json::json!({}))
}

/// Serves an editor on standard input and output.
fn served(args: &DebugArgs, parts: Option<&Parts>) -> Result<Answer, Failure> {
    let Some(parts) = parts else {
        return hand_over(program().ok_or_else(|| Failure::Editor(missing().into()))?);
    };
    let opens = |launch: &Launch| {
        let request = launched(args, launch)?;
        opened(&request).map_err(|error| {
            error.diagnostics().iter().map(|found| found.message.clone()).collect::<Vec<_>>().join("; ")
        })
    };
    (parts.dap)(&opens).map_err(|error| Failure::Debugger {
        reason: format!("lost the connection to the editor: {error}"),
    })?;
    Ok(nothing().with_data(true))
}

/// Returns the request of an editor: the command line's options, and the editor's program.
fn launched(args: &DebugArgs, launch: &Launch) -> Result<Request, String> {
    let request = request(args, &launch.program).map_err(|failure| failure.to_string())?;
    let mem = |text: &String| {
        MemFile::parse(text).ok_or_else(|| format!("`{text}` is not NAME=FILE or NAME@ADDRESS=FILE"))
    };
    let mem = launch.mem.iter().map(mem).collect::<Result<Vec<_>, _>>()?;
    let is_artifact = npukit::is_artifact(&launch.program);
    let target = launch.target.clone().or(request.source.target.clone()).filter(|_| !is_artifact);
    Ok(Request {
        source: Source { target, ..request.source },
        model: launch.model.clone().or(request.model),
        inputs: request
            .inputs
            .into_iter()
            .chain(launch.input.iter().map(|text| InputFile::parse(text)))
            .collect(),
        mem: request.mem.into_iter().chain(mem).collect(),
        ..request
    })
}

fn request(args: &DebugArgs, path: &str) -> Result<Request, Failure> {
    let preprocess = preprocess(&args.preprocess);
    let source = Source {
        path: path.to_owned(),
        target: strictly(&args.target, &args.strict)?,
        options: args.lowering.0.clone(),
        model: model_options(&args.reading),
        calibration: calibration_with(&args.calibration, &args.inputs, &preprocess),
    };
    Ok(Request {
        source,
        model: args.of.clone(),
        inputs: input_files(&args.inputs),
        preprocess,
        mem: args.mem.clone(),
        meaning: meaning(&args.meaning),
    })
}

/// Opens a debugger for a request. Also returns the assumptions that were made.
fn opened(request: &Request) -> Result<(Debugger, Vec<String>), npukit::Error> {
    let Opened { machine, text, notes } = open(request, context())?;
    Ok((Debugger::new(machine, text), notes))
}

/// Executes a script.
fn scripted(mut debugger: Debugger, notes: Vec<String>, path: &str) -> Result<Answer, Failure> {
    let bytes = context().reader.read(path).map_err(npukit::Error::from)?;
    let text = String::from_utf8_lossy(&bytes);
    let script = Script::read(path, &text, &debugger)?;
    let Outcome { text, passed, failures } = script.run(&mut debugger);
    let failed = failures.iter().map(|failure| format!("failed: {failure}\n")).collect::<String>();
    let message = remarks(&notes, &[]);
    let success = failures.is_empty();
    let report = Report::new(debugger.machine(), text.clone(), passed, failures, notes);
    Ok(Answer::new(text + &failed, &report).with_notes(message).with_success(success))
}
