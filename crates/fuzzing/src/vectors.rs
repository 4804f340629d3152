//! [`vectors`]: golden vectors, for `npu conform`.

use npukit::target;

use crate::absent;

/// Readers: `t`, `o`, `p`, `d`: `.json` of the targets; `u`: pccx's `.u16le`; `c`: its traces,
/// `.pccx`.
pub fn vectors(input: &[u8]) {
    let Some((letter, bytes)) = input.split_first() else { return };
    let (name, file) = match letter {
        b't' => ("tcu", "v.json"),
        b'o' => ("opu", "v.json"),
        b'p' => ("pccx", "v.json"),
        b'd' => ("drra", "v.json"),
        b'u' => ("pccx", "v.u16le"),
        b'c' => ("pccx", "v.pccx"),
        _ => return,
    };
    let target = target(name).unwrap_or_else(|error| panic!("{error}"));
    for case in target.vectors(file, bytes, &absent).unwrap_or_default() {
        case.check();
    }
}
