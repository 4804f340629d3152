//! List of all accelerators.

use npukit_target::Target;

/// All accelerators, one per line.
#[rustfmt::skip]
static TARGETS: &[&Target] = &[
    &npukit_tcu::TCU,
    &npukit_opu::OPU,
    &npukit_pccx::PCCX,
    &npukit_drra::DRRA,
];

/// Returns all accelerators.
pub fn targets() -> &'static [&'static Target] {
    TARGETS
}

/// Returns the target that is used in examples when none is given.
pub fn default_target() -> &'static Target {
    targets()[0]
}
