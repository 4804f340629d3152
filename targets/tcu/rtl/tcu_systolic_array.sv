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

  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] biases;
  logic [LATENCY-1:0] under_way;

  assign result_valid = under_way[LATENCY-1];

  always_ff @(posedge clock) begin
    if (load) biases <= row;
    if (reset) under_way <= '0;
    else under_way <= {under_way[LATENCY-2:0], row_valid};
  end

  for (genvar k = 0; k < ARRAY_SIZE; k++) begin : gen_row
    logic [SCALAR_BITS-1:0] lane;

    tcu_delay #(
        .WIDTH (SCALAR_BITS),
        .CYCLES(k)
    ) skew (
        .clock,
        .in (row[k]),
        .out(lane)
    );

    for (genvar j = 0; j < ARRAY_SIZE; j++) begin : gen_column
      // What comes from the left and from above, and the element's own.
      logic signed [SCALAR_BITS-1:0] x_in, sum_in, weight_in, x, sum, weight;

      if (j == 0) begin : gen_first
        assign x_in = lane;
      end else begin : gen_inner
        assign x_in = gen_row[k].gen_column[j-1].x;
      end

      if (k == 0) begin : gen_top
        assign sum_in = biases[j];
        assign weight_in = biases[j];
      end else begin : gen_below
        assign sum_in = gen_row[k-1].gen_column[j].sum;
        assign weight_in = gen_row[k-1].gen_column[j].weight;
      end

      // What leaves the array on the right and below goes nowhere.
      if (j == ARRAY_SIZE - 1 || k == ARRAY_SIZE - 1) begin : gen_edge
        logic unused;
        assign unused = ^{x, weight};
      end

      tcu_processing_element #(
          .SCALAR_BITS (SCALAR_BITS),
          .BINARY_POINT(BINARY_POINT)
      ) element (
          .clock,
          .load,
          .weight_in,
          .weight,
          .x_in,
          .x_out  (x),
          .sum_in,
          .sum_out(sum)
      );
    end

    tcu_delay #(
        .WIDTH (SCALAR_BITS),
        .CYCLES(ARRAY_SIZE - 1 - k)
    ) align (
        .clock,
        .in (gen_row[ARRAY_SIZE-1].gen_column[k].sum),
        .out(result[k])
    );
  end

endmodule
