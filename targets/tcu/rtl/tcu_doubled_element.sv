// A multiplier of the array with two weights: the one at work, and the one that is loaded beside it.
//
// `exchange` puts the loaded one to work, and leaves it where it was loaded too, so that a later shift
// goes on from there. The rest is tcu_processing_element's.
//
// Source: the specification's 5.2 (mac), 5.3 (order) and 9.4 (weights).
module tcu_doubled_element #(
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic                          clock,
    input  logic                          load,
    input  logic                          exchange,
    input  logic signed [SCALAR_BITS-1:0] weight_in,
    output logic signed [SCALAR_BITS-1:0] weight,
    input  logic signed [SCALAR_BITS-1:0] x_in,
    output logic signed [SCALAR_BITS-1:0] x_out,
    input  logic signed [SCALAR_BITS-1:0] sum_in,
    output logic signed [SCALAR_BITS-1:0] sum_out
);

  logic signed [SCALAR_BITS-1:0] at_work;

  always_ff @(posedge clock) begin
    if (load) weight <= weight_in;
  end

  tcu_processing_element #(
      .SCALAR_BITS (SCALAR_BITS),
      .BINARY_POINT(BINARY_POINT)
  ) element (
      .clock,
      .load     (exchange),
      .weight_in(weight),
      .weight   (at_work),
      .x_in,
      .x_out,
      .sum_in,
      .sum_out
  );

  logic unused;
  assign unused = ^at_work;

endmodule
