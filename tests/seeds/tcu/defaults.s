; What registers hold that nobody has written.
    noop
.expect dram0_offset, 0
.expect dram0_cache, 0
.expect dram1_offset, 0
.expect dram1_cache, 0
.expect timeout, 0x64
.expect tracepoint, 0xffffffff
.expect sample_interval, 0
.expect program_counter, 1
