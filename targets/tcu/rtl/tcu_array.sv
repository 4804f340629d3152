// The array with its queues: instructions become rows, rows enter one a cycle, in order.
//
// A row of a product enters only while the accumulators take a result, be it that of a row before.
// Results wait in a queue when the accumulators do not take them; since no row enters meanwhile, it
// never holds more than are under way. A row of weights waits until all results are out.
//
// Source: the specification's 9.1 and 9.4, and its notes on rows and the accumulators' readiness.
module tcu_array #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8,
    parameter int unsigned SIZE_BITS = 13,
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
) (
    input logic clock,
    input logic reset,

    input  logic                 run_valid,
    output logic                 run_ready,
    input  logic                 run_load,
    input  logic                 run_zeroes,
    input  logic [SIZE_BITS-1:0] run_size,
    output logic                 step_valid,
    output logic                 step_ready,

    input  logic                   row_valid,
    output logic                   row_ready,
    input  logic [VECTOR_BITS-1:0] row_data,
    output logic                   result_valid,
    input  logic                   result_ready,
    output logic [VECTOR_BITS-1:0] result_data,
    output logic                   loads
);

  localparam int unsigned QUEUE_DEPTH = 2 * ARRAY_SIZE;
  localparam int unsigned LATENCY = 2 * ARRAY_SIZE - 1;
  localparam int unsigned COUNT_BITS = $clog2(QUEUE_DEPTH + 1);

  // Instructions, expanded to rows.
  logic load, zeroes, is_last;
  logic [SIZE_BITS-1:0] size, index;
  logic [COUNT_BITS-1:0] unused_instructions, unused_results;

  tcu_queue #(
      .WIDTH(2 + SIZE_BITS),
      .DEPTH(QUEUE_DEPTH),
      .FLOW (1'b1),
      .PIPE (1'b1)
  ) instructions (
      .clock,
      .reset,
      .in_valid (run_valid),
      .in_ready (run_ready),
      .in_data  ({run_load, run_zeroes, run_size}),
      .out_valid(step_valid),
      .out_ready(step_ready && is_last),
      .out_data ({load, zeroes, size}),
      .count    (unused_instructions)
  );

  assign is_last = index == size;

  always_ff @(posedge clock) begin
    if (reset) index <= '0;
    else if (step_valid && step_ready) index <= is_last ? '0 : index + 1'b1;
  end

  // Rows.
  logic control_valid, is_load, is_zero, enters, is_ready;
  logic [1:0] unused_rows;
  logic [VECTOR_BITS-1:0] row;
  logic [COUNT_BITS-1:0] draining;

  tcu_queue #(
      .WIDTH(2)
  ) rows (
      .clock,
      .reset,
      .in_valid (step_valid),
      .in_ready (step_ready),
      .in_data  ({load, zeroes}),
      .out_valid(control_valid),
      .out_ready(enters),
      .out_data ({is_load, is_zero}),
      .count    (unused_rows)
  );

  assign is_ready = control_valid && (is_load ? draining == '0 : result_ready);
  assign enters = is_ready && (is_zero || row_valid);
  assign row_ready = is_ready && !is_zero;
  assign row = is_zero ? '0 : row_data;
  assign loads = enters && is_load;

  always_ff @(posedge clock) begin
    if (reset) draining <= '0;
    else if (enters && !is_load) draining <= COUNT_BITS'(LATENCY);
    else if (draining != '0) draining <= draining - 1'b1;
  end

  // Results.
  logic computed_valid, unused_ready;
  logic [VECTOR_BITS-1:0] computed;

  tcu_systolic_array #(
      .ARRAY_SIZE  (ARRAY_SIZE),
      .SCALAR_BITS (SCALAR_BITS),
      .BINARY_POINT(BINARY_POINT)
  ) elements (
      .clock,
      .reset,
      .load        (loads),
      .row_valid   (enters && !is_load),
      .row         (row),
      .result_valid(computed_valid),
      .result      (computed)
  );

  tcu_queue #(
      .WIDTH(VECTOR_BITS),
      .DEPTH(QUEUE_DEPTH),
      .FLOW (1'b1)
  ) results (
      .clock,
      .reset,
      .in_valid (computed_valid),
      .in_ready (unused_ready),
      .in_data  (computed),
      .out_valid(result_valid),
      .out_ready(result_ready),
      .out_data (result_data),
      .count    (unused_results)
  );

endmodule
