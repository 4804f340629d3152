/* Included by LiteX's csr.h, which needs nothing from it here. */
