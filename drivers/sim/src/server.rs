//! Protocol of the simulated board: [`serve`] answers a driver's requests with a [`Board`].
//!
//! A request is an operation (a letter), three zeros, a 32-bit length and a 64-bit address, all
//! little-endian. For `w`, `M` and `f`, `length` bytes follow. An answer is a byte (0 for success,
//! 1 for a bus error), three zeros, a length, and that number of bytes. Each request takes a
//! microsecond of the board's time.
//!
//! | operation | address | answer |
//! |---|---|---|
//! | `r`, `w` | of a register of 4 or 8 bytes | its value; empty |
//! | `m`, `M` | of memory | its bytes; empty |
//! | `t` | unused | time in microseconds, 64 bits |
//! | `p` | number of microseconds that pass | empty |
//! | `f` | number of the failing event, 1 for the next; the data are a fault's name | empty |

use std::io::{Read, Result, Write};

use crate::faults::{Fault, Faults};

/// Interface of a board to the driver. `None` is a bus error.
pub trait Board {
    /// Reads a register of `bytes.len()` bytes.
    fn read_register(&mut self, address: u64, bytes: &mut [u8], faults: &mut Faults) -> Option<()>;
    /// Writes a register.
    fn write_register(&mut self, address: u64, bytes: &[u8], faults: &mut Faults) -> Option<()>;
    /// Reads memory shared with the accelerator.
    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Option<()>;
    /// Writes memory shared with the accelerator.
    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Option<()>;
}

/// Maximum data length of a request or an answer, in bytes.
const LONGEST: u32 = 1 << 24;

/// Answers requests until the driver closes the connection.
///
/// # Errors
///
/// An error of the connection.
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
