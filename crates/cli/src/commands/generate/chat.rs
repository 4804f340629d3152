//! A conversation on the terminal, or with the lines of standard input: [`converse`].

use std::io::{self, BufRead, IsTerminal};

use npukit::verbs::generate::{Answers, Conversation, Request};
use npukit::{Error, ReadError};

use crate::failure::Failure;
use crate::requests::context;

/// Text before each message that is typed on a terminal.
const READY: &str = "> ";

/// Lets the model answer each line of standard input until it ends. Empty lines are left out.
pub fn converse(request: &Request, json: bool, show: &mut dyn FnMut(&str)) -> Result<Answers, Failure> {
    let mut conversation = Conversation::open(request, context())?;
    let is_typed = io::stdin().is_terminal() && !json;
    let unreadable = |error: io::Error| Error::Read(ReadError::of("-", &error));
    let mut lines = io::stdin().lock().lines();
    loop {
        if is_typed {
            show(READY);
        }
        let Some(line) = lines.next().transpose().map_err(unreadable)? else { break };
        if !line.trim().is_empty() {
            conversation.say(&line, show)?;
            show("\n\n");
        }
    }
    if is_typed {
        show("\n");
    }
    Ok(conversation.report())
}
