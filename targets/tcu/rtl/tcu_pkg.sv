// Names of the instruction set, and types of the signals between units.
//
// Source: the TCU specification, 3.3, 4.1 and 9.8.
package tcu_pkg;

  // Opcodes: bits 7 to 4 of an instruction's header. Instructions with other opcodes are skipped.
  typedef enum logic [3:0] {
    OPCODE_MATMUL      = 4'h1,
    OPCODE_DATAMOVE    = 4'h2,
    OPCODE_LOADWEIGHTS = 4'h3,
    OPCODE_SIMD        = 4'h4,
    OPCODE_LOADLUT     = 4'h5,  // only with lookup tables
    OPCODE_CONFIGURE   = 4'hF
  } opcode_e;

  typedef struct packed {
    opcode_e    opcode;
    logic [3:0] flags;
  } header_t;

  // Flags of DataMove. Values below 4 are DRAM moves: bit 0 is high for a write, bit 1 is the bank.
  // Other values move nothing.
  typedef enum logic [3:0] {
    MOVE_ACCUMULATOR_TO_LOCAL = 4'hC,
    MOVE_LOCAL_TO_ACCUMULATOR = 4'hD,
    MOVE_LOCAL_ADDED          = 4'hF
  } move_e;

  // Operations of SIMD. The field has 4 bits without lookup tables.
  typedef enum logic [4:0] {
    SIMD_NOOP      = 5'h00,
    SIMD_ZERO      = 5'h01,
    SIMD_MOVE      = 5'h02,
    SIMD_NOT       = 5'h03,
    SIMD_AND       = 5'h04,
    SIMD_OR        = 5'h05,
    SIMD_INCREMENT = 5'h06,
    SIMD_DECREMENT = 5'h07,
    SIMD_ADD       = 5'h08,
    SIMD_SUBTRACT  = 5'h09,
    SIMD_MULTIPLY  = 5'h0A,
    SIMD_ABS       = 5'h0B,
    SIMD_GREATER   = 5'h0C,
    SIMD_NOT_LESS  = 5'h0D,
    SIMD_MIN       = 5'h0E,
    SIMD_MAX       = 5'h0F,
    SIMD_LOOKUP    = 5'h10
  } simd_op_e;

  // Whether an operation has a right source in addition to its left one. Yosys requires the full
  // names here.
  function automatic logic has_two_sources(input logic [4:0] op);
    has_two_sources = op == tcu_pkg::SIMD_AND || op == tcu_pkg::SIMD_OR
        || (op >= tcu_pkg::SIMD_ADD && op <= tcu_pkg::SIMD_MULTIPLY)
        || (op >= tcu_pkg::SIMD_GREATER && op <= tcu_pkg::SIMD_MAX);
  endfunction

  // Indices of the register codes of a SIMD instruction.
  localparam int unsigned DESTINATION = 0;
  localparam int unsigned RIGHT = 1;
  localparam int unsigned LEFT = 2;

  // Route that an instruction requests between local memory, array and accumulators.
  typedef enum logic [1:0] {
    ROUTE_PRODUCT  = 2'd0,  // local memory to the array, the array to the accumulators
    ROUTE_WEIGHTS  = 2'd1,  // local memory to the array
    ROUTE_MOVE_IN  = 2'd2,  // local memory to the accumulators
    ROUTE_MOVE_OUT = 2'd3   // the accumulators to local memory
  } route_e;

  typedef struct packed {
    route_e kind;
    logic   zeroes;  // the array takes zeroes instead of local memory's vectors
  } route_t;

  // What an instruction requests from the array: to load weights, to take zeroes, or to repeat its
  // last result.
  typedef struct packed {
    logic loads;
    logic zeroes;
    logic repeats;
  } rows_t;

  // What an instruction requests from the accumulators. If `loads` is high, the vector is written
  // to a lookup table.
  typedef struct packed {
    logic     is_simd;
    logic     reads;
    logic     writes;
    logic     loads;
    logic     accumulates;
    simd_op_e op;
  } command_t;

  // Configuration registers. All others are ignored.
  typedef enum logic [3:0] {
    REGISTER_DRAM0_OFFSET    = 4'h0,
    REGISTER_DRAM0_CACHE     = 4'h1,
    REGISTER_DRAM1_OFFSET    = 4'h4,
    REGISTER_DRAM1_CACHE     = 4'h5,
    REGISTER_TIMEOUT         = 4'h8,
    REGISTER_TRACEPOINT      = 4'h9,
    REGISTER_PROGRAM_COUNTER = 4'hA,
    REGISTER_SAMPLE_INTERVAL = 4'hB
  } register_e;

  // The operands of Configure, as the released circuit reads them.
  typedef struct packed {
    logic [27:0] value;
    register_e   number;
  } configure_t;

  // The layout of instructions (section 3.1), computed from numbers of bits: of addresses in local
  // memory, in the accumulators and in the deeper bank of DRAM, of stride codes, and of register
  // codes. Operands are whole bytes.
  function automatic integer whole_bytes(input integer bits);
    whole_bytes = (bits + 7) / 8 * 8;
  endfunction

  // Addresses of operand 0 and 1.
  function automatic integer address0_bits(input integer local_bits, input integer accumulator_bits);
    address0_bits = npu_pkg::larger(local_bits, accumulator_bits);
  endfunction

  function automatic integer address1_bits(input integer local_bits, input integer accumulator_bits,
                                           input integer dram_bits);
    address1_bits = npu_pkg::larger(address0_bits(local_bits, accumulator_bits), dram_bits);
  endfunction

  function automatic integer operation_bits(input integer tables);
    operation_bits = tables > 0 ? 5 : 4;
  endfunction

  // Operand 2 has no stride: it is a size or a SIMD sub-instruction.
  function automatic integer value2_bits(input integer local_bits, input integer accumulator_bits,
                                         input integer dram_bits, input integer register_bits,
                                         input integer tables);
    value2_bits = npu_pkg::larger(
        npu_pkg::smaller(local_bits, npu_pkg::larger(accumulator_bits, dram_bits)),
        operation_bits(tables) + 3 * register_bits);
  endfunction

  // Number of vectors in the longest burst, which has 256 words. It does not depend on where in a
  // word the first vector begins.
  function automatic integer longest_burst(input integer vector_bytes, input integer word_bytes);
    longest_burst = (256 * word_bytes - (vector_bytes % word_bytes == 0 ? 0 : word_bytes - 1))
        / vector_bytes;
  endfunction

  // Width of a number of vectors: large enough for the rest of a request and for the longest burst.
  function automatic integer count_bits(input integer size_bits, input integer longest);
    count_bits = npu_pkg::larger(npu_pkg::larger(size_bits, 8), $clog2(longest + 1)) + 1;
  endfunction

endpackage
