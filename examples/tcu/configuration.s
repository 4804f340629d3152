; npu run configuration.s --target tcu:cmoda7
; The configuration registers. An offset moves the window through which program and host see a bank, in units of 64 KiB;
; a vector of the 4x4 array has 8 bytes, so a unit is 8192 vectors. The rest is kept, for the clock and the bus.
; Expected by hand. The program counter counts every instruction but the one that sets it.

.equ pages, 2
.data dram0[0:1], 7

    configure timeout, 200
    configure tracepoint, 0x1234
    configure dram1_cache, 0b0011
    configure sample_interval, 1000
    configure program_counter, 100

    datamove local[0] <- dram0[0], 1
    configure dram0_offset, pages ; from now on dram0[0] is another place
    datamove dram0[0] <- local[0], 1
    datamove dram0[1] <- local[0], 1
    datamove local[1] <- dram0[0], 1 ; reads wait for writes: without one, hardware moves queued writes along
    configure dram0_offset, 0        ; and the old place again

.expect timeout, 200
.expect tracepoint, 0x1234
.expect dram1_cache, 3
.expect sample_interval, 1000
.expect program_counter, 106
.expect dram0[0:1], 7
