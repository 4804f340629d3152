
# == synthesis, implementation and results ==

validate_bd_design
save_bd_design
make_wrapper -files [get_files system.bd] -top -import
set_property top system_wrapper [current_fileset]
update_compile_order -fileset sources_1
launch_runs synth_1
complete synth_1
launch_runs impl_1 -to_step write_bitstream
complete impl_1
open_run impl_1
report_utilization -file utilization.rpt
report_utilization -append -hierarchical -hierarchical_depth 4 -file utilization.rpt
report_timing_summary -file timing.rpt
write_hw_platform -fixed -include_bit -force -file design.xsa
file copy -force [lindex [glob system/*.runs/impl_1/system_wrapper.bit] 0] design.bit
# Versions store this file in different folders.
set handoff [glob -nocomplain system/*.gen/sources_1/bd/system/hw_handoff/system.hwh \
  system/*.srcs/sources_1/bd/system/hw_handoff/system.hwh]
if {[llength $handoff] == 0} { error "the description of the block design, system.hwh, was not written" }
file copy -force [lindex $handoff 0] design.hwh
set slack [get_property SLACK [lindex [get_timing_paths -setup] 0]]
if {$slack < 0} { error "the clock of $mhz MHz is too fast: the longest path is $slack ns too slow, see timing.rpt" }
puts "wrote design.bit, design.hwh, design.xsa, utilization.rpt and timing.rpt; slack $slack ns at $mhz MHz"
