// Names of the instruction set: opcodes, moves, operations, registers.
//
// Source: the TCU specification, 3.3, 4.1 and 9.8.
package tcu_pkg;

  // Bits 7 to 4 of an instruction's header. All others are skipped.
  localparam logic [3:0] OPCODE_MATMUL      = 4'h1;
  localparam logic [3:0] OPCODE_DATAMOVE    = 4'h2;
  localparam logic [3:0] OPCODE_LOADWEIGHTS = 4'h3;
  localparam logic [3:0] OPCODE_SIMD        = 4'h4;
  // Only with lookup tables.
  localparam logic [3:0] OPCODE_LOADLUT     = 4'h5;
  localparam logic [3:0] OPCODE_CONFIGURE   = 4'hF;

  // Flags of DataMove. Below 4 they are those of DRAM: bit 0 says that it is written, bit 1 is the
  // bank. All others move nothing.
  localparam logic [3:0] MOVE_ACCUMULATOR_TO_LOCAL = 4'hC;
  localparam logic [3:0] MOVE_LOCAL_TO_ACCUMULATOR = 4'hD;
  localparam logic [3:0] MOVE_LOCAL_ADDED          = 4'hF;

  // Operations of SIMD.
  localparam logic [3:0] SIMD_NOOP      = 4'h0;
  localparam logic [3:0] SIMD_ZERO      = 4'h1;
  localparam logic [3:0] SIMD_MOVE      = 4'h2;
  localparam logic [3:0] SIMD_NOT       = 4'h3;
  localparam logic [3:0] SIMD_AND       = 4'h4;
  localparam logic [3:0] SIMD_OR        = 4'h5;
  localparam logic [3:0] SIMD_INCREMENT = 4'h6;
  localparam logic [3:0] SIMD_DECREMENT = 4'h7;
  localparam logic [3:0] SIMD_ADD       = 4'h8;
  localparam logic [3:0] SIMD_SUBTRACT  = 4'h9;
  localparam logic [3:0] SIMD_MULTIPLY  = 4'hA;
  localparam logic [3:0] SIMD_ABS       = 4'hB;
  localparam logic [3:0] SIMD_GREATER   = 4'hC;
  localparam logic [3:0] SIMD_NOT_LESS  = 4'hD;
  localparam logic [3:0] SIMD_MIN       = 4'hE;
  localparam logic [3:0] SIMD_MAX       = 4'hF;
  // Only with lookup tables, for which the field has a bit more.
  localparam logic [4:0] SIMD_LOOKUP    = 5'h10;

  // Whether an operation has a right source beside its left one.
  function automatic logic has_two_sources(input logic [4:0] op);
    has_two_sources = op == 5'(SIMD_AND) || op == 5'(SIMD_OR) || (op >= 5'(SIMD_ADD) && op <= 5'(SIMD_MULTIPLY))
        || (op >= 5'(SIMD_GREATER) && op <= 5'(SIMD_MAX));
  endfunction

  // What an instruction asks of the router between local memory, array and accumulators.
  localparam logic [1:0] ROUTE_PRODUCT  = 2'd0;  // local memory to the array, the array to the accumulators
  localparam logic [1:0] ROUTE_WEIGHTS  = 2'd1;  // local memory to the array
  localparam logic [1:0] ROUTE_MOVE_IN  = 2'd2;  // local memory to the accumulators
  localparam logic [1:0] ROUTE_MOVE_OUT = 2'd3;  // the accumulators to local memory

  // Configuration registers. All others are ignored.
  localparam logic [3:0] REGISTER_DRAM0_OFFSET    = 4'h0;
  localparam logic [3:0] REGISTER_DRAM0_CACHE     = 4'h1;
  localparam logic [3:0] REGISTER_DRAM1_OFFSET    = 4'h4;
  localparam logic [3:0] REGISTER_DRAM1_CACHE     = 4'h5;
  localparam logic [3:0] REGISTER_TIMEOUT         = 4'h8;
  localparam logic [3:0] REGISTER_TRACEPOINT      = 4'h9;
  localparam logic [3:0] REGISTER_PROGRAM_COUNTER = 4'hA;
  localparam logic [3:0] REGISTER_SAMPLE_INTERVAL = 4'hB;

  // The layout of instructions, section 3.1, in bits of addresses (local memory, accumulators, the
  // deeper bank of DRAM), of stride codes and of register codes. Operands are whole bytes.
  function automatic integer larger(input integer a, input integer b);
    larger = a > b ? a : b;
  endfunction

  function automatic integer whole_bytes(input integer bits);
    whole_bytes = (bits + 7) / 8 * 8;
  endfunction

  function automatic integer smaller(input integer a, input integer b);
    smaller = a < b ? a : b;
  endfunction

  // Addresses of operand 0 and 1.
  function automatic integer address0_bits(input integer local_bits, input integer accumulator_bits);
    address0_bits = larger(local_bits, accumulator_bits);
  endfunction

  function automatic integer address1_bits(input integer local_bits, input integer accumulator_bits,
                                       input integer dram_bits);
    address1_bits = larger(address0_bits(local_bits, accumulator_bits), dram_bits);
  endfunction

  // Operand 2 has no stride: it is a size or a SIMD sub-instruction.
  function automatic integer value2_bits(input integer local_bits, input integer accumulator_bits,
                                     input integer dram_bits, input integer register_bits,
                                     input integer tables);
    value2_bits = larger(smaller(local_bits, larger(accumulator_bits, dram_bits)),
                         (tables > 0 ? 5 : 4) + 3 * register_bits);
  endfunction

  // Vectors of the longest burst, of 256 words, wherever in a word the first one begins.
  function automatic integer longest_burst(input integer vector_bytes, input integer word_bytes);
    longest_burst = (256 * word_bytes - (vector_bytes % word_bytes == 0 ? 0 : word_bytes - 1)) / vector_bytes;
  endfunction

  // Bits of numbers of vectors: those that are left of a request, and of the longest burst.
  function automatic integer count_bits(input integer size_bits, input integer longest);
    count_bits = larger(larger(size_bits, 8), $clog2(longest + 1)) + 1;
  endfunction

  // Bits of the bytes of a word before a vector.
  function automatic integer skip_bits(input integer word_bytes);
    skip_bits = word_bytes > 1 ? $clog2(word_bytes) : 1;
  endfunction

endpackage
