//! The protocol: [`serve`] answers a driver's requests with a [`Board`].
//!
//! A request is an operation (a letter), three zeros, a length of 32 bits, an address of 64 bits, all little-endian, and
//! for `w`, `M` and `f` as many bytes as the length says. An answer is a byte (0 for success, 1 for a bus error), three
//! zeros, a length, and as many bytes. Each request takes a microsecond of the board's time.
//!
//! | operation | address | answer |
//! |---|---|---|
//! | `r`, `w` | of a register of 4 or 8 bytes | the register; nothing |
//! | `m`, `M` | of memory | its bytes; nothing |
//! | `t` | | the time in microseconds, 64 bits |
//! | `p` | microseconds that pass | nothing |
//! | `f` | which event from now on, 1 for the next; the data is a fault's name | nothing |

use std::io::{Read, Result, Write};

use crate::faults::{Fault, Faults};

/// What a driver reaches. A `None` is a bus error.
pub trait Board {
    /// Reads a register of as many bytes as `bytes` has.
    fn read_register(&mut self, address: u64, bytes: &mut [u8], faults: &mut Faults) -> Option<()>;
    /// Writes a register.
    fn write_register(&mut self, address: u64, bytes: &[u8], faults: &mut Faults) -> Option<()>;
    /// Reads memory that the accelerator shares.
    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Option<()>;
    /// Writes it.
    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Option<()>;
}

/// The longest data of a request or an answer.
const LONGEST: u32 = 1 << 24;

/// Answers until the driver goes away.
///
/// # Errors
///
/// That of the connection.
pub fn serve(connection: &mut (impl Read + Write), board: &mut dyn Board) -> Result<()> {
    let (mut faults, mut now_us) = (Faults::default(), 0u64);
    loop {
        let mut head = [0; 16];
        connection.read_exact(&mut head)?;
        let [operation, _, _, _, l0, l1, l2, l3, address @ ..] = head;
        let (length, address) = (u32::from_le_bytes([l0, l1, l2, l3]), u64::from_le_bytes(address));
        if length > LONGEST || faults.is_due(Fault::Disconnect) {
            return Ok(());
        }
        let mut data = vec![0; length as usize];
        if matches!(operation, b'w' | b'M' | b'f') {
            connection.read_exact(&mut data)?;
        }
        now_us += 1;
        let answered = match operation {
            b't' => {
                data = now_us.to_le_bytes().to_vec();
                Some(())
            }
            b'p' => {
                now_us += address;
                Some(())
            }
            b'f' => faults.inject(&data, address),
            _ => access(operation, address, &mut data, board, &mut faults),
        };
        answer(connection, answered, matches!(operation, b'r' | b'm' | b't').then_some(&data))?;
    }
}

fn access(
    operation: u8,
    address: u64,
    data: &mut [u8],
    board: &mut dyn Board,
    faults: &mut Faults,
) -> Option<()> {
    let refused = match operation {
        b'r' => faults.is_due(Fault::ReadRegister),
        b'w' => faults.is_due(Fault::WriteRegister),
        b'm' => faults.is_due(Fault::ReadMemory),
        b'M' => faults.is_due(Fault::WriteMemory),
        _ => true,
    };
    if refused {
        return None;
    }
    match operation {
        b'r' => board.read_register(address, data, faults),
        b'w' => board.write_register(address, data, faults),
        b'm' => board.read_memory(address, data),
        _ => board.write_memory(address, data),
    }
}

fn answer(connection: &mut impl Write, answered: Option<()>, data: Option<&Vec<u8>>) -> Result<()> {
    let data = data.filter(|_| answered.is_some()).map_or(&[][..], Vec::as_slice);
    let mut bytes = vec![u8::from(answered.is_none()), 0, 0, 0];
    bytes.extend((data.len() as u32).to_le_bytes());
    bytes.extend(data);
    connection.write_all(&bytes)
}
