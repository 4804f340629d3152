"""A board for tests: every access uses a Unix socket to `npukit-board-sim`. drivers/sim/src/server.rs describes the
protocol.
"""

import socket
import struct

from .artifact import Arch
from .board import Board, Region
from .errors import BusError

_BLOCK = 1 << 16


class SocketBoard(Board):
    """A simulated board, created in its state after power-on."""

    instruction_dma = 0x40400000
    sample_dma = 0x40410000
    dram0 = Region(0x10000000, 1 << 28)
    dram1 = Region(0x20000000, 1 << 28)
    staging = Region(0x30000000, 1 << 16)
    samples = Region(0x31000000, 1 << 20)
    max_transfer = (1 << 16) - 1

    def __init__(self, path: str, arch: Arch, stream_bytes: int = 8) -> None:
        self.arch, self.stream_bytes = arch, stream_bytes
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(120)
        self._socket.connect(path)

    def _ask(self, operation: bytes, address: int, length: int, data: bytes = b"") -> bytes:
        try:
            self._socket.sendall(operation + b"\0\0\0" + struct.pack("<IQ", length, address) + data)
            status, count = struct.unpack("<BxxxI", self._receive(8))
            answer = self._receive(count)
        except OSError as error:
            raise BusError(f"the board does not answer: {error}") from error
        if status:
            raise BusError(f"operation {operation.decode()} of {length} bytes at {address:#x} was refused")
        return answer

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionError("the connection was closed")
            data += part
        return data

    def read32(self, address: int) -> int:
        return int.from_bytes(self._ask(b"r", address, 4), "little")

    def write32(self, address: int, value: int) -> None:
        self._ask(b"w", address, 4, value.to_bytes(4, "little"))

    def read_memory(self, address: int, count: int) -> bytes:
        parts = (self._ask(b"m", address + at, min(_BLOCK, count - at)) for at in range(0, count, _BLOCK))
        return b"".join(parts)

    def write_memory(self, address: int, data: bytes) -> None:
        for at in range(0, len(data), _BLOCK):
            part = data[at : at + _BLOCK]
            self._ask(b"M", address + at, len(part), part)

    def now_s(self) -> float:
        return int.from_bytes(self._ask(b"t", 0, 8), "little") / 1e6

    def wait(self) -> None:
        self._ask(b"p", 20, 0)

    def inject(self, fault: str, after: int) -> None:
        """Makes the `after`-th event of that kind fail, counted from now on."""
        name = fault.encode()
        self._ask(b"f", after, len(name), name)

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()
