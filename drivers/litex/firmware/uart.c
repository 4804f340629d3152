/* UART of a LiteX SoC. */
#include <generated/csr.h>

#include "platform.h"

void platform_put(char one)
{
    while (uart_txfull_read() != 0) {
    }
    uart_rxtx_write((uint8_t)one);
}
