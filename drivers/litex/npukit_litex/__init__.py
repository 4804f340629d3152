"""npukit's tensor compute unit as a LiteX module.

    from npukit_litex import add_tcu
    add_tcu(soc, "circuit")        # the folder of `npu rtl tcu:X -o circuit`

`add_tcu` needs LiteDRAM without an L2 cache. `drivers/c` with `hal/litex.c` runs artifacts on it.
"""

from .circuit import Circuit, CircuitError
from .tcu import Tcu, add_tcu

__all__ = ["Circuit", "CircuitError", "Tcu", "add_tcu"]
