// N x N processing elements and the row of biases above them: a result 2N-1 cycles after its row.
//
// Lane k of a row reaches element row k in cycle k; partial sums go down, from the bias through lane
// 0 to lane N-1; column j is j cycles late, which the delays at the bottom make up for. A row may
// enter every cycle. `load` shifts a row of weights in at the top: the biases take it.
//
// Source: the specification's 5.3, 9.1 and 9.4.
module tcu_systolic_array #(
    parameter int unsigned ARRAY_SIZE   = 8,
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic                                    clock,
    input  logic                                    reset,
    input  logic                                    load,
    input  logic                                    row_valid,
    input  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] row,
    output logic                                    result_valid,
    output logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] result
);

  localparam int unsigned LATENCY = 2 * ARRAY_SIZE - 1;

  // x[k][j] and sums[k][j] enter the element of row k and column j, from the left and from above.
  logic [ARRAY_SIZE:0][SCALAR_BITS-1:0] x[ARRAY_SIZE];
  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] sums[ARRAY_SIZE+1];
  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] weights[ARRAY_SIZE+1];
  logic [LATENCY-1:0] under_way;

  always_ff @(posedge clock) begin
    if (load) weights[0] <= row;
    if (reset) under_way <= '0;
    else under_way <= {under_way[LATENCY-2:0], row_valid};
  end

  // The biases are weights[0]: they enter the columns as the sums above the first row.
  assign sums[0] = weights[0];
  assign result_valid = under_way[LATENCY-1];

  for (genvar k = 0; k < ARRAY_SIZE; k++) begin : gen_row
    tcu_delay #(
        .WIDTH (SCALAR_BITS),
        .CYCLES(k)
    ) skew (
        .clock,
        .in (row[k]),
        .out(x[k][0])
    );

    for (genvar j = 0; j < ARRAY_SIZE; j++) begin : gen_column
      tcu_processing_element #(
          .SCALAR_BITS (SCALAR_BITS),
          .BINARY_POINT(BINARY_POINT)
      ) element (
          .clock,
          .load,
          .weight_in(weights[k][j]),
          .weight   (weights[k+1][j]),
          .x_in     (x[k][j]),
          .x_out    (x[k][j+1]),
          .sum_in   (sums[k][j]),
          .sum_out  (sums[k+1][j])
      );
    end

    tcu_delay #(
        .WIDTH (SCALAR_BITS),
        .CYCLES(ARRAY_SIZE - 1 - k)
    ) align (
        .clock,
        .in (sums[ARRAY_SIZE][k]),
        .out(result[k])
    );
  end

endmodule
