//! `cargo xtask wheel [TRIPLE]`: the Python package as a wheel that also installs the command.
//!
//! maturin builds the wheel, and copies the programs from [`SCRIPTS`] into its folder of scripts.
//! It writes the list of the wheel's crates (SBOM, CycloneDX) into the wheel.
//! `tests/python/wheel.py` makes a wheel with the same layout from a development build, and tests
//! both.

use std::path::Path;
use std::process::Command;

use crate::dist::{PROFILE, PROGRAMS, build, copy, file_name, output, target, triple};
use crate::files::{make_folder, remove};
use crate::{Error, root};

/// Summary for the help.
pub const ABOUT: &str = "Builds the wheel of a release, with the Python package and the command";

/// Folder that maturin expects next to `python/pyproject.toml`, named after the native module.
const DATA: &str = "python/npukit._npukit.data";

/// Folder of programs in [`DATA`].
const SCRIPTS: &str = "scripts";

/// Makes the wheel for the current machine, or for the target triple in the only argument.
///
/// # Errors
///
/// More than one argument; a program (`cargo`, `rustc`, `maturin`) that fails or is missing; a
/// released program above the size limit; or files that cannot be written.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let triple = triple("wheel TRIPLE", arguments)?;
    let built = build(&triple)?;
    let data = root().join(DATA);
    let packed = stage(&built, &triple, &data.join(SCRIPTS)).and_then(|()| pack(&triple));
    // `pip install ./python` would also install programs that remain here.
    remove(&data)?;
    print!("{}", packed?);
    Ok(())
}

/// Copies the programs to the place where maturin finds them.
fn stage(built: &Path, triple: &str, scripts: &Path) -> Result<(), Error> {
    remove(scripts)?;
    make_folder(scripts)?;
    for (_, program) in PROGRAMS {
        let name = file_name(program, triple);
        copy(&built.join(&name), &scripts.join(&name))?;
    }
    Ok(())
}

/// Builds the native module and the wheel in `target/dist`, and returns maturin's output.
fn pack(triple: &str) -> Result<String, Error> {
    let mut maturin = Command::new("maturin");
    maturin.args(["build", "--locked", "--profile", PROFILE, "--target", triple]);
    output(maturin.args(["--manifest-path", "python/Cargo.toml", "--out"]).arg(target().join("dist")))
}
