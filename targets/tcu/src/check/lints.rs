//! [`LINTS`]: kinds of findings of [`mod@crate::check::validate`] and [`crate::check::dataflow`].

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
mod table {
npukit_target::lints! {
    CUT_VALUE = "cut-value", asm [Warning]: "a value has more bits than its configuration register";
        "The instruction word has 28 bits for a value, but the registers of the circuit have fewer: an \
         offset has 16, a cache code 4. Hardware silently takes the low bits, so `configure \
         dram0_offset, 0x10000` sets 0. Give a value that fits. On an instance with the suffix \
         `+seed` offsets have 32 bits, as in the instruction set specification.";
    DEAD_CONFIGURATION = "dead-configuration", [Warning]: "a register is configured again before anything used it";
        "An offset of a DRAM bank applies to the following DataMoves of that bank. Here the next \
         Configure of the same register comes before any of them, as in `configure dram0_offset, 1` \
         and then `configure dram0_offset, 2`: the first has no effect. Remove it, or put the intended \
         moves between the two.";
    FAULT = "fault", [Error]: "the instruction cannot be executed";
        "The operands exceed a memory, name a register, table or opcode that the instance does not \
         have, or look up an entry that is not loaded. Hardware wraps such addresses or reads other \
         data; the machine stops with this error. The message has the numbers. The usual cause is that \
         the program was made for another instance, since every .tarch file has its own depths.";
    HANGING_SIMD = "hanging-simd", [Error]: "a SIMD form for which the hardware waits forever";
        "The SIMD unit takes an input from the accumulators exactly if a source is the input (register \
         0), and the accumulators send one exactly if the read flag is set. With only one of the two, \
         as in `simd out = relu(input), write acc[0]`, either the unit waits for a vector that is \
         never sent, or a vector is never taken. The machine then stops until it is reset. The right \
         source matters for operations with one operand, too, and a SIMD NoOp must not have a flag. \
         Set the read flag, or name registers; for an operation with one operand name the same \
         register twice. On an instance with the suffix `+seed`, only a used source that is the \
         input without the read flag is an error.";
    LOST_ADDITION = "lost-addition", asm [Error]: "hardware loses a write to the accumulators";
        "An addition reads the old sum through the second port of the accumulators as soon as its \
         command arrives, while the write before it may still be in progress. Two additions to one \
         vector with nothing between them therefore lose the first, as in `matmul.acc local[0], \
         acc[4], 1` and `matmul.acc local[1], acc[4], 1`. It is an error if the circuit's timing loses \
         it, and a warning if only the present timing keeps it. Put another command of the \
         accumulators between the two, such as a SIMD that only reads; NoOps do not help.";
    LOST_WEIGHTS = "lost-weights", [Warning]: "more rows are loaded than the array has";
        "LoadWeights shifts rows into the array, the highest address first. The array has N rows of \
         weights and the bias row; the rows that are shifted in first leave it at the other end. Load \
         at most N + 1 rows, or only the last N + 1 of them.";
    MOVED_WRITES = "moved-writes", asm [Error]: "queued writes go to the new window of a DRAM bank";
        "The decoder continues while addresses of writes wait in a queue, and the offset of the bank \
         is added when they leave it. A Configure of the offset directly after a DataMove to the bank \
         moves the later bursts of that DataMove to the new window. Read a vector of the bank before \
         the Configure: a read waits for all writes.";
    NO_REGISTER = "no-register", [Warning]: "a configuration register does not exist";
        "Hardware ignores a Configure whose number is not one of its registers: 0x0, 0x1, 0x4, 0x5 and \
         0x8 to 0xB. Use the names of the registers instead of numbers, as in `configure dram0_offset, \
         0x10`.";
    NOTHING_ACCUMULATED = "nothing-accumulated", [Warning]: "a SIMD has the accumulate flag without the write flag";
        "The accumulate flag determines how a result is written, but without the write flag no result \
         is written. Set the write flag, or drop the accumulate flag.";
    SIMD_WAIT = "simd-wait", [Warning]: "accumulators are read too soon after a SIMD, by the instruction set specification";
        "The instruction set specification requires two instructions between a SIMD that writes the \
         accumulators and a DataMove that reads them. Measurements show that the released circuits \
         need none, since their accumulators run commands in order. Therefore only instances with the \
         suffix `+seed` have this check. Put NoOps in between.";
    STRIDE = "stride", [Warning]: "a stride has a code that the instance does not have";
        "The instance specifies how many stride codes an operand has (`stride0_depth`, \
         `stride1_depth`); each code is the exponent of a distance of vectors. Circuits are built only \
         for those codes. Use a smaller stride, or move vector by vector.";
    UNREAD_RESULT = "unread-result", [Warning]: "vectors written on the chip are never read";
        "Only instructions can access local memory and the accumulators. All vectors that this \
         instruction writes there are overwritten before anything reads one of them, or are never read \
         until the end of the program, as in `matmul local[0], acc[0], 4` without an instruction that \
         reads acc[0] to acc[3]. Either the instruction is unnecessary, or its address or the reader's \
         is wrong. For a file of words, and for a text without `.output` and `.expect`, only \
         overwritten vectors are reported, since the memory may be inspected afterwards.";
    UNSET_REGISTER = "unset-register", [Warning]: "a SIMD register is read that no instruction has written";
        "The registers of the SIMD unit hold values of an earlier program. Take the operand from the \
         input, or write the register first, as in `simd r1 = move(input), read acc[0]`.";
    UNUSED_WEIGHTS = "unused-weights", [Warning]: "weights are loaded and nothing is multiplied by them";
        "LoadWeights shifts rows into the array. Here all of its rows have left the array again before \
         a MatMul, pushed out by rows that were loaded later, or the program ends without a MatMul. \
         Either the load is unnecessary, or a MatMul is missing between two loads.";
    UNWRITTEN_READ = "unwritten-read", [Warning]: "vectors on the chip are read that nothing has written";
        "Only instructions write local memory and the accumulators, and their content after a reset or \
         an earlier program is unknown. Here no earlier instruction, and no `.data` or `.input` of the \
         text, has written a vector that is read, as in `loadweights local[0], 9` with nothing moved \
         to local[0] before. Write it first; `npu run --check` stops at such a read. The content of \
         DRAM belongs to the host and is not checked. Programs that move more than 2^27 vectors, or \
         run on memories of more than 2^22, are not checked either.";
    UNWRITTEN_WEIGHTS = "unwritten-weights", [Warning]: "a MatMul comes before all rows of weights are loaded";
        "The array holds N rows of weights and the bias row. Fewer have been shifted in since the \
         program began, so the product uses rows of an earlier program. Load N + 1 rows; \
         `loadweights.zeroes` loads rows of zeros.";
}
}

pub use table::*;
