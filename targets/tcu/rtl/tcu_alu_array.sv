// The ALUs after the accumulators, a lane each, with their registers: an operation a cycle, its
// result two cycles later.
//
// An operation is kept for a cycle, then computed with the registers as the one before left them.
// Source 0 is the input, which was read from the accumulators; destination 0 is no register. The
// queue of results never fills: an operation comes to the accumulators' stage when the result before
// the last one has left.
//
// Source: the specification's 4.1 and 9.1.
module tcu_alu_array #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8,
    parameter int unsigned REGISTERS = 1,
    parameter int unsigned REGISTER_BITS = 1,
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
) (
    input logic clock,
    input logic reset,

    input logic                     start,
    input logic [3:0]                 start_op,
    input logic [REGISTER_BITS-1:0] start_left,
    input logic [REGISTER_BITS-1:0] start_right,
    input logic [REGISTER_BITS-1:0] start_destination,
    input logic [  VECTOR_BITS-1:0] start_input,

    output logic                   result_valid,
    input  logic                   result_ready,
    output logic [VECTOR_BITS-1:0] result_data
);

  logic busy, unused_ready;
  logic [1:0] unused_count;
  logic [3:0] op;
  logic [REGISTER_BITS-1:0] left, right, destination;
  logic [VECTOR_BITS-1:0] taken, left_vector, right_vector, out;

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

  assign left_vector  = pick(left, sources);
  assign right_vector = pick(right, sources);

  for (genvar lane = 0; lane < ARRAY_SIZE; lane++) begin : gen_lane
    tcu_alu_lane #(
        .SCALAR_BITS (SCALAR_BITS),
        .BINARY_POINT(BINARY_POINT)
    ) alu (
        .op,
        .left (left_vector[lane*SCALAR_BITS+:SCALAR_BITS]),
        .right(right_vector[lane*SCALAR_BITS+:SCALAR_BITS]),
        .out  (out[lane*SCALAR_BITS+:SCALAR_BITS])
    );
  end

  tcu_queue #(
      .WIDTH(VECTOR_BITS)
  ) results (
      .clock,
      .reset,
      .in_valid (busy),
      .in_ready (unused_ready),
      .in_data  (out),
      .out_valid(result_valid),
      .out_ready(result_ready),
      .out_data (result_data),
      .count    (unused_count)
  );

  always_ff @(posedge clock) begin
    op          <= start_op;
    left        <= start_left;
    right       <= start_right;
    destination <= start_destination;
    taken       <= start_input;
    if (reset) begin
      busy <= 1'b0;
      for (int unsigned i = 0; i <= REGISTERS; i++) registers[i] <= '0;
    end else begin
      busy <= start;
      for (int unsigned i = 1; i <= REGISTERS; i++)
        if (busy && destination == REGISTER_BITS'(i)) registers[i] <= out;
    end
  end

endmodule
