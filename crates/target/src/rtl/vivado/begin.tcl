
# == helpers ==

# Returns the newest version of a block in the catalog, whose library and name are given.
proc block {library name} {
  set found [lsort -dictionary [get_ipdefs -all -filter "VLNV =~ $library:$name:*"]]
  if {[llength $found] == 0} { error "the catalog has no block $library:$name" }
  return [lindex $found end]
}

# Sets parameters of a cell, given as pairs of name and value.
proc configure {cell settings} {
  set pairs [list]
  foreach {key value} $settings { lappend pairs CONFIG.$key $value }
  set_property -dict $pairs [get_bd_cells $cell]
}

# Adds a cell of a block, with parameters.
proc add {cell definition {settings {}}} {
  create_bd_cell -type ip -vlnv $definition $cell
  if {[llength $settings] > 0} { configure $cell $settings }
}

# Connects an output pin with input pins.
proc wire {from args} {
  foreach to $args { connect_bd_net [get_bd_pins $from] [get_bd_pins $to] }
}

# Connects a master or sender with its slave or receiver.
proc bus {from to} {
  connect_bd_intf_net [get_bd_intf_pins $from] [get_bd_intf_pins $to]
}

# Maps a segment of a slave into the address space of a master.
proc map {space segment first bytes} {
  assign_bd_address -offset $first -range $bytes -target_address_space [get_bd_addr_spaces $space] \
    [get_bd_addr_segs $segment] -force
}

# Adds a SmartConnect with a number of masters, slaves and clocks. It converts widths, protocols and clocks.
proc connect {cell masters slaves {clocks 1}} {
  add $cell [block xilinx.com:ip smartconnect] [list NUM_SI $masters NUM_MI $slaves NUM_CLKS $clocks]
}

# Waits for a run, and ends the script unless it is complete.
proc complete {run} {
  wait_on_run $run
  if {[get_property PROGRESS [get_runs $run]] ne "100%"} { error "$run failed: [get_property STATUS [get_runs $run]]" }
}

# == the unit as a block, in a project of its own ==

source $name.tcl
close_project

# == the project ==

# Board files of the maker, if they are installed, have the settings of the processor's memory.
set board_part [lindex [lsort -dictionary [get_board_parts -quiet $board_files]] end]
create_project -force -part $part ${name}_system system
if {$board_part ne ""} { set_property board_part $board_part [current_project] }
set_property ip_repo_paths [file normalize vivado/$top] [current_project]
update_ip_catalog
create_bd_design system

# == unit and DMA engines, in direct register mode ==

add accelerator [block npukit:$library $top]
add axi_dma_0 [block xilinx.com:ip axi_dma] [list c_include_sg 0 c_sg_length_width $length_bits c_include_mm2s 1 \
  c_include_s2mm 0 c_m_axi_mm2s_data_width $dma_bits c_m_axis_mm2s_tdata_width $stream_bits c_mm2s_burst_size 16]
bus axi_dma_0/M_AXIS_MM2S accelerator/$instructions
add axi_dma_1 [block xilinx.com:ip axi_dma] [list c_include_sg 0 c_sg_length_width $length_bits c_include_mm2s 0 \
  c_include_s2mm 1 c_m_axi_s2mm_data_width 64 c_s2mm_burst_size 16]
bus accelerator/$samples axi_dma_1/S_AXIS_S2MM
set clocked [list accelerator/$clock axi_dma_0/s_axi_lite_aclk axi_dma_0/m_axi_mm2s_aclk \
  axi_dma_1/s_axi_lite_aclk axi_dma_1/m_axi_s2mm_aclk]
