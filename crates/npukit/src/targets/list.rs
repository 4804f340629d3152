//! The list of accelerators.

use npukit_target::Target;

/// All accelerators, a line for each.
#[rustfmt::skip]
static TARGETS: &[&dyn Target] = &[
    &npukit_tcu::Tcu,
    &npukit_opu::Opu,
    &npukit_pccx::Pccx,
    &npukit_drra::Drra,
];

/// All accelerators.
pub fn targets() -> &'static [&'static dyn Target] {
    TARGETS
}

/// The target a name stands for when none is given.
pub fn default_target() -> &'static dyn Target {
    targets()[0]
}
