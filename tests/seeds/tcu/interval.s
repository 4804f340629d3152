; A sample every 2 cycles.
    configure sample_interval, 2
.rept 16
        noop
.endr
