//! The list of accelerators.

use npukit_target::Target;

/// All accelerators, a line for each.
#[rustfmt::skip]
static TARGETS: &[&Target] = &[
    &npukit_tcu::TCU,
    &npukit_opu::OPU,
    &npukit_pccx::PCCX,
    &npukit_drra::DRRA,
];

/// All accelerators.
pub fn targets() -> &'static [&'static Target] {
    TARGETS
}

/// The target a name stands for when none is given.
pub fn default_target() -> &'static Target {
    targets()[0]
}
