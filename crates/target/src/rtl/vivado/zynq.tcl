
# == clock and reset ==

add reset_accelerator [block xilinx.com:ip proc_sys_reset]
wire $source_reset reset_accelerator/ext_reset_in
lappend clocked reset_accelerator/slowest_sync_clk

# == buses: registers, one port per bank, one port for both engines ==

connect paths_registers 1 2
bus $host paths_registers/S00_AXI
bus paths_registers/M00_AXI axi_dma_0/S_AXI_LITE
bus paths_registers/M01_AXI axi_dma_1/S_AXI_LITE
connect paths_bank0 1 1
bus accelerator/$bank0 paths_bank0/S00_AXI
connect paths_bank1 1 1
bus accelerator/$bank1 paths_bank1/S00_AXI
connect paths_streams 2 1
bus axi_dma_0/M_AXI_MM2S paths_streams/S00_AXI
bus axi_dma_1/M_AXI_S2MM paths_streams/S01_AXI
set paths [list paths_bank0 paths_bank1 paths_streams]
foreach path $paths port $ports { bus $path/M00_AXI $port }
lappend paths paths_registers
foreach path $paths { lappend clocked $path/aclk }

wire $source_clock {*}$clocked
foreach path $paths { wire reset_accelerator/peripheral_aresetn $path/aresetn }
wire reset_accelerator/peripheral_aresetn axi_dma_0/axi_resetn axi_dma_1/axi_resetn
wire reset_accelerator/peripheral_reset accelerator/$reset

# == addresses ==

# Keeps other segments of a port out of the address space of a master.
proc leave_out {space segments} {
  foreach segment $segments {
    set found [get_bd_addr_segs -quiet $segment]
    if {[llength $found] > 0} { exclude_bd_addr_seg -target_address_space [get_bd_addr_spaces $space] $found }
  }
}

map $ps/Data axi_dma_0/S_AXI_LITE/Reg $instruction_registers $register_bytes
map $ps/Data axi_dma_1/S_AXI_LITE/Reg $sample_registers $register_bytes
set spaces [list accelerator/$bank0 accelerator/$bank1 [list axi_dma_0/Data_MM2S axi_dma_1/Data_S2MM]]
foreach masters $spaces segment $segments other $others {
  foreach space $masters {
    map $space $segment $memory_first $memory_bytes
    leave_out $space $other
  }
}
