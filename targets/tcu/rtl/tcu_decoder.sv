// The decoder: one instruction at a time, handed to all units that it concerns.
//
// It is accepted in the cycle in which the last of them takes its part; what has no meaning is
// accepted at once. Each unit's `_valid` and `_ready` are one part; the fields are shared. Sizes are
// numbers of vectors less one and count modulo the local depth. With two threads a header has three
// bits of opcode, threads run in program order, and there is no Configure.
//
// By the page, and not in the released circuit: with VALUE_IN_OPERAND1 a Configure's value begins where operand 1 does. With
// NOOP_MOVES a SIMD NoOp that reads moves a vector of the accumulators to local memory, and one that writes puts what the array
// gave last into the accumulators, as a product of zeros would come; one that does both is handed out twice. With
// FIXED_TABLES every LoadLUT loads LOOKUP_DEPTH vectors.
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

    // Widths of fields; a field that the layout leaves out is a bit that is 0.
    localparam int unsigned L = $clog2(LOCAL_DEPTH),
    localparam int unsigned A = $clog2(ACCUMULATOR_DEPTH),
    localparam int unsigned D0 = $clog2(DRAM0_DEPTH),
    localparam int unsigned D1 = $clog2(DRAM1_DEPTH),
    localparam int unsigned R = $clog2(SIMD_REGISTERS_DEPTH + 1),
    localparam int unsigned S0 = $clog2(STRIDE0_DEPTH),
    localparam int unsigned S1 = $clog2(STRIDE1_DEPTH),
    localparam int unsigned STRIDE0_BITS = S0 > 0 ? S0 : 1,
    localparam int unsigned STRIDE1_BITS = S1 > 0 ? S1 : 1,
    localparam int unsigned REGISTER_BITS = R > 0 ? R : 1,
    localparam int unsigned D = tcu_pkg::larger(D0, D1),

    // Operands: an address, above it a stride, in whole bytes.
    localparam int unsigned ADDRESS0 = tcu_pkg::address0_bits(L, A),
    localparam int unsigned ADDRESS1 = tcu_pkg::address1_bits(L, A, D),
    localparam int unsigned OPERAND0 = tcu_pkg::whole_bytes(ADDRESS0 + S0),
    localparam int unsigned OPERAND1 = tcu_pkg::whole_bytes(ADDRESS1 + S1),
    localparam int unsigned OPERAND2 = tcu_pkg::whole_bytes(tcu_pkg::value2_bits(L, A, D, R, LOOKUP_TABLES)),
    localparam int unsigned OPERANDS = OPERAND0 + OPERAND1 + OPERAND2,
    localparam int unsigned INSTRUCTION_BITS = OPERANDS + 8
) (
    input logic clock,
    input logic reset,

    input  logic                        instruction_valid,
    output logic                        instruction_ready,
    input  logic [INSTRUCTION_BITS-1:0] instruction,

    // Runs of local memory: of the array's side, of DRAM0, of DRAM1, and of weights that are loaded
    // beside those at work.
    output logic [3:0]                   local_valid,
    input  logic [3:0]                   local_ready,
    output logic [1:0]                   local_write,
    output logic                         local_descending,
    output logic [L-1:0]                 local_address,
    output logic [STRIDE0_BITS-1:0]      local_stride,
    output logic [L-1:0]                 size,

    output logic   route_valid,
    input  logic   route_ready,
    output logic [1:0] route_kind,
    output logic   route_zeroes,
    output logic   zeroes,

    output logic array_valid,
    input  logic array_ready,
    output logic array_load,
    output logic array_repeats,
    output logic load_valid,
    input  logic load_ready,

    output logic                     accumulator_valid,
    input  logic                     accumulator_ready,
    output logic                     accumulator_simd,
    output logic                     accumulator_reads,
    output logic                     accumulator_writes,
    output logic                     accumulator_loads,
    output logic                     accumulates,
    output logic [A-1:0]             accumulator_address,
    output logic [STRIDE1_BITS-1:0]  other_stride,
    output logic [A-1:0]             accumulator_read_address,
    output logic [4:0]                 simd_op,
    output logic [REGISTER_BITS-1:0] simd_left,
    output logic [REGISTER_BITS-1:0] simd_right,
    output logic [REGISTER_BITS-1:0] simd_destination,

    output logic         host_valid,
    input  logic         host_ready,
    output logic         host_bank,
    output logic         host_write,
    output logic [1:0]   dram_valid,
    input  logic [1:0]   dram_ready,
    output logic [D-1:0] dram_address,

    output logic        configures,
    output logic [3:0]   configure_number,
    output logic [31:0] configure_value
);

  // The largest operand has 64 bits.
  function automatic logic [63:0] field(input logic [63:0] operand, input integer low, input integer bits);
    field = (operand >> low) & ~(64'hFFFF_FFFF_FFFF_FFFF << bits);
  endfunction

  logic [63:0] operand0, operand1, operand2;
  logic [31:0] first_bits;
  logic [7:0] header;
  logic [3:0] opcode;
  logic [3:0] flags, move;

  assign operand0 = 64'(instruction[OPERAND0-1:0]);
  assign operand1 = 64'(instruction[OPERAND0+:OPERAND1]);
  assign operand2 = 64'(instruction[OPERAND0+OPERAND1+:OPERAND2]);
  assign header = instruction[OPERANDS+:8];
  assign first_bits = 32'(instruction[OPERANDS-1:0]);
  assign opcode = NUMBER_OF_THREADS > 1 ? {1'b0, header[6:4]} : header[7:4];
  assign flags = header[3:0];
  assign move = flags;

  logic is_matmul, is_move, is_load, is_simd, is_dram, is_in, is_out, is_table;

  // A SIMD NoOp that moves: whether it is at its second move, and which one it is at.
  logic is_noop, moves_twice, is_second, noop_out, noop_in;

  always_comb begin
    // While there is no instruction, what the units see is that of a NoOp.
    is_matmul  = instruction_valid && opcode == tcu_pkg::OPCODE_MATMUL;
    is_load    = instruction_valid && opcode == tcu_pkg::OPCODE_LOADWEIGHTS;
    is_noop    = NOOP_MOVES && opcode == tcu_pkg::OPCODE_SIMD && simd_op == 5'(tcu_pkg::SIMD_NOOP);
    is_simd    = instruction_valid && opcode == tcu_pkg::OPCODE_SIMD && !is_noop;
    is_move    = instruction_valid && opcode == tcu_pkg::OPCODE_DATAMOVE;
    configures = instruction_valid && opcode == tcu_pkg::OPCODE_CONFIGURE;
    is_table   = instruction_valid && opcode == tcu_pkg::OPCODE_LOADLUT && LOOKUP_TABLES > 0;
    is_dram    = is_move && flags < 4'd4;
    is_in      = is_move && (move == tcu_pkg::MOVE_LOCAL_TO_ACCUMULATOR || move == tcu_pkg::MOVE_LOCAL_ADDED);
    moves_twice = is_noop && flags[1:0] == 2'b11;
    noop_out   = instruction_valid && is_noop && flags[0] && !is_second;
    noop_in    = instruction_valid && is_noop && flags[1] && (is_second || !flags[0]);
    is_out     = (is_move && move == tcu_pkg::MOVE_ACCUMULATOR_TO_LOCAL) || noop_out;
  end

  // Addresses, strides and sizes.
  assign local_address = L'(field(operand0, 0, ADDRESS0));
  assign local_stride = is_noop ? '0 : STRIDE0_BITS'(field(operand0, ADDRESS0, S0));
  assign local_descending = is_load;
  assign other_stride = is_simd || is_noop || is_table ? '0 : STRIDE1_BITS'(field(operand1, ADDRESS1, S1));

  // A table's vectors count from 0.
  always_comb begin
    if (is_table) accumulator_address = '0;
    else accumulator_address = A'(is_simd || noop_in ? operand0 : field(operand1, 0, ADDRESS1));
  end

  assign accumulator_read_address = A'(operand1);
  assign dram_address = D'(field(operand1, 0, ADDRESS1));

  always_comb begin
    if (is_simd || is_noop) size = '0;
    else if (is_table && FIXED_TABLES) size = L'(LOOKUP_DEPTH - 1);
    else size = L'(is_load ? operand1 : operand2);
  end

  // What the units are told.
  logic accumulate_flag, zeroes_flag, uses_port_a, uses_router, uses_array, uses_accumulators;
  logic is_load_beside;

  assign accumulate_flag = flags[0];
  assign zeroes_flag = is_load ? flags[0] : flags[1];
  assign zeroes = (zeroes_flag && (is_matmul || is_load)) || noop_in;
  // Weights of zeroes are the route of what routes nothing, which the router's handshake shows.
  assign route_zeroes = zeroes || !uses_router;
  assign local_write = {is_dram && !flags[0], is_out};
  assign array_load = is_load;
  assign array_repeats = noop_in;

  always_comb begin
    if (is_matmul || noop_in) route_kind = tcu_pkg::ROUTE_PRODUCT;
    else if (is_in || is_table) route_kind = tcu_pkg::ROUTE_MOVE_IN;
    else if (is_out) route_kind = tcu_pkg::ROUTE_MOVE_OUT;
    else route_kind = tcu_pkg::ROUTE_WEIGHTS;
  end

  assign accumulator_simd = is_simd;
  assign accumulator_loads = is_table;
  assign accumulator_reads = is_simd ? flags[0] : is_out;
  assign accumulator_writes = is_simd ? flags[1] : !is_out;

  always_comb begin
    if (is_simd || noop_in) accumulates = flags[2];
    else if (is_matmul) accumulates = accumulate_flag;
    else accumulates = is_move && move == tcu_pkg::MOVE_LOCAL_ADDED;
  end

  assign simd_op = 5'(field(operand2, 3 * R, LOOKUP_TABLES > 0 ? 5 : 4));
  assign simd_left = REGISTER_BITS'(field(operand2, 2 * R, R));
  assign simd_right = REGISTER_BITS'(field(operand2, R, R));
  // Where there are lookup tables there are as many registers, so that a table's number fits.
  assign simd_destination = REGISTER_BITS'(is_table ? field(operand1, 0, $clog2(LOOKUP_TABLES + 1)) : field(operand2, 0, R));

  assign host_bank = flags[1];
  assign host_write = flags[0];
  assign configure_number = first_bits[3:0];
  assign configure_value = VALUE_IN_OPERAND1 ? 32'(instruction[OPERANDS-1:OPERAND0]) : 32'(first_bits[31:4]);

  // Who takes part, the highest bit first: loads of weights beside those at work, DRAM1, DRAM0, the host
  // router, the accumulators, the array, the router, and the lanes of local memory.
  logic [10:0] wanted, part_valid;
  logic parts_ready;

  assign is_load_beside = DOUBLE_WEIGHTS && is_load;
  assign uses_port_a = (is_matmul && !zeroes) || (is_load && !zeroes && !is_load_beside) || is_in || is_out || is_table;
  assign uses_router = is_matmul || noop_in || (is_load && !zeroes && !is_load_beside) || is_in || is_out || is_table;
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

  tcu_fork #(
      .PORTS(11)
  ) parts (
      .clock,
      .reset,
      .in_valid (instruction_valid),
      .in_ready (parts_ready),
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

  assign {load_valid, dram_valid, host_valid, accumulator_valid, array_valid, route_valid, local_valid} = part_valid;

endmodule
