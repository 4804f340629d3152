//! Client of the debug adapter over a pipe: requests and responses.

#[allow(dead_code, reason = "the tests of the engine use all of it")]
#[path = "../../../debug/tests/main/toy.rs"]
mod toy;

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::thread;

use base64::Engine as _;
// Dependencies of the toy machine.
use {npukit_asm as _, npukit_base as _};

use npukit_debug::{Debugger, Launch};
use npukit_editor::dap::serve;
use serde_json::{Value, json};

use toy::{Op, Toy};

const OPS: [Op; 6] =
    [Op::Set(1, 32), Op::Add(2, 0, 1), Op::Load(2), Op::Set(3, 250), Op::Add(3, 3, 2), Op::Add(1, 3, 2)];

/// Number of steps of a program that would run too long for a test.
const LONG: usize = 1_000_000;

/// Client that acts as an editor.
struct Client {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    seq: i64,
    events: Vec<Value>,
}

impl Client {
    /// Starts a client and a server of the toy machine.
    fn start() -> (Self, thread::JoinHandle<std::io::Result<()>>) {
        let (their_input, to) = pipe().unwrap();
        let (from, mut their_output) = pipe().unwrap();
        let server = thread::spawn(move || {
            let open = |launch: &Launch| match launch.program.as_str() {
                "long.toy" => {
                    let ops = vec![Op::Add(1, 0, 1); LONG];
                    Ok((Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&[])), Vec::new()))
                }
                "p.toy" => {
                    Ok((Debugger::new(Box::new(Toy::new(&OPS)), Toy::text(&OPS)), vec!["a note".to_owned()]))
                }
                other => Err(format!("there is no `{other}`")),
            };
            serve(BufReader::new(their_input), &mut their_output, &open)
        });
        (Self { to, from: BufReader::new(from), seq: 0, events: Vec::new() }, server)
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().unwrap(),
                _ => break,
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Sends a request and returns its response; events before it are stored.
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let request =
            json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments });
        let text = request.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        loop {
            let message = self.receive();
            if message["type"] == "event" {
                self.events.push(message);
                continue;
            }
            assert_eq!((&message["command"], &message["request_seq"]), (&command.into(), &self.seq.into()));
            return message;
        }
    }

    /// Sends a request that must succeed and returns its body.
    fn body(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// Sends a request that moves the program; returns the reason for the stop and the step.
    fn stop(&mut self, command: &str, arguments: Value) -> (String, String) {
        self.body(command, arguments);
        let event = self.receive();
        assert_eq!(event["event"], "stopped", "{event}");
        let frames = self.body("stackTrace", json!({ "threadId": 1 }));
        let name = frames["stackFrames"][0]["name"].as_str().unwrap().to_owned();
        (event["body"]["reason"].as_str().unwrap().to_owned(), name)
    }
}

#[test]
fn an_editor_goes_through_a_program() {
    let (mut client, server) = Client::start();
    let capabilities = client.body("initialize", json!({ "adapterID": "npu" }));
    assert_eq!(capabilities["supportsStepBack"], true);
    let refused = client.ask("launch", json!({ "program": "q.toy" }));
    assert_eq!((&refused["success"], &refused["message"]), (&false.into(), &"there is no `q.toy`".into()));
    client.body("launch", json!({ "program": "p.toy", "stopOnEntry": true }));
    assert_eq!(client.receive()["event"], "initialized");
    let outputs: Vec<&Value> = client.events.iter().filter(|event| event["event"] == "output").collect();
    assert_eq!(outputs[0]["body"]["output"], "note: a note\n");

    let lines =
        json!({ "source": { "path": "/somewhere/p.toy" }, "breakpoints": [{ "line": 1 }, { "line": 5 }] });
    let set = client.body("setBreakpoints", lines);
    assert_eq!(
        (&set["breakpoints"][0]["verified"], &set["breakpoints"][1]["verified"]),
        (&false.into(), &true.into())
    );
    let info = client.body("dataBreakpointInfo", json!({ "variablesReference": 1000, "name": "m[3]" }));
    let data = json!({ "breakpoints": [{ "dataId": info["dataId"], "accessType": "write", "condition": "> 15.9" }] });
    assert_eq!(client.body("setDataBreakpoints", data)["breakpoints"][0]["verified"], true);
    assert_eq!(client.stop("configurationDone", json!({})).0, "entry");
    assert_eq!(client.body("threads", json!({}))["threads"][0]["name"], "toy");

    let (reason, name) = client.stop("continue", json!({ "threadId": 1 }));
    assert_eq!(
        (reason.as_str(), name.as_str()),
        ("breakpoint", "instruction 3, layer `second half`: Set(3, 250)")
    );
    let frames = client.body("stackTrace", json!({ "threadId": 1 }));
    assert_eq!(
        (&frames["stackFrames"][0]["line"], &frames["stackFrames"][0]["source"]["path"]),
        (&5.into(), &"p.toy".into())
    );
    assert_eq!(frames["stackFrames"][1]["name"], "layer second half");
    let (reason, name) = client.stop("continue", json!({ "threadId": 1 }));
    assert_eq!((reason.as_str(), name.contains("instruction 5")), ("data breakpoint", true), "{name}");
    assert_eq!(client.stop("continue", json!({ "threadId": 1 })).0, "pause");
    assert!(client.stop("reverseContinue", json!({ "threadId": 1 })).1.contains("instruction 4"));
    assert!(client.stop("stepBack", json!({ "threadId": 1 })).1.contains("instruction 3"));
    assert!(client.stop("stepIn", json!({ "threadId": 1 })).1.contains("instruction 4"));
    let targets = client.body("gotoTargets", json!({ "source": { "path": "p.toy" }, "line": 2 }));
    let target = targets["targets"][0]["id"].clone();
    assert!(client.stop("goto", json!({ "threadId": 1, "targetId": target })).1.contains("instruction 0"));
    assert!(client.stop("stepOut", json!({ "threadId": 1 })).1.contains("instruction 3"));
    client.body("disconnect", json!({}));
    assert_eq!(client.receive()["event"], "terminated");
    server.join().unwrap().unwrap();
}

