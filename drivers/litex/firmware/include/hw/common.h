/* Accesses of LiteX's csr.h: registers of 32 bits. */
#ifndef HW_COMMON_H
#define HW_COMMON_H

#include <stdint.h>

static inline void csr_write_simple(unsigned long value, unsigned long address)
{
    *(volatile uint32_t *)address = (uint32_t)value;
}

static inline unsigned long csr_read_simple(unsigned long address)
{
    return *(volatile uint32_t *)address;
}

#endif
