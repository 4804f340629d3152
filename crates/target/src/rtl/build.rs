//! [`Build`]: what a simulator is to build of a circuit, [`Run`]: what it is to run, [`Seen`]: what came of it.

use std::collections::BTreeMap;

use crate::rtl::circuit::{Circuit, File, Parameter};

/// A simulator to build with Verilator in a folder of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// The files of the folder.
    pub files: Vec<File>,
    /// The arguments of Verilator there.
    pub arguments: Vec<String>,
}

/// Where the simulator is in the folder, after the build.
const PROGRAM: &str = "build/simulator";

/// What Verilator and the compiler are asked for: speed of long runs before that of building. The precompiled headers of
/// GCC have other names than packages of Verilator for any compiler take.
const OPTIONS: [&str; 10] = [
    "--cc",
    "--exe",
    "--build",
    "-j",
    "0",
    "-O3",
    "--Mdir",
    "build",
    "-MAKEFLAGS",
    "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1",
];

/// Waveforms that need no further libraries, of vectors as wide as any.
const WAVES: [&str; 3] = ["--trace-vcd", "--trace-max-width", "4096"];

impl Build {
    /// Of a circuit, with waveforms or, quicker, without.
    ///
    /// Files of `own`, in their order, are a person's sources instead of those of the circuit; a bench among them counts.
    pub fn of(circuit: &Circuit, own: &[File], with_waves: bool) -> Self {
        let files = files(circuit, own);
        let top = format!("{}.sv", circuit.top());
        let is_source = |name: &str| name.ends_with(".sv") && *name != top || name.ends_with(".cpp");
        let bench = &circuit.bench;
        let mut arguments: Vec<String> = OPTIONS.map(str::to_owned).into();
        arguments.extend(["--top-module", bench.module, "-o", "simulator"].map(str::to_owned));
        arguments.extend(WAVES.iter().filter(|_| with_waves).map(|&word| word.to_owned()));
        let parameters = [circuit.parameters.clone(), bench.parameters.clone()].concat();
        arguments.extend(parameters.iter().map(override_of));
        arguments.extend(files.iter().map(|file| file.name.clone()).filter(|name| is_source(name)));
        Self { files, arguments }
    }

    /// Where the program is after the build, in the folder.
    pub const fn program(&self) -> &'static str {
        PROGRAM
    }

    /// What tells this build from all others: files and arguments, and `tools`, what builds; for a hash.
    pub fn identity(&self, tools: &str) -> Vec<u8> {
        let files = self.files.iter().flat_map(|file| [&file.name, &file.text]);
        let texts = std::iter::once(tools).chain(files.chain(&self.arguments).map(String::as_str));
        // The length before each, so that no two lists look alike.
        texts.flat_map(|text| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()).collect()
    }
}

fn override_of(parameter: &Parameter) -> String {
    format!("-G{}={}", parameter.name, parameter.literal())
}

/// Sources and bench, in order; of a person's own sources those, and the bench where it is not among them.
fn files(circuit: &Circuit, own: &[File]) -> Vec<File> {
    let bench = circuit.bench.sources().map(File::from);
    if own.is_empty() {
        return circuit.sources.iter().map(|&source| source.into()).chain(bench).collect();
    }
    let is_new = |file: &File| own.iter().all(|other| other.name != file.name);
    own.iter().cloned().chain(bench.filter(is_new)).collect()
}

/// A run of a simulator, in a folder of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The files that it reads.
    pub files: BTreeMap<&'static str, Vec<u8>>,
    /// Its arguments, which name these.
    pub arguments: Vec<String>,
    /// The files that it writes.
    pub outputs: Vec<&'static str>,
}

impl Run {
    /// An argument of the form `--name value`.
    pub fn option(&mut self, name: &str, value: impl ToString) {
        self.arguments.extend([format!("--{name}"), value.to_string()]);
    }
}

/// What a run has written, by name.
pub type Seen = BTreeMap<&'static str, Vec<u8>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::circuit::tests::example;

    #[test]
    fn a_build_has_sources_bench_and_parameters() {
        let build = Build::of(&example(), &[], true);
        let end = &build.arguments[OPTIONS.len()..];
        let wanted = [
            "--top-module",
            "unit_bench",
            "-o",
            "simulator",
            "--trace-vcd",
            "--trace-max-width",
            "4096",
            "-GDEPTH=8",
            "-GLOSES=1'd1",
            "-GSTREAM=32",
            "unit_pkg.sv",
            "unit.sv",
            "unit_bench.sv",
            "harness.cpp",
        ];
        assert_eq!(end, wanted);
    }

    #[test]
    fn a_persons_files_take_the_places_of_ours() {
        let file = |name: &str| File { name: name.to_owned(), text: "mine".to_owned() };
        let own = ["mine.sv", "top_small_depth_8.sv", "unit_bench.sv"].map(file);
        let build = Build::of(&example(), &own, false);
        let read: Vec<&String> =
            build.arguments.iter().skip_while(|word| *word != "-GSTREAM=32").skip(1).collect();
        assert_eq!(read, ["mine.sv", "unit_bench.sv", "harness.cpp"]);
    }

    #[test]
    fn whatever_changes_the_program_changes_its_identity() {
        let build = |circuit: &Circuit, waves| Build::of(circuit, &[], waves);
        let circuit = example();
        let own = build(&circuit, false).identity("5.48");
        assert_eq!(own, build(&circuit, false).identity("5.48"));
        let parameters = vec![Parameter::integer("DEPTH", 16)];
        let other = Circuit { parameters, ..circuit.clone() };
        let others = [
            build(&other, false).identity("5.48"),
            build(&circuit, true).identity("5.48"),
            build(&circuit, false).identity("5.49"),
        ];
        assert!(others.iter().all(|other| *other != own));
    }
}
