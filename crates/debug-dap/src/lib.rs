//! The debugger for editors: [`serve`] speaks the Debug Adapter Protocol of <https://microsoft.github.io/debug-adapter-protocol>.
//!
//! Requests are answered one after the other. A program ends when it has done its last step, and stands there: it may be
//! gone through backwards.
//!
//! | module | is |
//! |---|---|
//! | `message` | frames and messages |
//! | `adapter` | what each request asks for |
//! | `points` | breakpoints of lines, instructions and data |
//! | `variables` | scopes, variables, bytes of memories, the listing |

#![forbid(unsafe_code)]

mod adapter;
mod message;
mod points;
mod variables;

use std::io::{self, BufRead, Write};

use npukit_debug::Debugger;
use serde::Deserialize;

use adapter::Adapter;
use message::{Reader, Writer};

/// What an editor launches: the arguments of its `launch` request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Launch {
    /// The program: text, words, an artifact's manifest, or a model.
    pub program: String,
    /// Target and instance; an artifact knows its own.
    pub target: Option<String>,
    /// Of an artifact: its model, which is computed in float beside it.
    pub model: Option<String>,
    /// Inputs, as `[NAME=]FILE`.
    pub input: Vec<String>,
    /// What fills memories of a program in text or words, as `NAME[@ADDRESS]=FILE`.
    pub mem: Vec<String>,
    /// Whether it stops before its first step.
    pub stop_on_entry: bool,
}

/// Opens what is launched: a debugger, and what was taken for granted.
pub type Open<'a> = dyn Fn(&Launch) -> Result<(Debugger, Vec<String>), String> + 'a;

/// Serves an editor until it disconnects, or its requests end.
///
/// # Errors
///
/// What `input` and `output` refuse; frames that are none.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, open: &Open<'_>) -> io::Result<()> {
    let (mut reader, mut adapter) = (Reader::new(input), Adapter::new(Writer::new(output), open));
    while let Some(request) = reader.next()? {
        if !adapter.answer(&request)? {
            break;
        }
    }
    Ok(())
}