/// `pause` stops a running program, forwards and backwards, once each; a stopped one stays in
/// place.
#[test]
fn an_editor_interrupts_a_program() {
    let (mut client, server) = Client::start();
    client.body("launch", json!({ "program": "long.toy", "stopOnEntry": true }));
    assert_eq!(client.receive()["event"], "initialized");
    // A condition that never holds slows the program down, as each step is checked.
    let data = json!({ "breakpoints": [{ "dataId": "m[1]", "accessType": "write", "condition": "> 1000" }] });
    assert_eq!(client.body("setDataBreakpoints", data)["breakpoints"][0]["verified"], true);
    assert_eq!(client.stop("configurationDone", json!({})).0, "entry");
    let mut steps = Vec::new();
    for command in ["continue", "continue", "reverseContinue"] {
        if command == "reverseContinue" {
            client.body("evaluate", json!({ "expression": "goto end", "context": "repl" }));
            assert_eq!(client.receive()["event"], "stopped");
        }
        client.body(command, json!({ "threadId": 1 }));
        client.body("pause", json!({ "threadId": 1 }));
        let stopped = client.events.pop().unwrap_or_else(|| client.receive());
        assert_eq!((&stopped["event"], &stopped["body"]["reason"]), (&"stopped".into(), &"pause".into()));
        let name = client.body("stackTrace", json!({ "threadId": 1 }))["stackFrames"][0]["name"].clone();
        let step = name
            .as_str()
            .unwrap()
            .split([' ', ',', ':'])
            .find_map(|word| word.parse::<usize>().ok())
            .unwrap();
        steps.push(step);
    }
    // An interrupted run backwards does not move.
    assert!(steps[0] <= steps[1] && steps[1] < LONG && steps[2] == LONG, "{steps:?}");
    assert!(client.events.iter().all(|event| event["event"] != "stopped"), "{:?}", client.events);
    assert_eq!(client.stop("pause", json!({ "threadId": 1 })).0, "pause");
    // Disconnecting does not wait, either.
    client.body("continue", json!({ "threadId": 1 }));
    client.body("disconnect", json!({}));
    server.join().unwrap().unwrap();
}

#[test]
fn an_editor_looks_into_a_program() {
    let (mut client, server) = Client::start();
    client.body("launch", json!({ "program": "p.toy" }));
    assert_eq!(client.receive()["event"], "initialized");
    assert_eq!(client.stop("configurationDone", json!({})).0, "pause");
    let scopes = client.body("scopes", json!({ "frameId": 1 }));
    let names: Vec<&str> =
        scopes["scopes"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Memories", "Registers", "Next step", "Tensors"]);
    let memories =
        client.body("variables", json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] }));
    let memory = &memories["variables"][0];
    assert_eq!((&memory["name"], &memory["indexedVariables"]), (&"m".into(), &16.into()));
    let part = json!({ "variablesReference": memory["variablesReference"], "start": 2, "count": 1 });
    let rows = client.body("variables", part);
    assert_eq!(
        (&rows["variables"][0]["name"], &rows["variables"][0]["value"]),
        (&"m[2]".into(), &"3 0.0625".into())
    );
    let registers =
        client.body("variables", json!({ "variablesReference": scopes["scopes"][1]["variablesReference"] }));
    assert_eq!(registers["variables"][0]["value"], "48");

    // Two bytes per number: 48 and 1 at address 2.
    let read = client.body("readMemory", json!({ "memoryReference": "m[2]", "count": 4 }));
    let bytes = base64::engine::general_purpose::STANDARD.decode(read["data"].as_str().unwrap()).unwrap();
    assert_eq!((bytes, &read["unreadableBytes"]), (vec![48, 0, 1, 0], &0.into()));
    let beyond = client.body("readMemory", json!({ "memoryReference": "m", "offset": 63, "count": 8 }));
    assert_eq!(beyond["unreadableBytes"], 7);

    let listed = json!({ "memoryReference": "0x1", "instructionOffset": -2, "instructionCount": 9 });
    let listed = client.body("disassemble", listed);
    let listed = listed["instructions"].as_array().unwrap();
    assert_eq!(listed.len(), 9);
    assert_eq!(
        (&listed[0]["presentationHint"], &listed[1]["instruction"]),
        (&"invalid".into(), &"Set(1, 32)".into())
    );

    let evaluated = client.body("evaluate", json!({ "expression": "m[2].0", "context": "hover" }));
    assert_eq!(evaluated["result"], "m[2].0  3");
    let wrong = client.ask("evaluate", json!({ "expression": "mm", "context": "repl" }));
    assert!(wrong["message"].as_str().unwrap().starts_with("unknown command `mm`"), "{wrong}");
    client.body("evaluate", json!({ "expression": "back 2", "context": "repl" }));
    assert_eq!(client.receive()["event"], "stopped");
    let failed = client.ask("evaluate", json!({ "expression": "expect step 5", "context": "repl" }));
    assert_eq!(failed["message"], "expected step 5, found step 4");
    assert_eq!(client.ask("restart", json!({}))["success"], false);
    assert_eq!(client.ask("variables", json!({ "variablesReference": 7 }))["success"], false);
    drop(client);
    server.join().unwrap().unwrap();
}
