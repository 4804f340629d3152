//! Script that packages the top of a circuit as a block for Vivado designs.

use crate::rtl::circuit::Circuit;
use crate::rtl::escape::{comment, tcl};

impl Circuit {
    /// Returns a script that packages the top as a block for Vivado; `None` without a clock and a
    /// reset.
    pub(in crate::rtl) fn vivado_script(&self, part: &str) -> Option<String> {
        let [clock, reset] = self.control()?;
        let Self { name, module, .. } = self;
        let (instance, top) = (comment(&self.instance), self.top());
        let (displayed, description) = (tcl(&self.instance), tcl(&self.summary));
        let names: String = self.names().iter().map(|file| format!("  {file} \\\n")).collect();
        let buses: String = self
            .buses
            .iter()
            .map(|bus| format!("ipx::associate_bus_interfaces -busif {bus} -clock $clock_name $core\n"))
            .collect();
        Some(format!(
            "# Packages {instance} as an IP block for Vivado; run in the folder of this file:
#   vivado -mode batch -source {name}.tcl
#
# This script has not been run in Vivado yet, since npukit is built and tested without Vivado. It follows the
# documented commands of the packager. Please report necessary changes. The frequency of the clock is left to the design
# with the block, whose clock generator may only come close to a frequency.
set clock_name {clock}
set reset_name {reset}
set sources [list \\
{names}]
create_project -force -part {part} {name} vivado
add_files $sources
set_property file_type SystemVerilog [get_files *.sv]
set_property top {top} [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir vivado/{top} -vendor npukit -library {module} -taxonomy /UserIP -import_files -force
set core [ipx::current_core]
set_property name {top} $core
set_property display_name {displayed} $core
set_property description {description} $core
ipx::infer_bus_interface $clock_name xilinx.com:signal:clock_rtl:1.0 $core
ipx::infer_bus_interface $reset_name xilinx.com:signal:reset_rtl:1.0 $core
set polarity [ipx::get_bus_interfaces $reset_name -of_objects $core]
set_property value ACTIVE_HIGH [ipx::add_bus_parameter POLARITY $polarity]
{buses}ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
"
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use crate::rtl::circuit::Circuit;
    use crate::rtl::vivado::tests::system;

    #[test]
    fn a_block_is_packaged_with_its_clock_and_reset() {
        let script = system().vivado_script("xc7z020clg400-1").unwrap();
        assert!(script.contains("This script has not been run in Vivado"), "{script}");
        assert!(script.contains("-part xc7z020clg400-1 "), "{script}");
        let [clock, reset] = [&system().ports[0].name, &system().ports[1].name];
        assert!(script.contains(&format!("\nset clock_name {clock}\nset reset_name {reset}\n")), "{script}");
        assert!(script.contains("associate_bus_interfaces -busif m_b -clock $clock_name"), "{script}");
        assert_eq!(Circuit { ports: Vec::new(), ..system() }.vivado_script("x"), None);
    }
}
