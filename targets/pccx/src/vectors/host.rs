//! Vectors of the host protocol: commands, status words, data mover commands.

use npukit_target::Case;
use serde::Deserialize;

use super::{Hex, json, outcome};
use crate::host::protocol::{Command, Status, data_mover};

#[derive(Deserialize)]
struct File {
    commands: Vec<Entry>,
    #[serde(default)]
    status: Vec<StatusEntry>,
    #[serde(default)]
    datamover: Vec<Mover>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(flatten)]
    command: Named,
    word: Hex,
}

#[derive(Deserialize)]
#[serde(tag = "cmd", rename_all = "SCREAMING_SNAKE_CASE")]
enum Named {
    ResetKvCache { session_id: u32 },
    LoadWeight { weight_slot: u8, flags: u8, descriptor_count: u8, manifest_id: u32 },
    LoadPrompt { position: u32, token_id: u32 },
    NextToken { request_id: u16, sampling: u8, temperature_q8_8: u16, top_p_q8_8: u16 },
}

impl From<Named> for Command {
    fn from(named: Named) -> Self {
        match named {
            Named::ResetKvCache { session_id } => Self::ResetKvCache { session_id },
            Named::LoadWeight { weight_slot, flags, descriptor_count, manifest_id } => {
                Self::LoadWeight { weight_slot, flags, descriptor_count, manifest_id }
            }
            Named::LoadPrompt { position, token_id } => Self::LoadPrompt { position, token_id },
            Named::NextToken { request_id, sampling, temperature_q8_8, top_p_q8_8 } => {
                Self::NextToken { request_id, sampling, temperature_q8_8, top_p_q8_8 }
            }
        }
    }
}

#[derive(Deserialize)]
struct StatusEntry {
    busy: u8,
    done: u8,
    error: u8,
    token: Option<u32>,
    word: Hex,
}

#[derive(Deserialize)]
struct Mover {
    addr: u32,
    tag: u8,
    length_bytes: u32,
    eof: u8,
    command72: String,
}

/// Encodes and decodes each word.
pub fn commands(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: File = json(bytes)?;
    let command = |(index, Entry { command, word }): (usize, Entry)| {
        let command = Command::from(command);
        let got = (command.encode(), Command::decode(word.0));
        Case::done(format!("command {index}"), outcome(&(Some(word.0), Some(command)), Ok(got)))
    };
    let status = |(index, entry): (usize, StatusEntry)| {
        let StatusEntry { busy, done, error, token, word } = entry;
        let status = Status { busy: busy == 1, done: done == 1, error: error == 1, token };
        let got = (status.encode(), Status::decode(word.0));
        Case::done(format!("status {index}"), outcome(&(word.0, status), Ok(got)))
    };
    let mover = |(index, entry): (usize, Mover)| {
        let command = data_mover(entry.tag, entry.addr, entry.length_bytes, entry.eof == 1);
        let got = command
            .map(|(high, low)| format!("{high:02x}{low:016x}"))
            .ok_or_else(|| "out of range".to_owned());
        Case::done(format!("data mover {index}"), outcome(&entry.command72, got))
    };
    let commands = file.commands.into_iter().enumerate().map(command);
    let statuses = file.status.into_iter().enumerate().map(status);
    Ok(commands.chain(statuses).chain(file.datamover.into_iter().enumerate().map(mover)).collect())
}
