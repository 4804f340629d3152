// N x N processing elements and the row of biases above them: a result 2N-1 cycles after its row.
//
// Lane k of a row reaches element row k in cycle k; partial sums go down, from the bias through
// lane 0 to lane N-1; column j is j cycles late, which the delays at the bottom make up for. A row
// may enter every cycle.
//
// `reach` tells of how many rows of elements weights shift; then `weights` come in at the top,
// where the biases take them. With DOUBLE_WEIGHTS each element has two, and rows of weights enter
// while rows of a product do: column j shifts j cycles after column 0, and `exchange` reaches
// element (k, j) k + j cycles later, with the row that enters in the same cycle, so that the row
// after it finds the new weights.
//
// Source: the specification's 5.3, 9.1 and 9.4.
module tcu_systolic_array #(
    parameter int unsigned ARRAY_SIZE     = 8,
    parameter int unsigned SCALAR_BITS    = 16,
    parameter int unsigned BINARY_POINT   = 8,
    parameter bit          DOUBLE_WEIGHTS = 1'b0
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
  localparam int unsigned REACH_BITS = $clog2(ARRAY_SIZE + 1);

  logic [LATENCY-1:0] under_way;

  assign result_valid = under_way[LATENCY-1];

  always_ff @(posedge clock) begin
    if (reset) under_way <= '0;
    else under_way <= {under_way[LATENCY-2:0], row_valid};
  end

  // What is shifted in at the top, what was last, and the biases at work; rows of elements that
  // shift, by column; elements that exchange, by the sum of their row and column.
  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] shifted, loaded, biases;
  logic [ARRAY_SIZE-1:0][ARRAY_SIZE-1:0] loads;
  logic [LATENCY-1:0] exchanges;

  if (DOUBLE_WEIGHTS) begin : gen_double
    logic [LATENCY-2:0] exchanged;

    assign exchanges = {exchanged, exchange};

    always_ff @(posedge clock) begin
      if (reset) exchanged <= '0;
      else exchanged <= exchanges[LATENCY-2:0];
    end

    for (genvar j = 0; j < ARRAY_SIZE; j++) begin : gen_column
      logic [REACH_BITS-1:0] here;

      if (j == 0) begin : gen_first
        assign here = reach;
      end else begin : gen_inner
        always_ff @(posedge clock) begin
          if (reset) here <= '0;
          else here <= gen_column[j-1].here;
        end
      end

      for (genvar k = 0; k < ARRAY_SIZE; k++) begin : gen_row
        assign loads[j][k] = 32'(here) > k;
      end

      npu_delay #(.WIDTH(SCALAR_BITS), .CYCLES(j)) skew (
          .clock,
          .in(weights[j]),
          .out(shifted[j])
      );

      always_ff @(posedge clock) begin
        if (loads[j][0]) loaded[j] <= shifted[j];
        if (exchanges[j]) biases[j] <= loaded[j];
      end
    end
  end else begin : gen_single
    logic unused;

    assign unused = exchange;
    assign exchanges = '0;
    assign loads = {ARRAY_SIZE * ARRAY_SIZE{reach != '0}};
    assign shifted = weights;
    assign loaded = biases;

    always_ff @(posedge clock) begin
      if (reach != '0) biases <= shifted;
    end
  end

  for (genvar k = 0; k < ARRAY_SIZE; k++) begin : gen_row
    logic [SCALAR_BITS-1:0] lane;

    npu_delay #(.WIDTH(SCALAR_BITS), .CYCLES(k)) skew (
        .clock,
        .in(row[k]),
        .out(lane)
    );

    for (genvar j = 0; j < ARRAY_SIZE; j++) begin : gen_column
      // Inputs from the left and from above, and the element's own values.
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

      // Outputs at the right and bottom edge of the array are unused.
      if (j == ARRAY_SIZE - 1 || k == ARRAY_SIZE - 1) begin : gen_edge
        logic unused;
        assign unused = ^{x, weight};
      end

      tcu_processing_element #(
          .SCALAR_BITS   (SCALAR_BITS),
          .BINARY_POINT  (BINARY_POINT),
          .DOUBLE_WEIGHTS(DOUBLE_WEIGHTS)
      ) element (
          .clock,
          .load    (loads[j][k]),
          .exchange(exchanges[k+j]),
          .weight_in,
          .weight,
          .x_in,
          .x_out   (x),
          .sum_in,
          .sum_out (sum)
      );
    end

    npu_delay #(.WIDTH(SCALAR_BITS), .CYCLES(ARRAY_SIZE - 1 - k)) align (
        .clock,
        .in(gen_row[ARRAY_SIZE-1].gen_column[k].sum),
        .out(result[k])
    );
  end

endmodule
