//! Lists of a circuit's files for tools: a plain list, a FuseSoC core, and a script for Yosys. The
//! script for Vivado is in [`vivado`](super::vivado).

use crate::rtl::circuit::{Circuit, File, Source};
use crate::rtl::escape::{comment, yaml};

/// Oldest Yosys version tested that reads circuits. The script first checks the required feature,
/// arrays of words in a module.
const YOSYS: &str = "0.44";

impl Circuit {
    /// Returns `NAME.f`, `NAME.core`, `NAME.ys` and, for a board with a known FPGA, `NAME.tcl`.
    pub(crate) fn lists(&self) -> Vec<File> {
        let file = |ending: &str, text: String| File { name: format!("{}.{ending}", self.name), text };
        let mut lists = vec![
            file("f", self.file_list()),
            file("core", self.fusesoc_core()),
            file("ys", self.yosys_script()),
        ];
        lists.extend(self.part.and_then(|part| Some(file("tcl", self.vivado_script(part)?))));
        lists
    }

    /// Returns the names of the sources in order, the top last.
    pub(super) fn names(&self) -> Vec<String> {
        let sources = self.sources.iter().map(|source| source.name.to_owned());
        sources.chain([format!("{}.sv", self.top())]).collect()
    }

    fn file_list(&self) -> String {
        format!(
            "// {}: `-F` reads names relative to this file.\n{}\n",
            comment(&self.instance),
            self.names().join("\n")
        )
    }

    fn fusesoc_core(&self) -> String {
        let Self { instance, summary, module, name, bench, .. } = self;
        let files: String = self.names().iter().map(|file| format!("      - {file}\n")).collect();
        let parameters = [self.parameters.clone(), bench.parameters.clone()].concat();
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
        let values: String = parameters
            .iter()
            .map(|p| {
                format!(
                    "  {}:\n    datatype: int\n    paramtype: vlogparam\n    default: {}\n",
                    p.name, p.value
                )
            })
            .collect();
        let (harness, top) = (bench.harness.name, self.top());
        let modules: String = bench
            .modules
            .iter()
            .map(|source| format!("      - {}: {{file_type: systemVerilogSource}}\n", source.name))
            .collect();
        let header = |header: &Source| {
            format!("      - {}: {{file_type: cppSource, is_include_file: true}}\n", header.name)
        };
        let headers: String = bench.headers.iter().map(header).collect();
        format!(
            "CAPI=2:
name: npukit:{module}:{name}:{version}
description: {description}
filesets:
  rtl:
    files:
{files}    file_type: systemVerilogSource
  simulation:
    files:
{modules}{headers}      - {harness}: {{file_type: cppSource}}
targets:
  default: &default
    filesets: [rtl]
    toplevel: {top}
  lint:
    <<: *default
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
  sim:
    filesets: [rtl, simulation]
    toplevel: {bench}
    parameters: [{names}]
    flow: sim
    flow_options:
      tool: verilator
      mode: cc
      # Parameters are passed as 32-bit numbers, independent of their width.
      verilator_options: [--exe, -O3, -Wno-WIDTH]
parameters:
{values}",
            version = env!("CARGO_PKG_VERSION"),
            description = yaml(&format!("{instance}: {summary}")),
            bench = bench.module,
            names = names.join(", "),
        )
    }

    fn yosys_script(&self) -> String {
        let Self { name, module, .. } = self;
        let (instance, top, names) = (comment(&self.instance), self.top(), self.names().join(" "));
        let synthesis = self.family.map_or_else(
            || format!("synth -top {top}"),
            |family| format!("synth_xilinx -family {family} -noiopad -top {top}"),
        );
        format!(
            "# Synthesis of {instance} by Yosys; run in the folder of this file: yosys {name}.ys\n\
             log -nolog -stderr Needs Yosys {YOSYS} or later: an older version ends here with a syntax error.\n\
             read_verilog -sv <<EOT\n\
             module {module}_needs_newer_yosys; logic [1:0][1:0] words; endmodule\n\
             EOT\n\
             delete {module}_needs_newer_yosys\n\
             read_verilog -sv {names}\n\
             hierarchy -check -top {top}\n\
             {synthesis}\n\
             check -mapped\n\
             tee -o {name}.stat stat\n\
             write_json {name}.json\n"
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use crate::rtl::circuit::Circuit;
    use crate::rtl::circuit::tests::example;
    use crate::rtl::escape::tests::NAMES;
    use crate::rtl::vivado::VIVADO_BOARDS;
    use crate::rtl::vivado::tests::system;

    fn text(circuit: &Circuit, ending: &str) -> Option<String> {
        circuit.lists().into_iter().find(|file| file.name.ends_with(ending)).map(|file| file.text)
    }

    #[test]
    fn lists_name_the_sources_in_order() {
        let circuit = example();
        let list = text(&circuit, ".f").unwrap_or_default();
        assert!(list.ends_with("\nunit_pkg.sv\nunit.sv\ntop_small_depth_8.sv\n"), "{list}");
        let script = text(&circuit, ".ys").unwrap_or_default();
        assert!(script.contains("log -nolog -stderr Needs Yosys 0.44 or later"), "{script}");
        assert!(script.contains("read_verilog -sv unit_pkg.sv unit.sv top_small_depth_8.sv\n"), "{script}");
        assert!(script.contains("synth_xilinx -family xc7 -noiopad -top top_small_depth_8\n"), "{script}");
        let core = text(&circuit, ".core").unwrap_or_default();
        assert!(core.starts_with("CAPI=2:\nname: npukit:unit:small_depth_8:"), "{core}");
        assert!(core.contains("parameters: [DEPTH, LOSES, STREAM]"), "{core}");
    }

    #[test]
    fn a_circuit_without_a_board_has_no_script_of_a_maker() {
        let unknown = Circuit { part: None, family: None, clock_mhz: None, ..example() };
        assert_eq!(text(&unknown, ".tcl"), None);
        assert!(text(&unknown, ".ys").unwrap_or_default().contains("\nsynth -top "));
    }

    /// Returns the lines of all files of a circuit, except lines that contain its name or summary
    /// on purpose.
    fn lines(circuit: &Circuit, is_listed: impl Fn(&str) -> bool) -> Vec<String> {
        let board = &VIVADO_BOARDS[0];
        let lines = circuit
            .files()
            .into_iter()
            .chain(circuit.vivado_board(board).unwrap())
            .flat_map(|file| file.text.split('\n').map(str::to_owned).collect::<Vec<_>>());
        lines.filter(|line| !is_listed(line)).collect()
    }

    #[test]
    fn names_say_nothing_to_tools() {
        let plain = system();
        // Comments and quoted words are covered by the tests of `escape`.
        let is_listed = |line: &str| {
            let line = line.trim_start();
            ["//", "#", "description: \"", "set_property display_name \"", "set_property description \""]
                .iter()
                .any(|start| line.starts_with(start))
        };
        let wanted = lines(&plain, is_listed);
        for name in NAMES {
            let circuit =
                Circuit { instance: format!("unit:{name}"), summary: name.to_owned(), ..plain.clone() };
            assert_eq!(lines(&circuit, is_listed), wanted, "{name:?}");
        }
    }
}
