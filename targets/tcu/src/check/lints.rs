//! [`LINTS`]: kinds of findings of [`mod@crate::check::validate`] and [`crate::check::dataflow`].

#[rustfmt::skip] // A table.
mod table {
npukit_target::lints! {
    CUT_VALUE = "cut-value", asm [Warning]: "a value has more bits than its configuration register";
        "The instruction word has 28 bits for a value, the registers of the circuit have fewer: an offset 16, a cache code 4. \
         Hardware takes the low bits and says nothing, so that `configure dram0_offset, 0x10000` sets 0. Give a value that \
         fits; on an instance whose name ends in `+seed` offsets have 32 bits, as the page of the instruction set says.";
    DEAD_CONFIGURATION = "dead-configuration", [Warning]: "a register is configured again before anything used it";
        "An offset of a DRAM bank counts for the DataMoves of that bank that follow. Here the next Configure of the same \
         register comes before any of them, as in `configure dram0_offset, 1` and then `configure dram0_offset, 2`: the first \
         has no effect. Take it away, or put the moves that are meant between the two.";
    FAULT = "fault", [Error]: "the instruction cannot be executed";
        "The operands leave a memory, name a register, a table or an opcode that the instance does not have, or look up what \
         is not loaded. Addresses of hardware wrap or read something else, and the machine stops with this error. The message \
         has the numbers: an address on another instance than the program was made for is the usual cause, as every .tarch \
         has its own depths.";
    HANGING_SIMD = "hanging-simd", [Error]: "a SIMD form for which the hardware waits forever";
        "The SIMD unit takes an input from the accumulators exactly when a source is the input (register 0), and the read flag \
         is what makes the accumulators send one. With only one of the two, as in `simd out = relu(input), write acc[0]`, the \
         unit waits for a vector that nobody sends, or a vector waits that nobody takes, and the machine stands still until it \
         is reset. The right source counts for operations with one operand, too, and a SIMD NoOp may have no flag. Set the \
         read flag, or name registers; for an operation with one operand name the same register twice. On an instance whose name \
         ends in `+seed` only a source that counts and is the input without the read flag is an error.";
    LOST_ADDITION = "lost-addition", asm [Error]: "hardware loses a write to the accumulators";
        "An addition reads the old sum through the second port of the accumulators as soon as its command arrives, when the \
         write before it may still be on its way. Two additions to one vector with nothing between them therefore lose the \
         first, as in `matmul.acc local[0], acc[4], 1` and `matmul.acc local[1], acc[4], 1`. It is an error when the circuit's \
         timing loses it, and a warning when only the present timing keeps it. Put another command of the accumulators between \
         the two, such as a SIMD that only reads; NoOps do not help.";
    LOST_WEIGHTS = "lost-weights", [Warning]: "more rows are loaded than the array has";
        "LoadWeights shifts rows into the array, the highest address first, and the array has N rows of weights and the row of \
         the bias. The rows that are shifted in first leave it at the other end. Load N + 1 rows at most, or only the last \
         N + 1 of them.";
    MOVED_WRITES = "moved-writes", asm [Error]: "queued writes go to the new window of a DRAM bank";
        "The decoder goes on while addresses of writes wait in a queue, and the offset of the bank is added when they leave \
         it. A Configure of the offset right behind a DataMove to the bank moves the later bursts of that very move to the new \
         window. Read a vector of the bank before the Configure: a read waits for all writes.";
    NO_REGISTER = "no-register", [Warning]: "a configuration register does not exist";
        "Hardware ignores a Configure of a number that is none of its registers: 0x0, 0x1, 0x4, 0x5 and 0x8 to 0xB. Use the \
         names of the registers in place of numbers, as in `configure dram0_offset, 0x10`.";
    NOTHING_ACCUMULATED = "nothing-accumulated", [Warning]: "a SIMD has the accumulate flag without the write flag";
        "The accumulate flag says how a result is written; without the write flag none is. Set the write flag, or drop \
         accumulate.";
    SIMD_WAIT = "simd-wait", [Warning]: "accumulators are read too soon after a SIMD, by the page of the instruction set";
        "The page of the instruction set asks for two instructions between a SIMD that writes and a DataMove that reads the \
         accumulators. The released circuits need none, as measured: their accumulators run commands in order. So only \
         instances whose name ends in `+seed` have this check. Put NoOps between.";
    STRIDE = "stride", [Warning]: "a stride has a code that the instance does not have";
        "The instance states how many stride codes an operand has (`stride0_depth`, `stride1_depth`); a code stands for a \
         distance of vectors, a power of two. Circuits are built for those codes only. Use a smaller stride, or move vector by \
         vector.";
    UNREAD_RESULT = "unread-result", [Warning]: "vectors are written on the chip and nobody reads them";
        "Local memory and the accumulators cannot be reached from outside but by instructions. All vectors that this \
         instruction writes there are overwritten before anything reads one of them, or nothing reads them up to the end of \
         the program, as in `matmul local[0], acc[0], 4` with no instruction that takes acc[0] to acc[3]. So the instruction \
         takes its time for nothing, or its address or that of the reader is wrong. Of a file of words, and of a text without `.output` \
         and `.expect`, only the overwritten ones are told, as somebody may look at the memory.";
    UNSET_REGISTER = "unset-register", [Warning]: "a SIMD register is read that no instruction has written";
        "The registers of the SIMD unit hold what a program before has left. Take the operand from the input, or write the \
         register first, as in `simd r1 = move(input), read acc[0]`.";
    UNUSED_WEIGHTS = "unused-weights", [Warning]: "weights are loaded and nothing is multiplied by them";
        "LoadWeights shifts rows into the array. Here all of its rows have left it again, pushed out by those that were \
         loaded later, before a MatMul came, or the program ends without one. The load takes its time for nothing, or a MatMul \
         is missing between two loads.";
    UNWRITTEN_READ = "unwritten-read", [Warning]: "vectors on the chip are read that nothing has written";
        "Nothing but instructions writes local memory and the accumulators, and what is in them after a reset, or from a \
         program before, is not known. Here no instruction before it, and no `.data` or `.input` of the text, has written a \
         vector that is read, as in `loadweights local[0], 9` with nothing moved to local[0] before. Write it first; \
         `npu run --check` stops at such a read. What DRAM holds is the host's matter and is not looked at, nor are programs that \
         move more than 2^27 vectors or run on memories of more than 2^22.";
    UNWRITTEN_WEIGHTS = "unwritten-weights", [Warning]: "a MatMul comes before all rows of weights are loaded";
        "The array holds N rows of weights and the row of the bias. Fewer have been shifted in since the program began, so that \
         the product takes rows that a program before has left. Load N + 1 rows; `loadweights.zeroes` loads rows of zeros.";
}
}

pub use table::*;
