//! [`Adapter`]: implementation of each request of an editor.

use std::io;

use npukit_debug::{Command, Debugger, Interrupt, Launch, Line, Open, Stop, parse};
use serde_json::{Value, json};

use crate::dap::message::{Request, Writer};
use crate::dap::points::Set;
use crate::dap::values::{number, reference, source, text};

/// Id of the only thread.
const THREAD: i64 = 1;

/// Debug session of an editor.
pub(crate) struct Adapter<'a> {
    writer: Writer<'a>,
    open: &'a Open<'a>,
    debugger: Option<Debugger>,
    launch: Launch,
    /// Handle that requests the program to stop.
    interrupt: Interrupt,
    /// Whether the program was interrupted and the editor was notified.
    was_interrupted: bool,
    pub(crate) set: Set,
}

/// Movement through a program.
type Go = Box<dyn FnOnce(&mut Debugger)>;

/// Action after a response is sent.
enum Then {
    Nothing,
    /// Send `initialized`: the editor may set its breakpoints.
    Initialized,
    /// Run the program, then report that it stopped.
    Go(Go),
    /// Report that the program stopped, for this reason instead of the debugger's if given.
    Stopped(Option<&'static str>),
    /// End the session.
    End,
}

impl<'a> Adapter<'a> {
    pub fn new(writer: Writer<'a>, open: &'a Open<'a>, interrupt: Interrupt) -> Self {
        let (launch, set) = (Launch::default(), Set::default());
        Self { writer, open, debugger: None, launch, interrupt, was_interrupted: false, set }
    }

