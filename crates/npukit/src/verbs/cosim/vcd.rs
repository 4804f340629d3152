//! Converts waveforms of a simulator from VCD, which it writes without further libraries, to FST: a
//! tenth of the size, with an index.
//!
//! Source: IEEE 1800-2023, 21.7.2. Simulators write a subset: scopes, variables of bits, times and
//! changes.

use std::collections::HashMap;
use std::io::Cursor;

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType,
};

use super::simulator::SimulatorError;

/// Size in bytes of changes that are written together.
const BLOCK: usize = 1 << 24;
/// Exponent of the time unit: a time step of the simulator is half a cycle; viewers show
/// nanoseconds.
const NANOSECONDS: i8 = -9;

/// Converts the waveforms in `vcd`.
///
/// # Errors
///
/// Returns [`SimulatorError::Output`] with the line if the file is invalid.
pub(super) fn to_fst(file: &str, vcd: &[u8]) -> Result<Vec<u8>, SimulatorError> {
    let wrong = |reason: String| SimulatorError::Output { file: file.to_owned(), reason };
    let text = std::str::from_utf8(vcd).map_err(|error| wrong(error.to_string()))?;
    let mut lines = text.lines().enumerate();
    let (mut body, signals) = declared(&mut lines).map_err(wrong)?;
    for (index, line) in lines {
        changed(&mut body, &signals, line.trim())
            .map_err(|reason| wrong(format!("line {}: {reason}", index + 1)))?;
    }
    let finished = body.finish().map_err(|error| wrong(error.to_string()))?;
    Ok(finished.into_inner())
}

/// Returns a save file of GTKWave for the file `waveforms`. It shows the signals of the outermost
/// module in `vcd`: bits as waves, vectors in hexadecimal.
pub(super) fn save_file(vcd: &[u8], waveforms: &str) -> Vec<u8> {
    let name = waveforms.replace(['\n', '"'], "_");
    let mut save = format!(
        "[*]\n[*] GTKWave save file, by npukit\n[*]\n[dumpfile] \"{name}\"\n[size] 1600 900\n[signals_width] 400\n"
    );
    let text = String::from_utf8_lossy(vcd);
    let mut scopes: Vec<&str> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["$enddefinitions", ..] => break,
            ["$scope", _, name, ..] => scopes.push(name),
            ["$upscope", ..] => drop(scopes.pop()),
            ["$var", "wire" | "reg" | "logic", bits, _, name, ..] => {
                if let [module] = scopes[..] {
                    save += &shown(module, name, bits);
                }
            }
            _ => {}
        }
    }
    save.into_bytes()
}

/// Formats a signal for a save file: a bit as a wave, a vector in hexadecimal.
fn shown(module: &str, name: &str, bits: &str) -> String {
    match bits.parse::<u64>() {
        // GTKWave adds the range to the names of vectors.
        Ok(bits @ 2..) => format!("@22\n{module}.{name}[{}:0]\n", bits - 1),
        _ => format!("@28\n{module}.{name}\n"),
    }
}

type Body = FstBodyWriter<Cursor<Vec<u8>>>;
/// Signals and their widths in bits, by their codes in the file.
type Signals<'t> = HashMap<&'t str, (FstSignalId, u32)>;

/// Reads the declarations.
fn declared<'t>(lines: &mut impl Iterator<Item = (usize, &'t str)>) -> Result<(Body, Signals<'t>), String> {
    let info = FstInfo {
        start_time: 0,
        timescale_exponent: NANOSECONDS,
        version: format!("npu {}", env!("CARGO_PKG_VERSION")),
        date: String::new(),
        file_type: FstFileType::Verilog,
    };
    let mut header = FstHeaderWriter::write_to_mem(&info).map_err(|error| error.to_string())?;
    let mut signals = Signals::new();
    for (index, line) in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let result = match words[..] {
            ["$enddefinitions", ..] => {
                return Ok((header.finish().map_err(|error| error.to_string())?, signals));
            }
            ["$scope", _, name, ..] => header.scope(name, "", FstScopeType::Module),
            ["$upscope", ..] => header.up_scope(),
            ["$var", "wire" | "reg" | "logic", bits, code, name, ..] => {
                let bits: u32 = bits.parse().map_err(|_| format!("line {}: `{bits}` bits", index + 1))?;
                let known = signals.get(code).map(|(id, _)| *id);
                let kind = FstSignalType::bit_vec(bits);
                header.var(name, kind, FstVarType::Wire, FstVarDirection::Implicit, known).map(|id| {
                    signals.entry(code).or_insert((id, bits));
                })
            }
            // Skips constants, comments and dates.
            _ => Ok(()),
        };
        result.map_err(|error| format!("line {}: {error}", index + 1))?;
    }
    Err("it ends within its declarations".to_owned())
}

