"""What can go wrong: a class for each code of the C driver (drivers/c/include/npukit/error.h)."""


class BoardError(Exception):
    """Any error of this package. `code` is the C driver's name of it."""

    code = "NPU_SYSTEM"


class ArgumentError(BoardError):
    """An argument that the caller controls."""

    code = "NPU_ARGUMENT"


class ManifestError(BoardError):
    """A file that is not what it should be: the file, the key and what is legal."""

    code = "NPU_MANIFEST"


class ArchitectureError(BoardError):
    """A program for another instance than the board has."""

    code = "NPU_ARCHITECTURE"


class UnsupportedError(BoardError):
    """Legal, and not something that this driver or the described hardware can do."""

    code = "NPU_UNSUPPORTED"


class BusError(BoardError):
    """An access to a register or to memory that failed."""

    code = "NPU_BUS"


class StreamTimeout(BoardError):
    """The hardware did not answer in time."""

    code = "NPU_TIMEOUT"


class DmaError(BoardError):
    """A DMA engine reports an error; the message has its status register."""

    code = "NPU_DMA"


class ProgramError(BoardError):
    """An instruction without meaning, or one that the driver's protocol forbids."""

    code = "NPU_PROGRAM"


class DataError(BoardError):
    """Data from the hardware that cannot be."""

    code = "NPU_DATA"


class StateError(BoardError):
    """A method called in the wrong order, or after the board failed."""

    code = "NPU_STATE"


# After these nobody knows what the unit holds.
BREAKS = (BusError, DmaError, StreamTimeout)
