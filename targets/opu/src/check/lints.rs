//! Kinds of findings of [`mod@crate::check`]: [`LINTS`]. Findings for faults have the kinds of the
//! specification's section 3.6.

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
mod table {
npukit_target::lints! {
    ADDRESS_RANGE = "address-range", [Error]: "an access leaves the memory";
        "A bank register and the address of a load or a store together give bytes beyond the 4 GiB of memory. Check the bank that \
         was set last with `@mem`, and the size of its rows.";
    BUFFER_INVALID = "buffer-invalid", [Error]: "a buffer is used while it holds nothing";
        "The shape registers describe the contents of a buffer; setting one again empties the buffer, and so does a reset. Here \
         an instruction reads an empty buffer, like a `conv.bias` without an `ld.bias` after the last `@shape.ofm`. Load the \
         buffer, or start the sums with `conv` or `conv.bias`, after the last change of its shape.";
    CONV_BOUNDS = "conv-bounds", [Error]: "a convolution reads outside of the ifm buffer";
        "The tap (h, w) of a convolution and the stride of `@stride` move over the buffer's rows and columns; the last ones must \
         exist. With 4 rows, a stride of 1 and 3 rows of results, taps 0 and 1 are legal. Load more rows, compute fewer, or \
         correct the tap. With `--strict-draft` the draft's own condition applies, which allows less.";
    DEAD_CONFIGURATION = "dead-configuration", [Warning]: "a register is set again before it is used";
        "A register such as `@stride` applies to the instructions that follow. Here it is set again, and no instruction in between \
         uses it, as in `@stride 1, 1` and `@stride 2, 2` on adjacent lines. The first has no effect: remove it, or put the \
         missing instructions between the two. Shape registers are not checked, as setting one of them makes its buffer invalid, \
         which may be intended.";
    INPUT_OVERLAP = "input-overlap", [Error]: "an input overlaps other data";
        "The artifact specifies where drivers write inputs, constants and the program. Two of them share bytes, so the one that is \
         written last overwrites the other. The artifact was edited, or not made by the compiler: move the input to a free address.";
    KER_CAPACITY = "ker-capacity", [Error]: "kernels do not fit the ker buffer";
        "The number of slices of `@shape.ker` and the channels of both feature maps determine the size of a kernel. Load larger \
         kernels in parts: fewer slices, or fewer channels, at a time.";
    KER_INDEX = "ker-index", [Error]: "a convolution uses a slice that is not in the ker buffer";
        "`@shape.ker` sets the number of slices that are loaded, and a convolution numbers them from 0. Raise the number, or correct the \
         index.";
    KER_N_INVALID = "ker-n-invalid", [Error]: "`@shape.ker` has a number of slices that the buffer cannot have";
        "The ker buffer has room for 1 to 36 slices, fewer if there are many channels. Load larger kernels in parts.";
    MEM_INVALID = "mem-invalid", [Error]: "`@mem` has a size that memory cannot have";
        "Rows and planes in memory have 1 to 1023 pixels: the word has ten bits for each. Split larger feature maps into parts.";
    MISSING_END = "missing-end", [Error]: "the program has no `end`";
        "The machine executes words until it reaches `end`; without one it continues with the memory after the program. \
         Write `end` as the last instruction.";
    NON_FINITE = "non-finite", [Error]: "a value is infinite or not a number";
        "Scales or biases in memory are floats, and one of them is infinite or not a number. This is known only when the program runs.";
    OPERAND_INVALID = "operand-invalid", [Error]: "an operand has a value that has no meaning";
        "The field has bits for more values than have a meaning, for instance for an activation that does not exist. \
         `npu isa opu INSTRUCTION` lists the legal values.";
    OVERWRITTEN_CONSTANT = "overwritten-constant", [Error]: "a store overwrites data that the next run needs";
        "Drivers write the program and its constants once and run them many times. The store overwrites some of these bytes, which \
         were read before, so the second run starts with different data. Store to another bank or address.";
    PAD_BOUNDS = "pad-bounds", [Error]: "zeros are written outside of the plane";
        "The border of `pad` is wider than the plane that `@mem.ofm` describes. Correct the size of the plane or the border.";
    POOL_BOUNDS = "pool-bounds", [Error]: "a pooling window reads outside of the ofm buffer";
        "The window and the steps of `@pool` must end within the rows and columns of `@shape.ofm`. Compute more rows, or \
         store fewer.";
    POOL_INVALID = "pool-invalid", [Error]: "`@pool` has a window or a step that pooling cannot have";
        "Sides of windows are 1 to 15, steps 1 to 7. Pool larger windows in parts; `@pool [1,1], [1,1]` turns pooling off.";
    POST_INVALID = "post-invalid", [Error]: "`@post` has an order without the fields that it needs";
        "Order 1 needs an activation and the residual, order 2 the residual. Use order 0 otherwise.";
    RESERVED_BITS = "reserved-bits", [Warning]: "reserved bits are set";
        "The machine ignores them. The draft reserves them for later versions: assemble the instruction again from text.";
    RESERVED_OPCODE = "reserved-opcode", [Error]: "a word has an opcode without a meaning";
        "The machine stops at it. A file of words for another machine or in another byte order contains many such words, and so does \
         the memory after a program without `end`.";
    RESIDUAL_SHAPE = "residual-shape", [Error]: "the residual does not have the shape of the results";
        "With the residual, `store` adds the ifm buffer to the results, element by element, so it must be at least as large. \
         Load the part of the feature map that belongs to these results.";
    RESIDUAL_SHAPE_DIFFERS = "residual-shape-differs", [Error]: "the residual has another shape, which upstream's simulator rejects";
        "The specification allows an ifm buffer with more channels or pixels than are added, but upstream's simulator rejects such a \
         program. Make both shapes equal.";
    SHAPE_INVALID = "shape-invalid", [Error]: "a buffer cannot have this shape";
        "Sides are 1 to 127, pixels 1 to 2048 in all, and channels a power of two up to 64. Split the feature map.";
    STORED_TWICE = "stored-twice", [Warning]: "a store overwrites data that was never read";
        "Another store of the same layer wrote these bytes, and no load has read them since. The result depends on the order \
         of the two stores, which the specification guarantees; or one of the addresses is wrong.";
    STRIDE_INVALID = "stride-invalid", [Error]: "`@stride` has a step that a convolution cannot have";
        "Steps of a convolution are 1 to 7, down and across. Skip pixels when the map is loaded instead.";
    UNDEFINED_REGISTER = "undefined-register", [Error]: "a register is used before it is set";
        "Registers have no value after a reset. The instruction uses one that no earlier instruction has set, like a `conv` \
         without `@stride`. Set it with the instruction that the message names.";
    UNREAD_SUMS = "unread-sums", [Warning]: "sums are started before the previous ones are stored";
        "`conv` and `conv.bias` start new sums in the ofm buffer, `conv.acc` adds to the existing sums, and only `store` saves them. \
         Here sums are started, or made invalid by a new shape, before the previous ones were stored, as in two adjacent `conv`. \
         The earlier work is lost: a `store` is missing, or the second should be `conv.acc`.";
    UNUSED_LOAD = "unused-load", [Warning]: "a buffer is loaded again, or made invalid, before it is used";
        "Loads fill the buffers of feature maps, kernels and biases. Here the contents are replaced, the shape is changed or \
         the program ends before the loaded data is used, for instance weights that no convolution reads. The load only costs \
         time, or an instruction is missing in between.";
    UNWRITTEN_OUTPUT = "unwritten-output", [Error]: "bytes of an output are never written";
        "Drivers read the output at the address in the artifact, and no store of the program writes all of it. Correct the address of \
         the store or of the output.";
    UNWRITTEN_READ = "unwritten-read", [Error]: "bytes are read that were never written";
        "For an artifact, all bytes that drivers write and that the program stores are known. The load reads other bytes. \
         Correct its address, or the shape, which determines the size of the load.";
    WORDS_BEHIND_END = "words-behind-end", [Warning]: "instructions after `end` are never executed";
        "The machine stops at the first `end`, so these words are never reached; upstream's simulator executes them \
         anyway. Remove them, or remove the `end` before them.";
}
}

pub use table::*;