/// Parses a time or a change.
fn changed(body: &mut Body, signals: &Signals<'_>, line: &str) -> Result<(), String> {
    let unread = || format!("`{line}` is neither a time nor a change");
    let Some(first) = line.chars().next() else { return Ok(()) };
    let (value, code) = match first {
        '$' => return Ok(()),
        '#' => {
            let time = line[1..].parse().map_err(|_| unread())?;
            // A block must end before the next time.
            if body.size() > BLOCK {
                body.flush().map_err(|error| error.to_string())?;
            }
            return body.time_change(time).map_err(|error| error.to_string());
        }
        'b' | 'B' => line[1..].split_once(' ').ok_or_else(unread)?,
        '0' | '1' | 'x' | 'X' | 'z' | 'Z' => line.split_at(1),
        _ => return Err(unread()),
    };
    // Skips signals that are not bits.
    let Some((id, bits)) = signals.get(code.trim()) else { return Ok(()) };
    let bits = *bits as usize;
    // Short values are extended on the left: by their first digit if unknown, otherwise by zeros.
    let fill = value.chars().next().filter(|digit| !matches!(digit, '0' | '1')).unwrap_or('0'); // Default: zeros.
    let missing = bits.saturating_sub(value.len());
    let mut digits = String::with_capacity(bits);
    digits.extend(std::iter::repeat_n(fill, missing));
    digits.push_str(value.get(value.len().saturating_sub(bits)..).unwrap_or(value)); // Default: the whole value.
    body.signal_change(*id, digits.to_ascii_lowercase().as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::io::Cursor;

    use super::{save_file, to_fst};

    const EXAMPLE: &str = "$version of a test $end
$timescale 1ps $end
 $scope module TOP $end
  $var wire 1 # clock $end
  $scope module unit $end
   $var wire 4 $ count [3:0] $end
   $var wire 1 # clock $end
  $upscope $end
 $upscope $end
$enddefinitions $end

#10
0#
b0000 $
#11
1#
b101 $
#12
bx $
";

    #[test]
    fn changes_come_back() {
        let fst = to_fst("w.vcd", EXAMPLE.as_bytes()).unwrap();
        let mut waves = wellen::simple::read_from_reader(Cursor::new(fst)).unwrap();
        let all: Vec<_> = waves.hierarchy().signals().collect();
        waves.load_signals(&all);
        let hierarchy = waves.hierarchy();
        let of = |name: &str| {
            let var = hierarchy.all_vars().find(|var| hierarchy[*var].full_name(hierarchy) == name);
            hierarchy[var.unwrap()].signal_ref()
        };
        assert_eq!(of("TOP.clock"), of("TOP.unit.clock"), "one signal by two names");
        assert_eq!(waves.time_table(), [0, 10, 11, 12], "FST begins at 0, where all values are unknown");
        let signal = waves.get_signal(of("TOP.unit.count")).unwrap();
        let seen: Vec<String> =
            signal.iter_changes().map(|(_, value)| value.to_bit_string().unwrap()).collect();
        assert_eq!(seen[seen.len() - 3..], ["0000", "0101", "xxxx"]);
    }

    #[test]
    fn the_save_file_shows_the_outermost_module() {
        let vcd =
            EXAMPLE.replace("  $scope module unit", "  $var wire 4 $ data [3:0] $end\n  $scope module unit");
        let save = String::from_utf8(save_file(vcd.as_bytes(), "w.fst")).unwrap();
        let shown = "[dumpfile] \"w.fst\"\n[size] 1600 900\n[signals_width] 400\n@28\nTOP.clock\n@22\nTOP.data[3:0]\n";
        assert!(save.ends_with(shown), "{save}");
    }

    #[test]
    fn what_is_no_such_file_is_told() {
        let message = |text: &str| to_fst("w.vcd", text.as_bytes()).unwrap_err().to_string();
        assert!(message("").contains("it ends within its declarations"));
        assert!(message("$enddefinitions $end\n#x\n").contains("line 2: `#x` is neither"));
        assert!(message("$var wire many # a $end\n$enddefinitions $end\n").contains("line 1: `many` bits"));
    }
}
