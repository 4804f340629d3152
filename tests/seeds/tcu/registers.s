; Registers by their names and numbers, wherever they keep a value.
    configure dram0_cache, 0b1011
    configure 0x5, 0b0010
    configure timeout, 0x1234
    configure tracepoint, 0x12345
    configure sample_interval, 0x4321
    configure program_counter, 1000
    noop
.expect dram0_cache, 11
.expect dram1_cache, 2
.expect timeout, 0x1234
.expect tracepoint, 0x12345
.expect sample_interval, 0x4321
.expect program_counter, 1001
