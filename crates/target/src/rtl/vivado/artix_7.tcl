
# == clocks, memory and resets of an Artix-7 without a processor ==

# Connects a port of the design with input pins.
proc wire_port {from args} {
  foreach to $args { connect_bd_net [get_bd_ports $from] [get_bd_pins $to] }
}

# The memory interface needs 166.667 MHz, and 200 MHz as a reference.
create_bd_port -dir I -type clk -freq_hz 100000000 clk
create_bd_port -dir I -type rst resetn
set_property CONFIG.POLARITY ACTIVE_LOW [get_bd_ports resetn]
add clocks_memory [block xilinx.com:ip clk_wiz] [list PRIM_IN_FREQ 100.000 CLKOUT1_REQUESTED_OUT_FREQ 166.667 \
  CLKOUT2_USED true CLKOUT2_REQUESTED_OUT_FREQ 200.000 USE_RESET false USE_LOCKED true]
add clock_accelerator [block xilinx.com:ip clk_wiz] [list PRIM_SOURCE No_buffer PRIM_IN_FREQ 200.000 \
  CLKOUT1_REQUESTED_OUT_FREQ $mhz USE_RESET false USE_LOCKED true]
wire_port clk clocks_memory/clk_in1
wire clocks_memory/clk_out2 clock_accelerator/clk_in1

# The interface is described by a project of the generator, in the folder of the cell.
add mig_7series_0 [block xilinx.com:ip mig_7series]
set folder [get_property IP_DIR [get_ips [get_property CONFIG.Component_Name [get_bd_cells mig_7series_0]]]]
file copy -force ${name}_mig.prj [file join $folder mig_a.prj]
configure mig_7series_0 [list BOARD_MIG_PARAM Custom MIG_DONT_TOUCH_PARAM Custom RESET_BOARD_INTERFACE Custom \
  XML_INPUT_FILE mig_a.prj]
create_bd_intf_port -mode Master -vlnv xilinx.com:interface:ddrx_rtl:1.0 DDR3
connect_bd_intf_net [get_bd_intf_pins mig_7series_0/DDR3] [get_bd_intf_ports DDR3]
wire clocks_memory/clk_out1 mig_7series_0/sys_clk_i
wire clocks_memory/clk_out2 mig_7series_0/clk_ref_i
wire_port resetn mig_7series_0/sys_rst

add reset_memory [block xilinx.com:ip proc_sys_reset]
wire mig_7series_0/ui_clk reset_memory/slowest_sync_clk
wire mig_7series_0/ui_clk_sync_rst reset_memory/ext_reset_in
wire mig_7series_0/mmcm_locked reset_memory/dcm_locked
wire reset_memory/peripheral_aresetn mig_7series_0/aresetn

add reset_accelerator [block xilinx.com:ip proc_sys_reset]
wire_port resetn reset_accelerator/ext_reset_in
wire clock_accelerator/locked reset_accelerator/dcm_locked

# == buses: the host is a computer on the JTAG cable, with create_hw_axi_txn of Vivado's hardware manager ==

add jtag_axi_0 [block xilinx.com:ip jtag_axi] [list PROTOCOL 0 M_AXI_ADDR_WIDTH 32 M_AXI_DATA_WIDTH 32]
connect paths_host 1 3
bus jtag_axi_0/M_AXI paths_host/S00_AXI
bus paths_host/M00_AXI axi_dma_0/S_AXI_LITE
bus paths_host/M01_AXI axi_dma_1/S_AXI_LITE
connect paths_memory 5 1 2
bus accelerator/$bank0 paths_memory/S00_AXI
bus accelerator/$bank1 paths_memory/S01_AXI
bus axi_dma_0/M_AXI_MM2S paths_memory/S02_AXI
bus axi_dma_1/M_AXI_S2MM paths_memory/S03_AXI
bus paths_host/M02_AXI paths_memory/S04_AXI
bus paths_memory/M00_AXI mig_7series_0/S_AXI

wire clock_accelerator/clk_out1 {*}$clocked reset_accelerator/slowest_sync_clk jtag_axi_0/aclk paths_host/aclk paths_memory/aclk
wire mig_7series_0/ui_clk paths_memory/aclk1
wire reset_accelerator/peripheral_aresetn axi_dma_0/axi_resetn axi_dma_1/axi_resetn jtag_axi_0/aresetn \
  paths_host/aresetn paths_memory/aresetn
wire reset_accelerator/peripheral_reset accelerator/$reset

# == addresses ==

map jtag_axi_0/Data axi_dma_0/S_AXI_LITE/Reg $instruction_registers $register_bytes
map jtag_axi_0/Data axi_dma_1/S_AXI_LITE/Reg $sample_registers $register_bytes
foreach space [list jtag_axi_0/Data accelerator/$bank0 accelerator/$bank1 axi_dma_0/Data_MM2S axi_dma_1/Data_S2MM] {
  map $space mig_7series_0/memmap/memaddr $memory_first $memory_bytes
}
add_files -fileset constrs_1 -norecurse ${name}_system.xdc
