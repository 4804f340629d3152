"""Driver of the AXI DMA engine in direct register mode. Source: the vendor's product guide PG021."""

from .board import Board
from .errors import ArgumentError, DmaError, StreamTimeout

TO_DEVICE, TO_MEMORY = 0x00, 0x30
_CONTROL, _STATUS, _ADDRESS, _ADDRESS_HIGH, _LENGTH = 0x00, 0x04, 0x18, 0x1C, 0x28
_RUN, _RESET = 1 << 0, 1 << 2
_HALTED, _IDLE, _ERRORS, _EVENTS = 1 << 0, 1 << 1, 0x770, 0x7000


class Deadline:
    """A wait with a time limit."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.start = board.now_s()

    def check(self, what: str) -> None:
        """Pauses briefly, or raises an error after the time limit."""
        if self.board.now_s() - self.start >= self.board.timeout_s:
            raise StreamTimeout(f"{what} within {self.board.timeout_s} s")
        self.board.wait()


class Dma:
    """A DMA engine, which is polled."""

    def __init__(self, board: Board, base: int, name: str, beat: int) -> None:
        self.board, self.base, self.name, self.beat = board, base, name, beat

    def reset(self) -> None:
        """Resets both channels."""
        self.board.write32(self.base + _CONTROL, _RESET)
        deadline = Deadline(self.board)
        while self.board.read32(self.base + _CONTROL) & _RESET:
            deadline.check(f"the {self.name} does not come out of its reset")

    def start(self, channel: int, address: int, count: int) -> None:
        """Starts a transfer."""
        if not 0 < count <= self.board.max_transfer or address % self.beat or count % self.beat:
            raise ArgumentError(f"{self.name}: {count} bytes at {address:#x} are not whole beats of {self.beat} bytes")
        at = self.base + channel
        self.board.write32(at + _CONTROL, _RUN)
        self.board.write32(at + _STATUS, _EVENTS)
        self.board.write32(at + _ADDRESS, address & 0xFFFFFFFF)
        self.board.write32(at + _ADDRESS_HIGH, address >> 32)
        self.board.write32(at + _LENGTH, count)

    def status(self, channel: int) -> int:
        """Status register of a channel."""
        return self.board.read32(self.base + channel + _STATUS)

    def ended(self, channel: int) -> bool:
        """Whether the transfer has ended."""
        status = self.status(channel)
        if status & (_ERRORS | _HALTED):
            raise DmaError(
                f"{self.name}: status {status:#010x} at {self.base + channel + _STATUS:#x} "
                "(bit 0: halted, 4: internal, 5: slave, 6: decode error)"
            )
        return bool(status & _IDLE)

    def received(self) -> int:
        """Number of bytes that a finished transfer has written to memory."""
        return self.board.read32(self.base + TO_MEMORY + _LENGTH)
