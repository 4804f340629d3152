; What samples.bin was made for: a program of 16 instructions.
.rept 16
        noop
.endr
