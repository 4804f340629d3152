"""A board with PYNQ: `PynqBoard`. Creating one imports pynq."""

from typing import Any, Optional

from .artifact import Arch
from .board import Board, Region
from .errors import ArgumentError, BusError

_WINDOW = 1 << 16


class PynqBoard(Board):
    """A board whose programmable logic holds a design with the TCU.

    `bitfile` is the design; `instruction_dma` and `sample_dma` are the names of its DMA engines. Banks, staging and
    samples are contiguous buffers of `pynq.allocate`, freed by `close`. Loading the design resets the unit.
    """

    def __init__(
        self,
        bitfile: str,
        arch: Arch,
        instruction_dma: str = "axi_dma_0",
        sample_dma: Optional[str] = None,
        stream_bytes: int = 8,
        max_transfer: int = (1 << 14) - 1,
        staging_bytes: int = 1 << 20,
        samples_bytes: int = 1 << 20,
        sample_block: int = 64,
        timeout_s: float = 5.0,
    ) -> None:
        import numpy
        import pynq

        self._numpy = numpy
        self._buffers: list = []
        self.arch, self.stream_bytes, self.max_transfer = arch, stream_bytes, max_transfer
        self.timeout_s, self.sample_block = timeout_s, sample_block
        self.overlay = pynq.Overlay(bitfile)
        self._windows = []
        self.instruction_dma = self._map(pynq, instruction_dma)
        self.sample_dma = self._map(pynq, sample_dma) if sample_dma is not None else None
        try:
            self.dram0 = self._allocate(pynq, arch.dram0_depth * arch.vector_bytes, _WINDOW)
            self.dram1 = self._allocate(pynq, arch.dram1_depth * arch.vector_bytes, _WINDOW)
            self.staging = self._allocate(pynq, staging_bytes, 128)
            self.samples = self._allocate(pynq, samples_bytes, 128)
        except BaseException:
            self.close()
            raise

    def _map(self, pynq: Any, name: str) -> int:
        if name not in self.overlay.ip_dict:
            raise ArgumentError(f"the design has no `{name}`; available: {', '.join(self.overlay.ip_dict)}")
        entry = self.overlay.ip_dict[name]
        base, size = entry["phys_addr"], entry["addr_range"]
        self._windows.append((base, size, pynq.MMIO(base, size)))
        return base

    def _allocate(self, pynq: Any, count: int, alignment: int) -> Region:
        """Allocates a buffer with a region at a multiple of `alignment`."""
        buffer = pynq.allocate(shape=(count + alignment,), dtype=self._numpy.uint8)
        first = -buffer.device_address % alignment
        region = Region(buffer.device_address + first, count)
        self._buffers.append((region, first, buffer))
        return region

    def _window(self, address: int) -> Any:
        for base, size, window in self._windows:
            if base <= address < base + size:
                return window, address - base
        raise BusError(f"the board has no register at {address:#x}")

    def _part(self, address: int, count: int) -> Any:
        """Returns the part of a buffer for an address range."""
        for region, first, buffer in self._buffers:
            if region.address <= address and address + count <= region.address + region.bytes:
                start = first + address - region.address
                return buffer[start : start + count]
        raise BusError(f"{count} bytes at {address:#x} are not within a buffer of the board")

    def read32(self, address: int) -> int:
        window, offset = self._window(address)
        return window.read(offset)

    def write32(self, address: int, value: int) -> None:
        window, offset = self._window(address)
        window.write(offset, value)

    def read_memory(self, address: int, count: int) -> bytes:
        part = self._part(address, count)
        part.invalidate()
        return part.tobytes()

    def write_memory(self, address: int, data: bytes) -> None:
        part = self._part(address, len(data))
        part[:] = self._numpy.frombuffer(data, dtype=self._numpy.uint8)
        part.flush()

    def close(self) -> None:
        """Frees the buffers."""
        for _, _, buffer in self._buffers:
            buffer.freebuffer()
        self._buffers = []

    def __enter__(self) -> "PynqBoard":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
