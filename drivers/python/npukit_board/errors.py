"""Exceptions: one class per code of the C driver (drivers/c/include/npukit/error.h)."""


class BoardError(Exception):
    """Base class of the errors of this package. `code` is the C driver's name of the error."""

    code = "NPU_SYSTEM"


class ArgumentError(BoardError):
    """An invalid argument of the caller."""

    code = "NPU_ARGUMENT"


class ManifestError(BoardError):
    """An invalid file; the message has the file, the key and what is legal."""

    code = "NPU_MANIFEST"


class ArchitectureError(BoardError):
    """A program for an instance other than the board's."""

    code = "NPU_ARCHITECTURE"


class UnsupportedError(BoardError):
    """Legal, but not supported by this driver or the documented hardware."""

    code = "NPU_UNSUPPORTED"


class BusError(BoardError):
    """A failed access to a register or to memory."""

    code = "NPU_BUS"


class StreamTimeout(BoardError):
    """The hardware did not answer in time."""

    code = "NPU_TIMEOUT"


class DmaError(BoardError):
    """A DMA engine reports an error; the message has its status register."""

    code = "NPU_DMA"


class ProgramError(BoardError):
    """An invalid instruction, or one that the driver's protocol forbids."""

    code = "NPU_PROGRAM"


class DataError(BoardError):
    """Impossible data from the hardware."""

    code = "NPU_DATA"


class StateError(BoardError):
    """A method called in the wrong order, or after the board failed."""

    code = "NPU_STATE"


# After these errors, the content of the unit is unknown.
BREAKS = (BusError, DmaError, StreamTimeout)
