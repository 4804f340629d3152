// The elements of the array with two weights each: rows of weights enter while rows of a product do.
//
// As tcu_systolic_array, but for this: column j shifts its weights j cycles after column 0, and
// `exchange` reaches element (k, j) k + j cycles later, with the row that enters in the same cycle. So
// the row after it finds the new weights. Of a column the first `reach` elements shift: those that the
// last `exchange` has reached.
//
// Source: the specification's 5.3, 9.1 and 9.4.
module tcu_doubled_array #(
    parameter int unsigned ARRAY_SIZE   = 8,
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic                                    clock,
    input  logic                                    reset,
    input  logic [$clog2(ARRAY_SIZE + 1)-1:0]       reach,
    input  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] weights,
    input  logic                                    exchange,
    input  logic                                    row_valid,
    input  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] row,
    output logic                                    result_valid,
    output logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] result
);

  localparam int unsigned LATENCY = 2 * ARRAY_SIZE - 1;

  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] shifted, loaded, biases;
  logic [LATENCY-1:0] under_way, exchanges;
  logic [LATENCY-2:0] exchanged;
  logic [ARRAY_SIZE-1:0][$clog2(ARRAY_SIZE + 1)-1:0] reaches;
  logic [ARRAY_SIZE-2:0][$clog2(ARRAY_SIZE + 1)-1:0] reached;

  assign result_valid = under_way[LATENCY-1];
  assign exchanges = {exchanged, exchange};
  assign reaches = {reached, reach};

  always_ff @(posedge clock) begin
    if (reset) begin
      under_way <= '0;
      exchanged <= '0;
      reached   <= '0;
    end else begin
      under_way <= {under_way[LATENCY-2:0], row_valid};
      exchanged <= exchanges[LATENCY-2:0];
      reached   <= reaches[ARRAY_SIZE-2:0];
    end
    for (int unsigned j = 0; j < ARRAY_SIZE; j++) begin
      if (reaches[j] != '0) loaded[j] <= shifted[j];
      if (exchanges[j]) biases[j] <= loaded[j];
    end
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

    tcu_delay #(
        .WIDTH (SCALAR_BITS),
        .CYCLES(k)
    ) weights_skew (
        .clock,
        .in (weights[k]),
        .out(shifted[k])
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
        assign weight_in = loaded[j];
      end else begin : gen_below
        assign sum_in = gen_row[k-1].gen_column[j].sum;
        assign weight_in = gen_row[k-1].gen_column[j].weight;
      end

      // What leaves the array on the right and below goes nowhere.
      if (j == ARRAY_SIZE - 1 || k == ARRAY_SIZE - 1) begin : gen_edge
        logic unused;
        assign unused = ^{x, weight};
      end

      tcu_doubled_element #(
          .SCALAR_BITS (SCALAR_BITS),
          .BINARY_POINT(BINARY_POINT)
      ) element (
          .clock,
          .load    (32'(reaches[j]) > k),
          .exchange(exchanges[k+j]),
          .weight_in,
          .weight,
          .x_in,
          .x_out   (x),
          .sum_in,
          .sum_out (sum)
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
