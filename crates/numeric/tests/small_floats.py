"""Prints the digests in tests/main/small_float.rs, as ml_dtypes (0.6) and NumPy convert.

One digest covers the values of all codes. The other covers the codes of every float whose lower 12
bits are 0, and of its two neighbors; these include every tie between two values of every format.
"""

import hashlib

import ml_dtypes
import numpy as np

FORMATS = {
    "F16": (np.float16, 16),
    "BF16": (ml_dtypes.bfloat16, 16),
    "F8E4M3FN": (ml_dtypes.float8_e4m3fn, 8),
    "F8E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, 8),
    "F8E5M2": (ml_dtypes.float8_e5m2, 8),
    "F8E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, 8),
    "F8E8M0": (ml_dtypes.float8_e8m0fnu, 8),
    "F6E2M3": (ml_dtypes.float6_e2m3fn, 6),
    "F6E3M2": (ml_dtypes.float6_e3m2fn, 6),
    "F4E2M1": (ml_dtypes.float4_e2m1fn, 4),
}


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


base = np.arange(1 << 20, dtype=np.uint64) << 12
patterns = np.stack([base - 1, base, base + 1], 1).reshape(-1) & 0xFFFFFFFF
floats = patterns.astype(np.uint32).view(np.float32)
floats = floats[~np.isnan(floats)]

for name, (dtype, bits) in FORMATS.items():
    word = np.uint16 if bits == 16 else np.uint8
    values = np.arange(1 << bits).astype(word).view(dtype).astype(np.float32)
    value_bits = np.where(np.isnan(values), 0x7FC00000, values.view(np.uint32)).astype("<u4")
    # Below, ml_dtypes neither gives the nearest power of two nor, out of range, the standard's NaN.
    inputs = floats[(floats < 0) | (floats >= 2.0**-126)] if name == "F8E8M0" else floats
    with np.errstate(all="ignore"):
        encoded = inputs.astype(dtype)
        nan = np.isnan(encoded.astype(np.float32))
    # NaNs differ in sign and payload.
    codes = np.where(nan, 0xFFFF, encoded.view(word).astype("<u2")).astype("<u2")
    print(f'    ("{name}", SmallFloat::{name}, "{digest(value_bits)}", "{digest(codes)}"),')
