; Writes to the registers without a name: all others have what they begin with.
    configure 2, 0x1234567
    configure 3, 0x1234567
    configure 6, 0x1234567
    configure 7, 0x1234567
.expect dram0_offset, 0
.expect dram0_cache, 0
.expect dram1_offset, 0
.expect dram1_cache, 0
.expect timeout, 0x64
.expect tracepoint, 0xffffffff
.expect sample_interval, 0
.expect program_counter, 4
