"""A board as the driver sees it: `Board`, registers and memory by bus address. `pynq.py` and `socket.py` are two."""

import time
from typing import NamedTuple, Optional

from .artifact import Arch


class Region(NamedTuple):
    """A range of bus addresses."""

    address: int
    bytes: int


class Board:
    """What a back end fills and overrides. Methods raise `BusError` for accesses that fail."""

    # The instance in the fabric.
    arch: Arch
    # Registers of the DMA engine of instructions, and of samples where there is one.
    instruction_dma: int
    sample_dma: Optional[int] = None
    # Banks at multiples of 64 KiB; where instructions are put, and where samples come to.
    dram0: Region
    dram1: Region
    staging: Region
    samples: Region = Region(0, 0)
    # Width of the instruction stream; the largest length of a transfer; samples between two TLAST.
    stream_bytes: int = 8
    max_transfer: int = (1 << 14) - 1
    sample_block: int = 64
    # Of each transfer, of the end of a program, of a block of samples.
    timeout_s: float = 5.0
    # Of register 8, in cycles; AxCACHE of the banks.
    decoder_timeout: int = 100
    cache0: int = 0
    cache1: int = 0

    def read32(self, address: int) -> int:
        """Reads a register."""
        raise NotImplementedError

    def write32(self, address: int, value: int) -> None:
        """Writes a register."""
        raise NotImplementedError

    def read_memory(self, address: int, count: int) -> bytes:
        """Reads what the accelerator wrote."""
        raise NotImplementedError

    def write_memory(self, address: int, data: bytes) -> None:
        """Writes for the accelerator."""
        raise NotImplementedError

    def now_s(self) -> float:
        """Seconds since any moment."""
        return time.monotonic()

    def wait(self) -> None:
        """Called between two looks at a register."""
        time.sleep(20e-6)
