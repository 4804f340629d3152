
# == processing system of the Zynq-7000 ==

set ps processing_system7_0
add $ps [block xilinx.com:ip processing_system7]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 -config [list make_external {FIXED_IO, DDR} \
  apply_board_preset [expr {$board_part ne ""}] Master Disable Slave Disable] [get_bd_cells $ps]
if {$board_part eq ""} {
  # 512 MiB on 16 bits, oscillator of 50 MHz, console and SD card. Delays of the memory keep their defaults, and are
  # trained at the start. Only a boot loader that is made from design.xsa uses these settings.
  configure $ps [list PCW_CRYSTAL_PERIPHERAL_FREQMHZ 50 PCW_PRESET_BANK1_VOLTAGE {LVCMOS 1.8V} \
    PCW_UIPARAM_DDR_PARTNO {MT41J256M16 RE-125} PCW_UIPARAM_DDR_BUS_WIDTH {16 Bit} PCW_UIPARAM_DDR_FREQ_MHZ 525 \
    PCW_UART0_PERIPHERAL_ENABLE 1 PCW_UART0_UART0_IO {MIO 14 .. 15} \
    PCW_SD0_PERIPHERAL_ENABLE 1 PCW_SD0_SD0_IO {MIO 40 .. 45}]
}
configure $ps [list PCW_USE_M_AXI_GP0 1 PCW_USE_M_AXI_GP1 0 PCW_USE_FABRIC_INTERRUPT 0 \
  PCW_USE_S_AXI_HP0 1 PCW_USE_S_AXI_HP1 1 PCW_USE_S_AXI_HP2 1 PCW_USE_S_AXI_HP3 0 \
  PCW_S_AXI_HP0_DATA_WIDTH 64 PCW_S_AXI_HP1_DATA_WIDTH 64 PCW_S_AXI_HP2_DATA_WIDTH 64 \
  PCW_EN_CLK0_PORT 1 PCW_FPGA0_PERIPHERAL_FREQMHZ $mhz PCW_EN_RST0_PORT 1]
set source_clock $ps/FCLK_CLK0
set source_reset $ps/FCLK_RESET0_N
set host $ps/M_AXI_GP0
set ports [list $ps/S_AXI_HP0 $ps/S_AXI_HP1 $ps/S_AXI_HP2]
set segments [list $ps/S_AXI_HP0/HP0_DDR_LOWOCM $ps/S_AXI_HP1/HP1_DDR_LOWOCM $ps/S_AXI_HP2/HP2_DDR_LOWOCM]
set others [list {} {} {}]
lappend clocked $ps/M_AXI_GP0_ACLK $ps/S_AXI_HP0_ACLK $ps/S_AXI_HP1_ACLK $ps/S_AXI_HP2_ACLK
