//! [`Circuit`]: the sources of an accelerator with the parameters of an instance.

use crate::rtl::port::Port;

/// Whether a circuit computes what instructions say everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defects {
    /// It does.
    #[default]
    Mended,
    /// It has the known defects of the released circuit, where that has any.
    Released,
}

/// A file of a circuit, as it is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name, without a folder.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl From<Source> for File {
    fn from(source: Source) -> Self {
        Self { name: source.name.to_owned(), text: source.text.to_owned() }
    }
}

/// A parameter of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the module.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// Bits of the literal, where the module's type is wider than an integer of 32 bits or is a vector.
    pub bits: Option<u32>,
}

impl Parameter {
    /// An integer of at most 32 bits.
    pub const fn integer(name: &'static str, value: u64) -> Self {
        Self { name, value, bits: None }
    }

    /// A value of so many bits.
    pub const fn sized(name: &'static str, value: u64, bits: u32) -> Self {
        Self { name, value, bits: Some(bits) }
    }

    /// The value as SystemVerilog writes it.
    pub fn literal(&self) -> String {
        self.bits.map_or_else(|| self.value.to_string(), |bits| format!("{bits}'d{}", self.value))
    }
}

/// What simulates a circuit: a module around it that shows more than its ports, and a program that drives this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// Name of the module.
    pub module: &'static str,
    /// Its source, and those of modules within it that the circuit has not.
    pub modules: &'static [Source],
    /// The program, in C++.
    pub harness: Source,
    /// What it includes.
    pub headers: &'static [Source],
    /// Parameters that differ from those of the circuit.
    pub parameters: Vec<Parameter>,
}

impl Bench {
    /// Modules and program.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        self.modules.iter().copied().chain([self.harness]).chain(self.headers.iter().copied())
    }
}

/// An accelerator as a circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// Target and instance.
    pub instance: String,
    /// Its name in names of files and modules: an [`identifier`].
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// The module that the sources make.
    pub module: &'static str,
    /// The sources, in an order in which tools can read them.
    pub sources: Vec<Source>,
    /// Values of the module's parameters, where they are not its defaults.
    pub parameters: Vec<Parameter>,
    /// Ports of the module, with the widths that follow.
    pub ports: Vec<Port>,
    /// Prefixes of those that are buses.
    pub buses: Vec<&'static str>,
    /// What simulates it.
    pub bench: Bench,
    /// The FPGA of the board, where that is known.
    pub part: Option<&'static str>,
    /// Name of the family of the FPGA for synthesis by Yosys; none for any.
    pub family: Option<&'static str>,
    /// MHz of the board's clock, where that is known.
    pub clock_mhz: Option<f64>,
}

impl Circuit {
    /// Name of the top: the module with its parameters fixed.
    pub fn top(&self) -> String {
        format!("top_{}", self.name)
    }

    /// Everything that is written of it: the top, sources, simulation, and lists for tools.
    pub fn files(&self) -> Vec<File> {
        let embedded = self.sources.iter().copied().chain(self.bench.sources()).map(File::from);
        std::iter::once(self.top_file()).chain(embedded).chain(self.lists()).collect()
    }
}

/// A name made of letters, digits and underscores, as modules have them: what else is in `text` becomes an underscore.
pub fn identifier(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = text.chars().map(letter).collect();
    if name.is_empty() {
        name.push('_');
    }
    name
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rtl::port::stream;

    /// A circuit of two sources.
    pub(crate) fn example() -> Circuit {
        Circuit {
            instance: "unit:small,depth=8".to_owned(),
            name: identifier("small,depth=8"),
            summary: "a unit of 8 words".to_owned(),
            module: "unit",
            sources: vec![
                Source { name: "unit_pkg.sv", text: "package unit_pkg; endpackage\n" },
                Source { name: "unit.sv", text: "module unit; endmodule\n" },
            ],
            parameters: vec![Parameter::integer("DEPTH", 8), Parameter::sized("LOSES", 1, 1)],
            ports: [vec![Port::input("clock"), Port::input("reset")], stream("in", false, 16)].concat(),
            buses: vec!["in"],
            bench: Bench {
                module: "unit_bench",
                modules: &[Source { name: "unit_bench.sv", text: "module unit_bench; endmodule\n" }],
                harness: Source { name: "harness.cpp", text: "int main() {}\n" },
                headers: &[],
                parameters: vec![Parameter::integer("STREAM", 32)],
            },
            part: Some("xc7z020clg400-1"),
            family: Some("xc7"),
            clock_mhz: Some(50.0),
        }
    }

    #[test]
    fn names_are_identifiers() {
        assert_eq!(identifier("zcu104,array_size=8"), "zcu104_array_size_8");
        assert_eq!(identifier(""), "_");
        assert_eq!(identifier("größe"), "gr__e");
    }

    #[test]
    fn all_files_have_names_of_their_own() {
        let names: Vec<String> = example().files().into_iter().map(|file| file.name).collect();
        let wanted = [
            "top_small_depth_8.sv",
            "unit_pkg.sv",
            "unit.sv",
            "unit_bench.sv",
            "harness.cpp",
            "small_depth_8.f",
            "small_depth_8.core",
            "small_depth_8.ys",
            "small_depth_8.tcl",
        ];
        assert_eq!(names, wanted);
    }
}