    /// Answers a request; returns whether another one may follow.
    pub fn answer(&mut self, request: &Request) -> io::Result<bool> {
        if crate::dap::interrupts(request) {
            self.interrupt.answered();
        }
        let (result, then) = match self.asked(request) {
            Ok((body, then)) => (Ok(body), then),
            Err(message) => (Err(message), Then::Nothing),
        };
        let is_done = result.is_ok();
        self.writer.answer(request, result)?;
        match then {
            Then::Nothing => {}
            Then::Initialized if is_done => self.writer.event("initialized", Value::Null)?,
            Then::Initialized => {}
            Then::Go(go) => {
                if let Some(debugger) = &mut self.debugger {
                    go(debugger);
                }
                self.stopped(None)?;
            }
            Then::Stopped(reason) => self.stopped(reason)?,
            Then::End => {
                self.writer.event("terminated", Value::Null)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn asked(&mut self, request: &Request) -> Result<(Value, Then), String> {
        let arguments = &request.arguments;
        let only = |body| Ok((body, Then::Nothing));
        match request.command.as_str() {
            "initialize" => only(capabilities()),
            "launch" => self.launch(arguments),
            "setExceptionBreakpoints" => only(json!({ "breakpoints": [] })),
            "configurationDone" => self.begin(),
            "threads" => {
                let name = self.program()?.machine().name().to_owned();
                only(json!({ "threads": [{ "id": THREAD, "name": name }] }))
            }
            // The editor was already notified that the running program stopped for it.
            "pause" if std::mem::take(&mut self.was_interrupted) => Ok((Value::Null, Then::Nothing)),
            "pause" => Ok((Value::Null, Then::Stopped(Some("pause")))),
            "disconnect" | "terminate" => Ok((Value::Null, Then::End)),
            "continue" => self.go(json!({ "allThreadsContinued": true }), |own| {
                own.go_on();
            }),
            "reverseContinue" => self.go(Value::Null, |own| {
                own.go_back();
            }),
            // Instructions call nothing: both requests do the same.
            "next" | "stepIn" => self.go(Value::Null, |own| {
                own.step(1);
            }),
            "stepOut" => self.go(Value::Null, |own| {
                own.next_layer();
            }),
            "stepBack" => self.go(Value::Null, |own| {
                own.back(1);
            }),
            "goto" => {
                let step = number(arguments, "targetId")?;
                self.go(Value::Null, move |own| {
                    own.goto(step);
                })
            }
            "evaluate" => self.evaluate(arguments),
            _ => only(self.looked(request)?),
        }
    }

    /// Answers a request that does not move the program.
    fn looked(&mut self, request: &Request) -> Result<Value, String> {
        let arguments = &request.arguments;
        let Self { debugger, set, .. } = self;
        let debugger = debugger.as_mut().ok_or_else(no_program)?;
        match request.command.as_str() {
            "setBreakpoints" => set.lines(debugger, arguments),
            "setInstructionBreakpoints" => set.instructions(debugger, arguments),
            "setDataBreakpoints" => set.data(debugger, arguments),
            "dataBreakpointInfo" => crate::dap::points::data_info(debugger, arguments),
            "gotoTargets" => crate::dap::points::goto_targets(debugger, arguments),
            "stackTrace" => Ok(stack(debugger)),
            "scopes" => Ok(crate::dap::variables::scopes(debugger)),
            "variables" => crate::dap::variables::variables(debugger, arguments),
            "readMemory" => crate::dap::variables::read_memory(debugger, arguments),
            "disassemble" => crate::dap::variables::disassemble(debugger, arguments),
            other => Err(format!("`{other}` is not served")),
        }
    }

    pub(crate) fn program(&mut self) -> Result<&mut Debugger, String> {
        self.debugger.as_mut().ok_or_else(no_program)
    }

    fn launch(&mut self, arguments: &Value) -> Result<(Value, Then), String> {
        self.launch = launched(arguments)?;
        let (mut debugger, notes) = (self.open)(&self.launch)?;
        debugger.heed(self.interrupt.clone());
        self.debugger = Some(debugger);
        self.set = Set::default();
        for note in notes {
            let output = json!({ "category": "console", "output": format!("note: {note}\n") });
            self.writer.event("output", output).map_err(|error| error.to_string())?;
        }
        Ok((Value::Null, Then::Initialized))
    }

    /// Starts after all breakpoints are set: stops before the first step, or runs to the first
    /// breakpoint.
    fn begin(&mut self) -> Result<(Value, Then), String> {
        let stops = self.launch.stop_on_entry;
        if stops {
            self.program()?;
            return Ok((Value::Null, Then::Stopped(Some("entry"))));
        }
        self.go(Value::Null, |own| {
            own.go_on();
        })
    }

    /// Responds before the program runs, so that the editor may ask for a pause.
    fn go(&mut self, body: Value, go: impl FnOnce(&mut Debugger) + 'static) -> Result<(Value, Then), String> {
        self.program()?;
        Ok((body, Then::Go(Box::new(go))))
    }

    /// Evaluates a command of scripts or a range of a memory.
    fn evaluate(&mut self, arguments: &Value) -> Result<(Value, Then), String> {
        let text = text(arguments, "expression")?;
        let debugger = self.program()?;
        let shown = format!("show {text}");
        let command = match parse(&text, debugger) {
            Ok(Some(command)) => command,
            Ok(None) => return Ok((json!({ "result": "", "variablesReference": 0 }), Then::Nothing)),
            Err(fault) => match parse(&shown, debugger) {
                Ok(Some(command)) => command,
                _ => {
                    return Err(fault
                        .help
                        .map_or(fault.message.clone(), |help| format!("{}: {help}", fault.message)));
                }
            },
        };
        let before = debugger.position();
        let answer = debugger.execute(&command);
        let moved = debugger.position() != before && !matches!(command, Command::Expect(_));
        match answer.failure {
            Some(reason) if !moved => Err(reason),
            _ => {
                let body = json!({ "result": answer.text.trim_end(), "variablesReference": 0 });
                Ok((body, if moved { Then::Stopped(None) } else { Then::Nothing }))
            }
        }
    }

    /// Notifies the editor that the program stopped.
    fn stopped(&mut self, reason: Option<&'static str>) -> io::Result<()> {
        let Some(debugger) = &self.debugger else { return Ok(()) };
        let (named, text, id) = match debugger.stop() {
            Stop::Start => ("entry", "before the first step".to_owned(), None),
            Stop::Step | Stop::Layer => ("step", debugger.stop().name().to_owned(), None),
            Stop::End => ("pause", "after the last step".to_owned(), None),
            Stop::Breakpoint(id) => ("breakpoint", format!("breakpoint {id}"), Some(*id)),
            Stop::Watchpoint(id, step) => {
                ("data breakpoint", format!("hit by {}", debugger.step_line(*step)), Some(*id))
            }
            Stop::Fault(message) => ("exception", message.clone(), None),
            Stop::Undecided(undecided) => ("exception", undecided.to_string(), None),
            Stop::Interrupted => ("pause", "interrupted".to_owned(), None),
        };
        self.was_interrupted = reason.is_none() && *debugger.stop() == Stop::Interrupted;
        let mut body = json!({
            "reason": reason.unwrap_or(named), // Default: the debugger's own reason.
            "description": text,
            "text": text,
            "threadId": THREAD,
            "allThreadsStopped": true,
        });
        if let Some(id) = id.filter(|_| reason.is_none()) {
            body["hitBreakpointIds"] = json!([id]);
        }
        self.writer.event("stopped", body)
    }
}

/// Reads the arguments of `launch`, which name a program.
fn launched(arguments: &Value) -> Result<Launch, String> {
    let launch: Launch =
        serde_json::from_value(arguments.clone()).map_err(|error| format!("launch: {error}"))?;
    match launch.program.is_empty() {
        true => Err("launch: `program` is empty; name a text, binary, manifest or model".to_owned()),
        false => Ok(launch),
    }
}

fn no_program() -> String {
    "no program was launched: send `launch` first".to_owned()
}

fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsStepBack": true,
        "supportsGotoTargetsRequest": true,
        "supportsDataBreakpoints": true,
        "supportsInstructionBreakpoints": true,
        "supportsReadMemoryRequest": true,
        "supportsDisassembleRequest": true,
        "supportsSteppingGranularity": true,
        "supportsEvaluateForHovers": true,
        "supportsTerminateRequest": true,
    })
}

/// Identifier of the first frame of a macro call, after the frames of the step and its layer.
const FIRST_CALLER: usize = 3;

/// Returns the stack: the next step, the macro calls that generated it, and its layer as the outer
/// frame.
fn stack(debugger: &Debugger) -> Value {
    let (machine, position) = (debugger.machine(), debugger.position());
    let issued = machine.issued(position).first().copied();
    let mut frame = json!({ "id": 1, "name": debugger.step_line(position), "line": 0, "column": 0 });
    if let Some(Line { file, line, column }) = debugger.line_here() {
        (frame["line"], frame["column"]) = (line.into(), column.into());
        frame["source"] = source(&file);
    }
    if let Some(instruction) = issued.filter(|_| position < debugger.steps()) {
        frame["instructionPointerReference"] = reference(instruction).into();
    }
    let callers = issued.map(|instruction| debugger.callers(instruction)).unwrap_or_default(); // Default: no instruction.
    let layer = machine.layer(position).and_then(|place| machine.layers().get(place));
    let mut frames = vec![frame];
    frames.extend(callers.into_iter().zip(FIRST_CALLER..).map(|(Line { file, line, column }, id)| {
        json!({ "id": id, "name": format!("from {file}:{line}"), "line": line, "column": column, "source": source(&file) })
    }));
    frames.extend(layer.map(|name| {
        json!({ "id": 2, "name": format!("layer {name}"), "line": 0, "column": 0, "presentationHint": "label" })
    }));
    json!({ "totalFrames": frames.len(), "stackFrames": frames })
}
