//! [`configurations`]: instance files.

use std::fmt::{Debug, Display};

use npukit::{resolve, target};
use npukit_target::InstanceSpec;

use crate::{absent, check_message, message};

/// Readers: `t`: `.tarch`; `o`, `p`: `.toml` of opu and pccx; `d`: an architecture of drra; `s`:
/// its short form.
///
/// An accepted instance must have an instruction set, and be the same after writing and reading.
pub fn configurations(input: &[u8]) {
    let Some((letter, bytes)) = input.split_first() else { return };
    let text = std::str::from_utf8(bytes);
    match (letter, text) {
        (b't', _) => file("tcu", "c.tarch", bytes),
        (b'o', _) => file("opu", "c.toml", bytes),
        (b'p', _) => file("pccx", "c.toml", bytes),
        (b'd', _) => file("drra", "c.json", bytes),
        (b's', Ok(text)) => short(text),
        _ => {}
    }
    match (letter, text) {
        (b't', Ok(text)) => tcu(text),
        (b'o', Ok(text)) => opu(text),
        (b'p', Ok(text)) => pccx(text),
        (b'd', Ok(text)) => drra(text),
        _ => {}
    }
}

fn file(name: &str, file: &str, bytes: &[u8]) {
    let target = target(name).unwrap_or_else(|error| panic!("{error}"));
    match target.instance(InstanceSpec::File { name: file, bytes }) {
        Err(error) => check_message(file, &error),
        Ok(instance) => {
            assert_eq!(instance.info().name, format!("{name}:c"));
            instance.info().warnings.iter().for_each(|warning| assert!(!warning.is_empty()));
            assert!(!instance.info().config.is_null());
            match instance.isa() {
                Ok(isa) => assert!(!isa.reference().text().is_empty()),
                Err(error) => drop(message(&error)),
            }
        }
    }
}

fn short(text: &str) {
    match resolve(&format!("drra:{text}"), &absent) {
        Ok(instance) => assert_eq!(instance.info().name, format!("drra:{text}")),
        Err(error) => drop(message(&error)),
    }
}

/// Checks that a written configuration is read back unchanged.
fn same<T: PartialEq + Debug>(config: &T, written: &str, again: Result<T, impl Display>) {
    let again = again.unwrap_or_else(|error| panic!("written as {written}: {error}"));
    assert_eq!(*config, again, "written as {written}");
}

fn tcu(text: &str) {
    let read = |text: &str| npukit_tcu::Config::from_json(text).map(|(config, _)| config);
    if let Ok(config) = read(text) {
        let written = config.to_json();
        same(&config, &written, read(&written));
    }
}

fn opu(text: &str) {
    if let Ok(config) = npukit_opu::internals::config::Config::from_toml(text) {
        let written = toml::to_string(&config).unwrap_or_else(|error| panic!("{error}"));
        same(&config, &written, npukit_opu::internals::config::Config::from_toml(&written));
    }
}

fn pccx(text: &str) {
    if let Ok(config) = npukit_pccx::internals::config::Config::from_toml(text) {
        let written = toml::to_string(&config).unwrap_or_else(|error| panic!("{error}"));
        same(&config, &written, npukit_pccx::internals::config::Config::from_toml(&written));
    }
}

fn drra(text: &str) {
    use npukit_drra::internals::config::{from_json, to_json};
    if let Ok(fabric) = from_json(text) {
        let written = to_json(&fabric).to_string();
        same(&fabric, &written, from_json(&written));
    }
}
