"""Interface of a board: `Board`, with access to registers and memory by bus address. `pynq.py` and `socket.py` implement it."""

import time
from typing import NamedTuple, Optional

from .artifact import Arch


class Region(NamedTuple):
    """A range of bus addresses."""

    address: int
    bytes: int


class Board:
    """Base class of back ends, which set the attributes and override the methods. Methods raise `BusError` if an access
    fails.
    """

    # Instance in the fabric.
    arch: Arch
    # Register addresses of the DMA engines of instructions and, if present, of samples.
    instruction_dma: int
    sample_dma: Optional[int] = None
    # Banks at multiples of 64 KiB; buffers of instructions and of samples.
    dram0: Region
    dram1: Region
    staging: Region
    samples: Region = Region(0, 0)
    # Width of the instruction stream; maximum length of a transfer; samples between two TLAST.
    stream_bytes: int = 8
    max_transfer: int = (1 << 14) - 1
    sample_block: int = 64
    # Time limit of each transfer, of the end of a program, and of a block of samples.
    timeout_s: float = 5.0
    # Register 8, in cycles; AxCACHE of the banks.
    decoder_timeout: int = 100
    cache0: int = 0
    cache1: int = 0

    def read32(self, address: int) -> int:
        """Reads a 32-bit register."""
        raise NotImplementedError

    def write32(self, address: int, value: int) -> None:
        """Writes a 32-bit register."""
        raise NotImplementedError

    def read_memory(self, address: int, count: int) -> bytes:
        """Reads memory written by the accelerator."""
        raise NotImplementedError

    def write_memory(self, address: int, data: bytes) -> None:
        """Writes memory for the accelerator."""
        raise NotImplementedError

    def now_s(self) -> float:
        """Time in seconds from an arbitrary start."""
        return time.monotonic()

    def wait(self) -> None:
        """Called between two polls of a register."""
        time.sleep(20e-6)
