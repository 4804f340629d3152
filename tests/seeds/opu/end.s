; Nothing behind `end` happens.
    @mem.ker 3
    end
    @mem.ker 4
.expect ker_addr, 0x30000000
