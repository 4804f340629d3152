/* Start of the firmware, which the loader has copied to main memory. */
    .section .text.start, "ax"
    .globl _start
_start:
    la sp, stack_end
    la a0, bss_start
    la a1, bss_end
clear:
    bgeu a0, a1, cleared
    sw zero, 0(a0)
    addi a0, a0, 4
    j clear
cleared:
    call main
halt:
    j halt
