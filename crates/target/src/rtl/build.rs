//! [`Build`]: a simulator to build from a circuit; [`Run`]: its inputs; [`Seen`]: its outputs.

use std::collections::BTreeMap;

use crate::rtl::circuit::{Circuit, File, Parameter};

/// A simulator to build with Verilator in its own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Files of the folder.
    pub files: Vec<File>,
    /// Command-line arguments of Verilator.
    pub arguments: Vec<String>,
}

/// Path of the simulator in the folder, after the build.
const PROGRAM: &str = "build/simulator";

/// Options for Verilator and the compiler: fast long runs matter more than a fast build. GCC's
/// precompiled headers have other names than the Verilator packages for any compiler expect, so
/// they are not used.
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

/// Waveforms in VCD, which needs no further libraries, for vectors of any width. Verilator 5.006
/// has no `--trace-vcd`; in later versions, `--trace` means the same.
const WAVES: [&str; 3] = ["--trace", "--trace-max-width", "4096"];

impl Build {
    /// Returns the build of a circuit, with waveforms or, for a faster simulator, without.
    ///
    /// The files of `own`, in order, are user sources that replace the circuit's, including
    /// the bench if they contain one.
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

    /// Returns the path of the simulator in the folder, after the build.
    pub const fn program(&self) -> &'static str {
        PROGRAM
    }

    /// Returns bytes that identify this build, for hashing: files, arguments, and `tools`, the
    /// versions of the build tools.
    pub fn identity(&self, tools: &str) -> Vec<u8> {
        let files = self.files.iter().flat_map(|file| [&file.name, &file.text]);
        let texts = std::iter::once(tools).chain(files.chain(&self.arguments).map(String::as_str));
        // Each text is preceded by its length, so that different lists never give the same bytes.
        texts.flat_map(|text| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()).collect()
    }
}

fn override_of(parameter: &Parameter) -> String {
    format!("-G{}={}", parameter.name, parameter.literal())
}

/// Returns sources and bench in order. User sources replace the circuit's; the circuit's bench is
/// added if they have none.
fn files(circuit: &Circuit, own: &[File]) -> Vec<File> {
    let bench = circuit.bench.sources().map(File::from);
    if own.is_empty() {
        return circuit.sources.iter().map(|&source| source.into()).chain(bench).collect();
    }
    let is_new = |file: &File| own.iter().all(|other| other.name != file.name);
    own.iter().cloned().chain(bench.filter(is_new)).collect()
}

/// A run of a simulator in its own folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Files that it reads.
    pub files: BTreeMap<&'static str, Vec<u8>>,
    /// Arguments, which name these files.
    pub arguments: Vec<String>,
    /// Files that it writes.
    pub outputs: Vec<&'static str>,
}

impl Run {
    /// Adds an argument of the form `--name value`.
    pub fn option(&mut self, name: &str, value: impl ToString) {
        self.arguments.extend([format!("--{name}"), value.to_string()]);
    }
}

/// Files that a run has written, by name.
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
            "--trace",
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
