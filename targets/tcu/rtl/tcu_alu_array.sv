// The ALUs after the accumulators, a lane each, with their registers: an operation a cycle, its
// result two cycles later. A lookup takes as long as it searches.
//
// An operation is kept for a cycle, then computed with the registers as the one before left them.
// Source 0 is the input, which was read from the accumulators; destination 0 is no register. The
// queue of results never fills: an operation comes to the accumulators' stage when the result
// before the last one has left.
//
// Source: the specification's 4.1 and 9.1.
module tcu_alu_array #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8,
    parameter int unsigned REGISTERS = 1,
    parameter int unsigned REGISTER_BITS = 1,
    parameter int unsigned TABLES = 0,
    parameter int unsigned TABLE_DEPTH = 128,
    parameter int unsigned INDEX_BITS = 7,
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
) (
    input logic clock,
    input logic reset,

    input logic                     load,
    input logic [REGISTER_BITS-1:0] load_table,
    input logic [   INDEX_BITS-1:0] load_index,
    input logic [  VECTOR_BITS-1:0] load_data,

    // Nothing is looked up; an operation may start.
    output logic idle,
    output logic ready,

    input logic                          start,
    input tcu_pkg::simd_op_e              start_op,
    input logic [2:0][REGISTER_BITS-1:0] start_codes,
    input logic [VECTOR_BITS-1:0]        start_input,

    output logic                   result_valid,
    input  logic                   result_ready,
    output logic [VECTOR_BITS-1:0] result_data
);

  logic busy, looks_up, found, ends, has_room;
  tcu_pkg::simd_op_e op;
  logic [2:0][REGISTER_BITS-1:0] codes;
  logic [VECTOR_BITS-1:0] taken, left_vector, right_vector, out, difference, result;
  logic [REGISTERS:0][VECTOR_BITS-1:0] looked_up;

  // Element 0 is the input's place, so that a source's code is its index.
  logic [REGISTERS:0][VECTOR_BITS-1:0] sources;
  logic [REGISTERS:0][VECTOR_BITS-1:0] registers;

  always_comb begin
    sources = registers;
    sources[0] = taken;
  end

  // A code beyond the last register reads zero and writes nothing.
  function automatic logic [VECTOR_BITS-1:0] pick(input logic [REGISTER_BITS-1:0] code,
                                                  input logic [REGISTERS:0][VECTOR_BITS-1:0] from);
    pick = '0;
    for (int unsigned i = 0; i <= REGISTERS; i++) if (code == REGISTER_BITS'(i)) pick = from[i];
  endfunction

  assign left_vector  = pick(codes[tcu_pkg::LEFT], sources);
  assign right_vector = pick(codes[tcu_pkg::RIGHT], sources);

  for (genvar lane = 0; lane < ARRAY_SIZE; lane++) begin : gen_lane
    tcu_alu_lane #(.SCALAR_BITS(SCALAR_BITS), .BINARY_POINT(BINARY_POINT)) alu (
        .op(op[3:0]),
        .left(left_vector[lane*SCALAR_BITS+:SCALAR_BITS]),
        .right(right_vector[lane*SCALAR_BITS+:SCALAR_BITS]),
        .out(out[lane*SCALAR_BITS+:SCALAR_BITS])
    );
  end

  // All operations but a lookup take a cycle.
  assign looks_up = busy && op == tcu_pkg::SIMD_LOOKUP && TABLES > 0;
  assign ends = busy && (!looks_up || found);
  assign ready = !looks_up || found;
  assign idle = !looks_up;
  assign result = looks_up ? difference : out;

  if (TABLES > 0) begin : gen_lookup
    tcu_lookup #(
        .ARRAY_SIZE (ARRAY_SIZE),
        .SCALAR_BITS(SCALAR_BITS),
        .TABLES     (TABLES),
        .DEPTH      (TABLE_DEPTH),
        .TABLE_BITS (REGISTER_BITS),
        .INDEX_BITS (INDEX_BITS)
    ) lookup (
        .clock, .reset,
        .load,
        .load_table,
        .load_index,
        .load_data,
        .search  (looks_up),
        .argument(left_vector),
        .found,
        .difference,
        .values  (looked_up[TABLES:1])
    );
  end else begin : gen_none
    logic unused;
    assign unused = ^{load, load_table, load_index, load_data, looked_up};
    assign found = 1'b0;
    assign difference = '0;
  end

  for (genvar k = 0; k <= REGISTERS; k++) begin : gen_looked_up
    if (k == 0 || k > TABLES) begin : gen_nothing
      assign looked_up[k] = '0;
    end
  end

  npu_queue #(.WIDTH(VECTOR_BITS)) results (
      .clock, .reset,
      .in_valid(ends), .in_ready(has_room), .in_data(result),
      .out_valid(result_valid), .out_ready(result_ready), .out_data(result_data)
  );

  always_ff @(posedge clock) begin
    if (ready) begin
      op    <= start_op;
      codes <= start_codes;
      taken <= start_input;
    end
    if (reset) begin
      busy <= 1'b0;
      for (int unsigned i = 0; i <= REGISTERS; i++) registers[i] <= '0;
    end else begin
      busy <= start || (busy && !ends);
      for (int unsigned i = 1; i <= REGISTERS; i++)
        if (ends && codes[tcu_pkg::DESTINATION] == REGISTER_BITS'(i)) registers[i] <= result;
      // Values go to the registers from the one after the destination on.
      for (int unsigned i = 1; i <= REGISTERS; i++)
        for (int unsigned k = 1; k <= TABLES; k++)
          if (looks_up && found && 32'(codes[tcu_pkg::DESTINATION]) + k == i)
            registers[i] <= looked_up[k];
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset && ends) result_has_room: assert (has_room);
  end
`endif

endmodule
