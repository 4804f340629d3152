//! [`Circuit`]: the sources of an accelerator with the parameters of an instance.

use crate::rtl::port::Port;

/// Whether a circuit has the defects of the released one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defects {
    /// All known defects are corrected.
    #[default]
    Mended,
    /// The known defects of the released circuit are kept, if there are any.
    Released,
}

/// An embedded source file of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name without a folder.
    pub name: &'static str,
    /// Text of the file.
    pub text: &'static str,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// File name without a folder.
    pub name: String,
    /// Text of the file.
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
    /// Name in the module.
    pub name: &'static str,
    /// Value of the parameter.
    pub value: u64,
    /// Width of the literal in bits, if the module's type is wider than a 32-bit integer or is a
    /// vector.
    pub bits: Option<u32>,
}

impl Parameter {
    /// Creates an integer parameter of at most 32 bits.
    pub const fn integer(name: &'static str, value: u64) -> Self {
        Self { name, value, bits: None }
    }

    /// Creates a parameter of `bits` bits.
    pub const fn sized(name: &'static str, value: u64, bits: u32) -> Self {
        Self { name, value, bits: Some(bits) }
    }

    /// Returns the value as a SystemVerilog literal.
    pub fn literal(&self) -> String {
        self.bits.map_or_else(|| self.value.to_string(), |bits| format!("{bits}'d{}", self.value))
    }
}

/// Test bench of a circuit: a module around it that exposes internal signals, and a program that
/// drives the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestBench {
    /// Name of the module.
    pub module: &'static str,
    /// Source of the module, and of inner modules that the circuit does not have.
    pub modules: &'static [Source],
    /// C++ source of the driving program.
    pub harness: Source,
    /// Headers that the program includes.
    pub headers: &'static [Source],
    /// Parameters that differ from the circuit's.
    pub parameters: Vec<Parameter>,
}

impl TestBench {
    /// Returns the sources of modules and program.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        self.modules.iter().copied().chain([self.harness]).chain(self.headers.iter().copied())
    }
}

/// A bank of memory that a circuit reads and writes through a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    /// Name in the drivers' `board.json`.
    pub name: &'static str,
    /// Prefix of the bus.
    pub bus: &'static str,
    /// Size of the bank in bytes.
    pub bytes: u64,
}

/// An accelerator as a circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// Target and instance, as `TARGET:INSTANCE`.
    pub instance: String,
    /// Name in file and module names: an [`identifier`].
    pub name: String,
    /// Description in one line.
    pub summary: String,
    /// Name of the module that the sources define.
    pub module: &'static str,
    /// Sources, in an order in which tools can read them.
    pub sources: Vec<Source>,
    /// Values of the module's parameters that differ from the defaults.
    pub parameters: Vec<Parameter>,
    /// Ports of the module, with the widths that follow from the parameters.
    pub ports: Vec<Port>,
    /// Prefixes of the ports that are buses.
    pub buses: Vec<&'static str>,
    /// Banks of memory, each with its bus.
    pub banks: Vec<Bank>,
    /// Number of performance samples in a packet of the sample stream.
    pub sample_block: u32,
    /// Files that make a system around the circuit with open tools, and its firmware, with names
    /// relative to `drivers`; empty if there is none.
    pub system: &'static [Source],
    /// Test bench for simulation.
    pub bench: TestBench,
    /// FPGA of the board, if known.
    pub part: Option<&'static str>,
    /// FPGA family for synthesis with Yosys; `None` for any.
    pub family: Option<&'static str>,
    /// Clock of the board in MHz, if known.
    pub clock_mhz: Option<f64>,
}

impl Circuit {
    /// Returns the name of the top: the module with its parameters fixed.
    pub fn top(&self) -> String {
        format!("top_{}", self.name)
    }

    /// Returns all generated files: the top, sources, simulation, and lists for tools.
    pub fn files(&self) -> Vec<File> {
        let embedded = self.sources.iter().copied().chain(self.bench.sources()).map(File::from);
        std::iter::once(self.top_file()).chain(embedded).chain(self.lists()).collect()
    }
}

/// Returns `text` as an identifier of letters, digits and underscores; other characters become
/// underscores.
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

    /// Returns a circuit of two sources.
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
            ports: [vec![Port::input("clk_i"), Port::input("rst_i")], stream("in", false, 16)].concat(),
            buses: vec!["in"],
            banks: Vec::new(),
            sample_block: 64,
            system: &[],
            bench: TestBench {
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
