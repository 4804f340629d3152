
# == processing system of the Zynq UltraScale+ ==

set ps zynq_ultra_ps_e_0
add $ps [block xilinx.com:ip zynq_ultra_ps_e]
if {$board_part ne ""} {
  apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config {apply_board_preset 1} [get_bd_cells $ps]
} else {
  puts "Board files $board_files are not installed: do not make a boot loader from design.xsa. The bitstream is not affected."
}
configure $ps [list PSU__USE__M_AXI_GP0 1 PSU__USE__M_AXI_GP1 0 PSU__USE__M_AXI_GP2 0 PSU__USE__IRQ0 0 \
  PSU__USE__S_AXI_GP2 1 PSU__USE__S_AXI_GP3 1 PSU__USE__S_AXI_GP4 1 \
  PSU__SAXIGP2__DATA_WIDTH 128 PSU__SAXIGP3__DATA_WIDTH 128 PSU__SAXIGP4__DATA_WIDTH 128 \
  PSU__FPGA_PL0_ENABLE 1 PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $mhz PSU__USE__FABRIC__RST 1 PSU__NUM_FABRIC_RESETS 1]
set source_clock $ps/pl_clk0
set source_reset $ps/pl_resetn0
set host $ps/M_AXI_HPM0_FPD
set ports [list $ps/S_AXI_HP0_FPD $ps/S_AXI_HP1_FPD $ps/S_AXI_HP2_FPD]
set segments [list $ps/SAXIGP2/HP0_DDR_LOW $ps/SAXIGP3/HP1_DDR_LOW $ps/SAXIGP4/HP2_DDR_LOW]
# Memory above 4 GiB, flash and on-chip memory are behind the same ports.
set others [list \
  [list $ps/SAXIGP2/HP0_DDR_HIGH $ps/SAXIGP2/HP0_QSPI $ps/SAXIGP2/HP0_LPS_OCM] \
  [list $ps/SAXIGP3/HP1_DDR_HIGH $ps/SAXIGP3/HP1_QSPI $ps/SAXIGP3/HP1_LPS_OCM] \
  [list $ps/SAXIGP4/HP2_DDR_HIGH $ps/SAXIGP4/HP2_QSPI $ps/SAXIGP4/HP2_LPS_OCM]]
lappend clocked $ps/maxihpm0_fpd_aclk $ps/saxihp0_fpd_aclk $ps/saxihp1_fpd_aclk $ps/saxihp2_fpd_aclk
