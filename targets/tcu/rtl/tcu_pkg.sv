// Names of the instruction set: opcodes, moves, operations, registers.
//
// Source: the TCU specification, 3.3, 4.1 and 9.8.
package tcu_pkg;

  // Bits 7 to 4 of an instruction's header. All others are skipped.
  typedef enum logic [3:0] {
    OPCODE_MATMUL      = 4'h1,
    OPCODE_DATAMOVE    = 4'h2,
    OPCODE_LOADWEIGHTS = 4'h3,
    OPCODE_SIMD        = 4'h4,
    OPCODE_CONFIGURE   = 4'hF
  } opcode_t;

  // Flags of DataMove. All others move nothing.
  typedef enum logic [3:0] {
    MOVE_DRAM0_TO_LOCAL       = 4'h0,
    MOVE_LOCAL_TO_DRAM0       = 4'h1,
    MOVE_DRAM1_TO_LOCAL       = 4'h2,
    MOVE_LOCAL_TO_DRAM1       = 4'h3,
    MOVE_ACCUMULATOR_TO_LOCAL = 4'hC,
    MOVE_LOCAL_TO_ACCUMULATOR = 4'hD,
    MOVE_LOCAL_ADDED          = 4'hF
  } move_t;

  typedef enum logic [3:0] {
    SIMD_NOOP      = 4'h0,
    SIMD_ZERO      = 4'h1,
    SIMD_MOVE      = 4'h2,
    SIMD_NOT       = 4'h3,
    SIMD_AND       = 4'h4,
    SIMD_OR        = 4'h5,
    SIMD_INCREMENT = 4'h6,
    SIMD_DECREMENT = 4'h7,
    SIMD_ADD       = 4'h8,
    SIMD_SUBTRACT  = 4'h9,
    SIMD_MULTIPLY  = 4'hA,
    SIMD_ABS       = 4'hB,
    SIMD_GREATER   = 4'hC,
    SIMD_NOT_LESS  = 4'hD,
    SIMD_MIN       = 4'hE,
    SIMD_MAX       = 4'hF
  } simd_op_t;

  // What an instruction asks of the router between local memory, array and accumulators.
  typedef enum logic [1:0] {
    ROUTE_PRODUCT  = 2'd0,  // local memory to the array, the array to the accumulators
    ROUTE_WEIGHTS  = 2'd1,  // local memory to the array
    ROUTE_MOVE_IN  = 2'd2,  // local memory to the accumulators
    ROUTE_MOVE_OUT = 2'd3   // the accumulators to local memory
  } route_t;

  typedef enum logic [3:0] {
    REGISTER_DRAM0_OFFSET    = 4'h0,
    REGISTER_DRAM0_CACHE     = 4'h1,
    REGISTER_DRAM1_OFFSET    = 4'h4,
    REGISTER_DRAM1_CACHE     = 4'h5,
    REGISTER_TIMEOUT         = 4'h8,
    REGISTER_TRACEPOINT      = 4'h9,
    REGISTER_PROGRAM_COUNTER = 4'hA,
    REGISTER_SAMPLE_INTERVAL = 4'hB
  } register_t;

  // The layout of instructions, section 3.1, in bits of addresses (local memory, accumulators, the
  // deeper bank of DRAM), of stride codes and of register codes. Operands are whole bytes.
  function automatic int unsigned larger(int unsigned a, int unsigned b);
    return a > b ? a : b;
  endfunction

  function automatic int unsigned whole_bytes(int unsigned bits);
    return (bits + 7) / 8 * 8;
  endfunction

  function automatic int unsigned smaller(int unsigned a, int unsigned b);
    return a < b ? a : b;
  endfunction

  // Addresses of operand 0 and 1.
  function automatic int unsigned address0_bits(int unsigned local_bits, int unsigned accumulator_bits);
    return larger(local_bits, accumulator_bits);
  endfunction

  function automatic int unsigned address1_bits(int unsigned local_bits, int unsigned accumulator_bits,
                                                int unsigned dram_bits);
    return larger(address0_bits(local_bits, accumulator_bits), dram_bits);
  endfunction

  // Operand 2 has no stride: it is a size or a SIMD sub-instruction.
  function automatic int unsigned value2_bits(int unsigned local_bits, int unsigned accumulator_bits,
                                              int unsigned dram_bits, int unsigned register_bits);
    return larger(smaller(local_bits, larger(accumulator_bits, dram_bits)), 4 + 3 * register_bits);
  endfunction

endpackage
