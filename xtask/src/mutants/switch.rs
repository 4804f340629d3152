// Switch of the mutants woven into this crate. At most one is on, selected by NPUKIT_MUTANT. If
// NPUKIT_MUTANTS_REACHED names a file, the code writes the reached mutants to it. Code evaluated by
// the compiler never sees a mutant.

const MUTANTS: usize = 0;
const UNKNOWN: u32 = u32::MAX;
const RECORD: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static ON: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(UNKNOWN);
static REACHED: [core::sync::atomic::AtomicBool; MUTANTS] =
    [const { core::sync::atomic::AtomicBool::new(false) }; MUTANTS];

#[inline(always)]
pub(crate) const fn on(mutant: u32) -> bool {
    core::intrinsics::const_eval_select((mutant,), no_mutant, is_on)
}

const fn no_mutant(_: u32) -> bool {
    false
}

#[inline(always)]
fn is_on(mutant: u32) -> bool {
    let on = ON.load(core::sync::atomic::Ordering::Relaxed);
    on == mutant || (on >= RECORD && uncommon(mutant))
}

#[cold]
#[inline(never)]
fn uncommon(mutant: u32) -> bool {
    use std::io::Write;
    if ON.load(core::sync::atomic::Ordering::Relaxed) == UNKNOWN {
        let named = std::env::var("NPUKIT_MUTANT").ok().and_then(|name| name.parse().ok());
        let recording = std::env::var_os("NPUKIT_MUTANTS_REACHED").is_some();
        let on = named.unwrap_or(if recording { RECORD } else { NONE });
        ON.store(on, core::sync::atomic::Ordering::Relaxed);
        return is_on(mutant);
    }
    if ON.load(core::sync::atomic::Ordering::Relaxed) == RECORD
        && !REACHED[mutant as usize].swap(true, core::sync::atomic::Ordering::Relaxed)
    {
        let path = std::env::var_os("NPUKIT_MUTANTS_REACHED").unwrap();
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{mutant}\n").as_bytes()).unwrap();
    }
    false
}
