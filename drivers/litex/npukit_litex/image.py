"""Image for the SPI flash: firmware, artifact and samples. `firmware/image.h` has the format."""

import struct
import zlib
from pathlib import Path

MAGIC = b"NPUKIT01"
NAME_BYTES = 48
ALIGNMENT = 16


def pack(files):
    """Returns the image of files, bytes by name."""
    table = len(MAGIC) + 8 + 4 + len(files) * (NAME_BYTES + 8)
    offset = -(-table // ALIGNMENT) * ALIGNMENT
    entries = b""
    contents = bytes(offset - table)
    for name, content in files.items():
        encoded = name.encode()
        if len(encoded) >= NAME_BYTES:
            raise ValueError(f"{name}: a name has at most {NAME_BYTES - 1} bytes")
        entries += encoded.ljust(NAME_BYTES, b"\0") + struct.pack("<II", offset + len(contents) - (offset - table), len(content))
        contents += content + bytes(-len(content) % ALIGNMENT)
    body = struct.pack("<I", len(files)) + entries + contents
    return MAGIC + struct.pack("<II", len(body), zlib.crc32(body)) + body


def pack_artifact(firmware, manifest, samples):
    """Returns the image of the firmware, if given, of the files of an artifact next to its manifest, and of samples (`.npy`,
    float32)."""
    manifest, samples = Path(manifest), Path(samples)
    parts = [manifest.with_suffix(ending) for ending in (".tmodel", ".tprog", ".tdata", ".npukit.json")] + [samples]
    files = {"firmware.bin": Path(firmware).read_bytes()} if firmware else {}
    files.update({part.name: part.read_bytes() for part in parts})
    return pack(files)
