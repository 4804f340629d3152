//! Kinds of findings of [`mod@crate::check`]: [`LINTS`]. Those of faults are the kinds of the specification's
//! section 3.6.

#[rustfmt::skip] // A table.
mod table {
npukit_target::lints! {
    ADDRESS_RANGE = "address-range", [Error]: "an access leaves the memory";
        "A bank register and the address of a load or a store together name bytes beyond the 4 GiB that the machine has. Look at \
         the bank that was set last with `@mem`, and at the size of its rows.";
    BUFFER_INVALID = "buffer-invalid", [Error]: "a buffer is used that holds nothing";
        "The shape registers say what is in a buffer; setting one again makes the buffer hold nothing, and so does a reset. Here \
         an instruction takes a buffer in that state, as a `conv.bias` without an `ld.bias` behind the last `@shape.ofm` does. \
         Load the buffer, or start the sums with `conv` or `conv.bias`, behind the last change of its shape.";
    CONV_BOUNDS = "conv-bounds", [Error]: "a convolution reads outside of the ifm buffer";
        "The tap (h, w) of a convolution and the stride of `@stride` move over the buffer's rows and columns; the last ones have to \
         exist. With 4 rows, a stride of 1 and 3 rows of results, taps 0 and 1 are legal. Load more rows, compute fewer, or \
         correct the tap. With `--strict-draft` the draft's own condition counts, which allows less.";
    DEAD_CONFIGURATION = "dead-configuration", [Warning]: "a register is set again before anything used it";
        "A register such as `@stride` counts for the instructions that follow. Here it is set again, and nothing that looks at it \
         came between, as in `@stride 1, 1` and `@stride 2, 2` on neighbouring lines. The first has no effect: take it away, or \
         put the instructions that are meant between the two. Registers of shapes are not looked at, as setting one of them makes \
         its buffer invalid, which may be meant.";
    INPUT_OVERLAP = "input-overlap", [Error]: "an input lies over something else";
        "The artifact says where drivers write inputs, constants and the program. Two of them share bytes, so that the one that \
         is written last spoils the other. The artifact was changed, or put together by hand: give the input a place of its own.";
    KER_CAPACITY = "ker-capacity", [Error]: "kernels do not fit the ker buffer";
        "The number of slices of `@shape.ker` and the channels of both feature maps say how much a kernel needs. Load larger \
         kernels in parts: fewer slices, or fewer channels, at a time.";
    KER_INDEX = "ker-index", [Error]: "a convolution takes a slice that is not in the ker buffer";
        "`@shape.ker` says how many slices are loaded, and a convolution counts them from 0. Raise the number, or correct the \
         index.";
    KER_N_INVALID = "ker-n-invalid", [Error]: "`@shape.ker` has a number of slices that the buffer cannot have";
        "The buffer of kernels has room for 1 to 36 slices, fewer where channels are many. Load larger kernels in parts.";
    MEM_INVALID = "mem-invalid", [Error]: "`@mem` has a size that memory cannot have";
        "Rows and planes in memory have 1 to 1023 pixels: the word has ten bits for each. Split larger feature maps into parts.";
    MISSING_END = "missing-end", [Error]: "the program has no `end`";
        "The machine executes words until it comes to `end`; without one it goes on with whatever lies behind the program in \
         memory. Write `end` as the last instruction.";
    NON_FINITE = "non-finite", [Error]: "a value is infinite or not a number";
        "Scales or biases in memory are floats, and one of them has no finite value. It is known only when the program runs.";
    OPERAND_INVALID = "operand-invalid", [Error]: "an operand has a value without a meaning";
        "The field has bits for more values than have a meaning, an activation that does not exist, for instance. \
         `npu isa opu INSTRUCTION` lists what is legal.";
    OVERWRITTEN_CONSTANT = "overwritten-constant", [Error]: "a store writes over what the program needs at its next run";
        "Drivers write the program and its constants once and run them many times. The store lies over bytes of them that were \
         read before, so that the second run begins with something else. Store to another bank or address.";
    PAD_BOUNDS = "pad-bounds", [Error]: "zeros are put outside of the ifm buffer";
        "`pad` names rows and columns of the buffer that `@shape.ifm` does not have. Correct the shape or the place.";
    POOL_BOUNDS = "pool-bounds", [Error]: "a pooling window reads outside of the ofm buffer";
        "The window and the steps of `@pool` have to end within the rows and columns of `@shape.ofm`. Compute more rows, or \
         store fewer.";
    POOL_INVALID = "pool-invalid", [Error]: "`@pool` has a window or a step that pooling cannot have";
        "Sides and steps of windows are 1 to 7. Pool larger windows in parts; no pooling is `@pool [1,1], [1,1]`.";
    POST_INVALID = "post-invalid", [Error]: "`@post` has an order that needs what it does not have";
        "Order 1 needs an activation and the residual, order 2 the residual. Take order 0 for all else.";
    RESERVED_BITS = "reserved-bits", [Warning]: "bits are set that mean nothing";
        "The machine ignores them. The draft keeps them for what comes later: assemble the instruction again from text.";
    RESERVED_OPCODE = "reserved-opcode", [Error]: "a word has an opcode without a meaning";
        "The machine stops at it. A file of words for another machine or in another order of bytes has many of them, and so has \
         memory behind a program without `end`.";
    RESIDUAL_SHAPE = "residual-shape", [Error]: "the residual does not have the shape of the results";
        "With the residual `store` adds the ifm buffer to the results, element by element, so that it has to have as many. Load the \
         part of the feature map that belongs to these results.";
    RESIDUAL_SHAPE_DIFFERS = "residual-shape-differs", [Error]: "the residual has another shape, which upstream refuses";
        "The document allows an ifm buffer with more channels or pixels than are added; upstream's simulator does not take \
         the program then. Make both shapes equal.";
    SHAPE_INVALID = "shape-invalid", [Error]: "a buffer cannot have that shape";
        "Sides are 1 to 127, pixels 1 to 2048 in all, and channels a power of two up to 64. Split the feature map.";
    STORED_TWICE = "stored-twice", [Warning]: "a store writes over what nobody has read";
        "Another store of the same layer wrote these bytes, and no load has read them since. The result then depends on the order \
         of the two stores, which the document keeps; or one of the addresses is wrong.";
    STRIDE_INVALID = "stride-invalid", [Error]: "`@stride` has a step that a convolution cannot have";
        "Steps of a convolution are 1 to 7, down and across. Leave pixels out when the map is loaded instead.";
    UNDEFINED_REGISTER = "undefined-register", [Error]: "a register is used that nothing has set";
        "Registers have no value after a reset. The instruction looks at one that no instruction before has set, as a `conv` \
         without `@stride` does. Set it with the instruction that the message names.";
    UNREAD_SUMS = "unread-sums", [Warning]: "sums are started again and the ones before were not stored";
        "`conv` and `conv.bias` begin new sums in the ofm buffer, `conv.acc` adds to those that are there, and only `store` takes \
         them away. Here sums are begun, or made invalid by a new shape, while those before have not been stored, as in two \
         neighbouring `conv`. The work before is lost: a `store` is missing, or the second was to be `conv.acc`.";
    UNUSED_LOAD = "unused-load", [Warning]: "a buffer is loaded again, or made invalid, before anything used it";
        "Loads fill the buffers of feature maps, kernels and biases. The content is replaced here, or the shape changed, and \
         nothing has used what was loaded, or the program ends: weights that are loaded and not used, for instance. The load takes \
         its time for nothing, or an instruction is missing between.";
    UNWRITTEN_OUTPUT = "unwritten-output", [Error]: "bytes of an output are written by nobody";
        "Drivers read the output where the artifact says, and no store of the program writes all of it. Correct the address of the \
         store or of the output.";
    UNWRITTEN_READ = "unwritten-read", [Error]: "bytes are read that nobody has written";
        "Of an artifact everything is known that drivers write, and what the program stores itself. The load takes bytes of \
         neither. Correct its address, or the shape, which says how much is read.";
    WORDS_BEHIND_END = "words-behind-end", [Warning]: "instructions behind `end` are never executed";
        "The machine stops at the first `end`, so that these words cannot be reached; upstream's simulator executes them all the \
         same. Take them away, or take away the `end` before them.";
}
}

pub use table::*;
