// The decoder: passes one instruction at a time to all units that take part in it.
//
// An instruction is accepted in the cycle in which the last unit accepts its part. An instruction
// without a meaning is accepted at once. Each unit's `_valid` and `_ready` belong to one part; all
// parts share the fields. Sizes are numbers of vectors minus one, modulo the local depth. With two
// threads, the opcode has three bits, threads run in program order, and Configure does not exist.
//
// Three parameters follow the instruction set's page instead of the released circuit. With
// VALUE_IN_OPERAND1, the value of a Configure begins at operand 1. With NOOP_MOVES, a SIMD NoOp
// that reads moves a vector from the accumulators to local memory. A SIMD NoOp that writes stores
// the array's last result in the accumulators, with the timing of a product of zeros. A SIMD NoOp
// that does both is issued twice. With FIXED_TABLES, every LoadLUT loads LOOKUP_DEPTH vectors.
//
// Source: the specification's 3 (layout), 4 (meaning) and 9.1.
module tcu_decoder #(
    parameter int unsigned LOCAL_DEPTH = 8192,
    parameter int unsigned ACCUMULATOR_DEPTH = 2048,
    parameter longint unsigned DRAM0_DEPTH = 1048576,
    parameter longint unsigned DRAM1_DEPTH = 1048576,
    parameter int unsigned SIMD_REGISTERS_DEPTH = 1,
    parameter int unsigned LOOKUP_TABLES = 0,
    parameter int unsigned LOOKUP_DEPTH = 128,
    parameter int unsigned STRIDE0_DEPTH = 8,
    parameter int unsigned STRIDE1_DEPTH = 8,
    parameter int unsigned NUMBER_OF_THREADS = 1,
    parameter bit QUEUED = 1'b0,
    parameter bit DOUBLE_WEIGHTS = 1'b0,
    parameter bit VALUE_IN_OPERAND1 = 1'b0,
    parameter bit NOOP_MOVES = 1'b0,
    parameter bit FIXED_TABLES = 1'b0,

    // Widths of fields. A field that the layout omits is one bit with value 0.
    localparam int unsigned LOCAL_BITS = $clog2(LOCAL_DEPTH),
    localparam int unsigned ACCUMULATOR_BITS = $clog2(ACCUMULATOR_DEPTH),
    localparam int unsigned DRAM0_BITS = $clog2(DRAM0_DEPTH),
    localparam int unsigned DRAM1_BITS = $clog2(DRAM1_DEPTH),
    localparam int unsigned REGISTER_FIELD = $clog2(SIMD_REGISTERS_DEPTH + 1),
    localparam int unsigned TABLE_FIELD = $clog2(LOOKUP_TABLES + 1),
    localparam int unsigned STRIDE0_FIELD = $clog2(STRIDE0_DEPTH),
    localparam int unsigned STRIDE1_FIELD = $clog2(STRIDE1_DEPTH),
    localparam int unsigned STRIDE0_BITS = STRIDE0_FIELD > 0 ? STRIDE0_FIELD : 1,
    localparam int unsigned STRIDE1_BITS = STRIDE1_FIELD > 0 ? STRIDE1_FIELD : 1,
    localparam int unsigned REGISTER_BITS = REGISTER_FIELD > 0 ? REGISTER_FIELD : 1,
    localparam int unsigned DRAM_BITS = npu_pkg::larger(DRAM0_BITS, DRAM1_BITS),

    // An operand has an address in its low bits and a stride above it, and is a whole number of
    // bytes.
    localparam int unsigned ADDRESS0 = tcu_pkg::address0_bits(LOCAL_BITS, ACCUMULATOR_BITS),
    localparam int unsigned ADDRESS1 =
        tcu_pkg::address1_bits(LOCAL_BITS, ACCUMULATOR_BITS, DRAM_BITS),
    localparam int unsigned OPERAND0 = tcu_pkg::whole_bytes(ADDRESS0 + STRIDE0_FIELD),
    localparam int unsigned OPERAND1 = tcu_pkg::whole_bytes(ADDRESS1 + STRIDE1_FIELD),
    localparam int unsigned OPERAND2 = tcu_pkg::whole_bytes(tcu_pkg::value2_bits(
        LOCAL_BITS, ACCUMULATOR_BITS, DRAM_BITS, REGISTER_FIELD, LOOKUP_TABLES
    )),
    localparam int unsigned OPERANDS = OPERAND0 + OPERAND1 + OPERAND2,
    localparam int unsigned INSTRUCTION_BITS = OPERANDS + 8
) (
    input logic clock,
    input logic reset,

    input  logic                        instruction_valid,
    output logic                        instruction_ready,
    input  logic [INSTRUCTION_BITS-1:0] instruction,

    // Runs of local memory, in order: for the array, DRAM0, DRAM1, and weights that are loaded next
    // to those in use.
    output logic [3:0]              local_valid,
    input  logic [3:0]              local_ready,
    output logic [1:0]              local_write,
    output logic                    local_descending,
    output logic [LOCAL_BITS-1:0]   local_address,
    output logic [STRIDE0_BITS-1:0] local_stride,
    output logic [LOCAL_BITS-1:0]   size,

    output logic            route_valid,
    input  logic            route_ready,
    output tcu_pkg::route_t route,

    output logic           array_valid,
    input  logic           array_ready,
    output tcu_pkg::rows_t array_rows,
    output logic           load_valid,
    input  logic           load_ready,

    output logic                          accumulator_valid,
    input  logic                          accumulator_ready,
    output tcu_pkg::command_t             command,
    output logic [ACCUMULATOR_BITS-1:0]   accumulator_address,
    output logic [STRIDE1_BITS-1:0]       other_stride,
    output logic [ACCUMULATOR_BITS-1:0]   accumulator_read_address,
    output logic [2:0][REGISTER_BITS-1:0] codes,

    output logic                 host_valid,
    input  logic                 host_ready,
    output logic                 host_bank,
    output logic                 host_write,
    output logic [1:0]           dram_valid,
    input  logic [1:0]           dram_ready,
    output logic [DRAM_BITS-1:0] dram_address,

    output logic               configures,
    output tcu_pkg::register_e configure_number,
    output logic [31:0]        configure_value
);

  // The result has 64 bits because the largest operand has 64 bits.
  function automatic logic [63:0] field(input logic [63:0] operand, input integer low,
                                        input integer bits);
    field = (operand >> low) & ~(64'hFFFF_FFFF_FFFF_FFFF << bits);
  endfunction

  logic [63:0] operand0, operand1, operand2;
  logic [7:0] first_byte;
  logic [3:0] flags;
  tcu_pkg::header_t header;
  tcu_pkg::configure_t configure;

  // The fields of a SIMD sub-instruction. The codes are in the order left, right, destination.
  typedef struct packed {
    tcu_pkg::simd_op_e             op;
    logic [2:0][REGISTER_BITS-1:0] codes;
  } simd_t;

  simd_t simd;

  assign operand0 = 64'(instruction[OPERAND0-1:0]);
  assign operand1 = 64'(instruction[OPERAND0+:OPERAND1]);
  assign operand2 = 64'(instruction[OPERAND0+OPERAND1+:OPERAND2]);
  assign first_byte = instruction[OPERANDS+:8];
  assign header = NUMBER_OF_THREADS > 1 ? {1'b0, first_byte[6:0]} : first_byte;
  assign flags = header.flags;
  assign configure = 32'(instruction[OPERANDS-1:0]);
  assign simd = {
    5'(field(operand2, 3 * REGISTER_FIELD, tcu_pkg::operation_bits(LOOKUP_TABLES))),
    REGISTER_BITS'(field(operand2, 2 * REGISTER_FIELD, REGISTER_FIELD)),
    REGISTER_BITS'(field(operand2, REGISTER_FIELD, REGISTER_FIELD)),
    REGISTER_BITS'(field(operand2, 0, REGISTER_FIELD))
  };

  logic is_matmul, is_move, is_load, is_simd, is_dram, is_in, is_out, is_table;

  // A SIMD NoOp that moves: whether it is at its second move, and which one it is at.
  logic is_noop, moves_twice, is_second, noop_out, noop_in;

  always_comb begin
    // Without an instruction, units see the fields of a NoOp.
    is_matmul = instruction_valid && header.opcode == tcu_pkg::OPCODE_MATMUL;
    is_load = instruction_valid && header.opcode == tcu_pkg::OPCODE_LOADWEIGHTS;
    is_noop = NOOP_MOVES && header.opcode == tcu_pkg::OPCODE_SIMD && simd.op == tcu_pkg::SIMD_NOOP;
    is_simd = instruction_valid && header.opcode == tcu_pkg::OPCODE_SIMD && !is_noop;
    is_move = instruction_valid && header.opcode == tcu_pkg::OPCODE_DATAMOVE;
    configures = instruction_valid && header.opcode == tcu_pkg::OPCODE_CONFIGURE;
    is_table = instruction_valid && header.opcode == tcu_pkg::OPCODE_LOADLUT && LOOKUP_TABLES > 0;
    is_dram = is_move && flags < 4'd4;
    is_in = is_move
        && (flags == tcu_pkg::MOVE_LOCAL_TO_ACCUMULATOR || flags == tcu_pkg::MOVE_LOCAL_ADDED);
    moves_twice = is_noop && flags[1:0] == 2'b11;
    noop_out = instruction_valid && is_noop && flags[0] && !is_second;
    noop_in = instruction_valid && is_noop && flags[1] && (is_second || !flags[0]);
    is_out = (is_move && flags == tcu_pkg::MOVE_ACCUMULATOR_TO_LOCAL) || noop_out;
  end

  // Addresses, strides and sizes.
  assign local_address = LOCAL_BITS'(field(operand0, 0, ADDRESS0));
  assign local_stride = is_noop ? '0 : STRIDE0_BITS'(field(operand0, ADDRESS0, STRIDE0_FIELD));
  assign local_descending = is_load;
  assign other_stride = is_simd || is_noop || is_table ? '0
      : STRIDE1_BITS'(field(operand1, ADDRESS1, STRIDE1_FIELD));

  // A table's vectors count from 0.
  always_comb begin
    if (is_table) accumulator_address = '0;
    else if (is_simd || noop_in) accumulator_address = ACCUMULATOR_BITS'(operand0);
    else accumulator_address = ACCUMULATOR_BITS'(field(operand1, 0, ADDRESS1));
  end

  assign accumulator_read_address = ACCUMULATOR_BITS'(operand1);
  assign dram_address = DRAM_BITS'(field(operand1, 0, ADDRESS1));

  always_comb begin
    if (is_simd || is_noop) size = '0;
    else if (is_table && FIXED_TABLES) size = LOCAL_BITS'(LOOKUP_DEPTH - 1);
    else size = LOCAL_BITS'(is_load ? operand1 : operand2);
  end

  // Control signals to the units.
  logic zeroes, zeroes_flag, uses_port_a, uses_router, uses_array, uses_accumulators;
  logic is_load_beside, routes_load;

  assign zeroes_flag = is_load ? flags[0] : flags[1];
  assign zeroes = (zeroes_flag && (is_matmul || is_load)) || noop_in;
  assign local_write = {is_dram && !flags[0], is_out};

  always_comb begin
    if (is_matmul || noop_in) route.kind = tcu_pkg::ROUTE_PRODUCT;
    else if (is_in || is_table) route.kind = tcu_pkg::ROUTE_MOVE_IN;
    else if (is_out) route.kind = tcu_pkg::ROUTE_MOVE_OUT;
    else route.kind = tcu_pkg::ROUTE_WEIGHTS;
    // The zeroes flag is also set if nothing is routed, because the router's handshake shows this
    // value.
    route.zeroes = zeroes || !uses_router;
    array_rows.loads = is_load;
    array_rows.zeroes = zeroes;
    array_rows.repeats = noop_in;
  end

  always_comb begin
    command.is_simd = is_simd;
    command.reads = is_simd ? flags[0] : is_out;
    command.writes = is_simd ? flags[1] : !is_out;
    command.loads = is_table;
    if (is_simd || noop_in) command.accumulates = flags[2];
    else if (is_matmul) command.accumulates = flags[0];
    else command.accumulates = is_move && flags == tcu_pkg::MOVE_LOCAL_ADDED;
    command.op = simd.op;
  end

  // Where there are lookup tables there are as many registers, so that a table's number fits.
  always_comb begin
    codes = simd.codes;
    if (is_table) codes[tcu_pkg::DESTINATION] = REGISTER_BITS'(field(operand1, 0, TABLE_FIELD));
  end

  assign host_bank = flags[1];
  assign host_write = flags[0];
  assign configure_number = configure.number;
  assign configure_value =
      VALUE_IN_OPERAND1 ? 32'(instruction[OPERANDS-1:OPERAND0]) : 32'(configure.value);

  // The parts of an instruction, highest bit first: loads of weights next to those in use, DRAM1,
  // DRAM0, the host router, the accumulators, the array, the router, and the lanes of local memory.
  logic [10:0] wanted, part_valid;
  logic parts_ready;

  assign is_load_beside = DOUBLE_WEIGHTS && is_load;
  assign routes_load = is_load && !zeroes && !is_load_beside;
  assign uses_port_a = (is_matmul && !zeroes) || routes_load || is_in || is_out || is_table;
  assign uses_router = is_matmul || noop_in || routes_load || is_in || is_out || is_table;
  assign uses_array = is_matmul || noop_in || (is_load && !is_load_beside);
  assign uses_accumulators = is_matmul || noop_in || is_in || is_out || is_simd || is_table;
  assign wanted = {
    is_load_beside,
    is_dram && host_bank,
    is_dram && !host_bank,
    is_dram && !QUEUED,
    uses_accumulators,
    uses_array,
    uses_router,
    is_load_beside && !zeroes,
    is_dram && host_bank,
    is_dram && !host_bank,
    uses_port_a
  };

  npu_fork #(.PORTS(11)) parts (
      .clock, .reset,
      .in_valid(instruction_valid), .in_ready(parts_ready),
      .wanted,
      .out_valid(part_valid),
      .out_ready({
        load_ready, dram_ready, host_ready, accumulator_ready, array_ready, route_ready, local_ready
      })
  );

  assign instruction_ready = parts_ready && (!moves_twice || is_second);

  always_ff @(posedge clock) begin
    if (reset) is_second <= 1'b0;
    else if (instruction_valid && parts_ready) is_second <= moves_twice && !is_second;
  end

  assign {
    load_valid, dram_valid, host_valid, accumulator_valid, array_valid, route_valid, local_valid
  } = part_valid;

endmodule
