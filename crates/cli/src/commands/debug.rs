//! `npu debug`: a program under a debugger: by a script, for an editor, on a terminal, or line by line.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use npukit::verbs::debug::{Opened, Report, Request, open};
use npukit::{InputFile, MemFile, Source};
use npukit_debug::{Debugger, Fault, Outcome, Script, parse};
use npukit_debug_dap::{Launch, serve};

use super::{calibration_with, context, input_files, meaning, model_options, preprocess, remarks, strictly};
use crate::answer::Answer;
use crate::args::DebugArgs;
use crate::colour;
use crate::disk::settle;
use crate::failure::Failure;
use crate::parts::{Parts, Terminal, hand_over, missing, program};
use crate::watch::Watch;

pub fn run(args: &DebugArgs, in_json: bool, parts: Option<&Parts>, watch: &Watch) -> Result<Answer, Failure> {
    if args.dap && in_json {
        return Err(Failure::Debugger {
            reason: "`--dap` writes the protocol alone: not with `--json`".to_owned(),
        });
    }
    if args.dap {
        return served(args);
    }
    let path = args.path.as_deref().unwrap_or_default(); // Default: with --dap the path comes later.
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
        None if in_json => {
            Err(Failure::Debugger { reason: "`--json` is for scripts: there is none".to_owned() })
        }
        None => {
            // The screen is the debugger's from now on.
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

/// Whether a person sits at a terminal on which things have places.
fn has_terminal(args: &DebugArgs) -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb");
    let is_dumb = is_dumb && cfg!(unix); // Elsewhere terminals have no names.
    !args.plain && !is_dumb && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows it on the terminal, until its user leaves.
fn on_screen(parts: &Parts, debugger: Debugger, notes: &[String]) -> Result<Answer, Failure> {
    let has_unicode = supports_unicode::on(supports_unicode::Stream::Stdout);
    let terminal = Terminal { has_colors: colour::is_on(&io::stdout()), has_unicode };
    (parts.screen)(debugger, notes, terminal)
        .map_err(|error| Failure::Debugger { reason: format!("the terminal is lost: {error}") })?;
    Ok(nothing().with_data(true))
}

/// Does what is written line by line on standard input, until it ends: on a terminal what a person types.
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
                let failed = failure.map(|told| format!("failed: {told}\n"));
                // Default: nothing has failed.
                say(&mut output, &(text + &failed.unwrap_or_default()))?;
            }
            Err(Fault { message, help, .. }) => {
                failures += 1;
                // Default: a message that says all.
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

/// An answer for whom everything was shown to already.
fn nothing() -> Answer {
    Answer::new(String::new(), &serde_json::json!({}))
}

/// Serves an editor on standard input and output.
fn served(args: &DebugArgs) -> Result<Answer, Failure> {
    let opens = |launch: &Launch| {
        let request = launched(args, launch)?;
        opened(&request).map_err(|error| {
            error.diagnostics().iter().map(|found| found.message.clone()).collect::<Vec<_>>().join("; ")
        })
    };
    serve(BufReader::new(io::stdin()), &mut io::stdout().lock(), &opens)
        .map_err(|error| Failure::Debugger { reason: format!("the editor is lost: {error}") })?;
    Ok(nothing().with_data(true))
}

/// What an editor asks for: the command line's own options, and its program.
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

/// A debugger of what is asked for, and what was taken for granted.
fn opened(request: &Request) -> Result<(Debugger, Vec<String>), npukit::Error> {
    let Opened { machine, text, notes } = open(request, context())?;
    Ok((Debugger::new(machine, text), notes))
}

/// Does what a script says.
fn scripted(mut debugger: Debugger, notes: Vec<String>, path: &str) -> Result<Answer, Failure> {
    let bytes = context().reader.read(path).map_err(npukit::Error::from)?;
    let text = String::from_utf8_lossy(&bytes);
    let script = Script::read(path, &text, &debugger)?;
    let Outcome { text, passed, failures } = script.run(&mut debugger);
    let failed = failures.iter().map(|failure| format!("failed: {failure}\n")).collect::<String>();
    let told = remarks(&notes, &[]);
    let success = failures.is_empty();
    let report = Report::new(debugger.machine(), (text.clone(), passed, failures), notes);
    Ok(Answer::new(text + &failed, &report).with_notes(told).with_success(success))
}
