//! Lints of [`mod@crate::check`]: [`LINTS`].

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
mod table {
npukit_target::lints! {
    DEAD_CONFIGURATION = "dead-configuration", [Warning]: "a shape is set again before its first use";
        "MEMSET writes an entry of a constant bank, from which later instructions take their shapes and scales. Here the next \
         MEMSET of the same entry comes before any of them, as in `memset cache=fmap, idx=0, a=1, b=1, c=64` and another one of \
         idx=0 after it: the first has no effect. Remove it, or put the instruction that needs it between the two.";
    HOST_TO_HOST = "host-to-host", asm [Error]: "MEMCPY from the host to the host";
        "Source or destination of a MEMCPY must be L2. The machine refuses a transfer from host to host; the host can copy its own \
         memory without it.";
    IGNORED_FLAG = "ignored-flag", asm [Warning]: "a flag is set that the function ignores";
        "`recip_scale` makes `scale` divide instead of multiply. All other functions of CVO ignore it, so the instruction \
         probably does not do what was intended. Remove the flag, or use `scale`.";
    LONG_FUNCTION = "long-function", asm [Error]: "CVO has more elements than hardware supports";
        "The special-function unit has a buffer for 2048 elements. The simulated machine supports any length of the field, but \
         hardware ends early. Split the instruction: for example `cvo exp, src=0, dst=0, len=4096` into two of 2048.";
    RESERVED_BITS = "reserved-bits", [Error]: "reserved bits are set";
        "The specification requires these bits to be 0. A strict instance refuses the word (an error); others ignore \
         the bits (a warning). Assemble the instruction again from text.";
    RESERVED_CVO_FUNC = "reserved-cvo-func", [Error]: "CVO has an undefined function";
        "The function field has a number without a function. A strict instance refuses the word, others ignore \
         the instruction. `npu explain cvo --target pccx` lists the functions.";
    RESERVED_DEST_CACHE = "reserved-dest-cache", [Error]: "MEMSET has a bank that does not exist";
        "There are two constant banks: shapes of feature maps, and shapes of weights. A strict instance refuses a word with another \
         bank. Others drop it, so the entry that it should set keeps its old value.";
    RESERVED_OPCODE = "reserved-opcode", [Error]: "a word has an undefined opcode";
        "A strict instance refuses the word, others drop it. A file for another instance or with another byte order \
         has many of these words.";
    TOO_MANY_LANES = "too-many-lanes", asm [Warning]: "GEMV requests more lanes than the instance has";
        "The field can specify more lanes than the instance has. The product is correct, and takes as long as with all existing \
         lanes. Use at most that number, or an instance with more lanes.";
    UNFENCED_ACCESS = "unfenced-access", asm [Error]: "an asynchronous instruction may still be using these words";
        "An instruction with `async` is complete only when a later synchronous one of the same engine is, or when the host \
         waits. In between, an instruction here reads words that the asynchronous one writes, or writes words that it uses: two transfers in \
         flight over the same words of L2, for instance. The machine keeps the order of the program, but nothing in hardware \
         does. Remove `async`, put a synchronous instruction of that engine or `.wait` between, or use other words.";
    UNREAD_RESULT = "unread-result", [Warning]: "words of L2 are written and never read";
        "All words of L2 that this instruction writes are overwritten before anything reads one of them. In a compiled program, \
         and in a text with an `.output` or `.expect`, words that nothing reads up to its end count, too. So the instruction is useless, or its address or that of \
         the reader is wrong.";
    UNWRITTEN_L2 = "unwritten-l2", [Error]: "words of L2 are read before they are written";
        "The content of L2 after a reset is unknown. No earlier instruction, no host operation, and no `.data` or `.input` of the \
         text has written the lane that is read. In a compiled program all writes are known, so this is an \
         error; for words, which other words may precede, it is a warning. Write it first, or declare in the text what the host fills.";
    UNWRITTEN_MAXIMUM = "unwritten-maximum", [Error]: "a maximum is subtracted that no product has computed";
        "`sub_emax` subtracts the largest exponent that a product with `findemax` has found. No such product precedes it, so that \
         the instruction subtracts a value left by an earlier program. Set `findemax` in the product that gives these results.";
    UNWRITTEN_SHAPE = "unwritten-shape", [Error]: "a shape is read from an entry that no MEMSET has written";
        "An instruction uses an entry of a constant bank as its shape. Without a MEMSET, the entry has the size that an \
         earlier program has left, and the instruction accesses another number of words. Set the entry first, as in \
         `memset cache=fmap, idx=0, a=1, b=1, c=64`.";
    UNWRITTEN_SLOT = "unwritten-slot", [Error]: "the host uses a value before it is computed";
        "Host operations of a compiled program receive, compute and send values of the network. This one uses a value, or a part \
         of it, that no earlier operation has received or computed. The artifact was changed, or the compiler has a bug.";
    UNWRITTEN_WEIGHTS = "unwritten-weights", [Error]: "a product uses weights before the host has computed them";
        "The host makes some weights while the program runs, such as the keys and values of attention. The product that \
         uses them comes before the host operation that makes them.";
}
}

pub use table::*;
