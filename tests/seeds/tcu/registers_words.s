; Registers and their numbers.
    configure dram0_offset, 0x2345678
    configure dram0_cache, 0xf
    configure dram1_offset, 0xffff
    configure dram1_cache, 0xf
    configure timeout, 0xffff
    configure tracepoint, 0xfffffff
    configure program_counter, 0xfffffff
    configure sample_interval, 0xffff
