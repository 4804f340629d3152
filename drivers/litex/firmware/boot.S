/* Start of the loader. VexRiscv begins at the first address of ROM, exceptions at byte 0x20. */
    .section .text.start, "ax"
    .globl _start
_start:
    la sp, stack_end
    call main
halt:
    j halt

    .org 0x20
    la sp, stack_end
    j trapped
