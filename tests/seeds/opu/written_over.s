; The program lies at 0xffff0000. `pad` clears the 64 bytes from its 17th instruction on, which thereby is `end`.
    @mem.ofm 15, [1,1]
    @mem.ker 3
.rept 13
    @stride [1,1]
.endr
    pad 0x3ffc01, 1
    @mem.ker 4
    end
.expect ker_addr, 0x30000000
