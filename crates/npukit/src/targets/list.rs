//! List of all accelerators.

use npukit_target::{InstanceSpec, Target};

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

/// Returns the default instance of the default target, for examples.
pub fn first_instance() -> String {
    let target = default_target();
    let instance = target.instance(InstanceSpec::Default);
    // Default: an instance that cannot be created is named by its target.
    instance.map_or_else(|_| target.name.to_owned(), |instance| instance.info().name.clone())
}
