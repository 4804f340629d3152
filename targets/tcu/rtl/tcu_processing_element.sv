// A multiplier of the array: its weight, and what goes right and down from it.
//
// sum_out = saturate(round(x * weight + sum_in * 2^BINARY_POINT)): the exact sum, rounded half to
// even and saturated in every step. Both outputs are one cycle late. `load` shifts weights down.
//
// Source: the specification's 5.2 (mac), 5.3 (order) and 9.4 (weights).
module tcu_processing_element #(
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic                          clock,
    input  logic                          load,
    input  logic signed [SCALAR_BITS-1:0] weight_in,
    output logic signed [SCALAR_BITS-1:0] weight,
    input  logic signed [SCALAR_BITS-1:0] x_in,
    output logic signed [SCALAR_BITS-1:0] x_out,
    input  logic signed [SCALAR_BITS-1:0] sum_in,
    output logic signed [SCALAR_BITS-1:0] sum_out
);

  localparam int unsigned WIDE_BITS = 2 * SCALAR_BITS + 1;

  logic signed [WIDE_BITS-1:0] exact;
  logic signed [SCALAR_BITS-1:0] rounded;

  assign exact = WIDE_BITS'(x_in) * WIDE_BITS'(weight) + (WIDE_BITS'(sum_in) <<< BINARY_POINT);

  tcu_rounding #(
      .WIDE_BITS   (WIDE_BITS),
      .SCALAR_BITS (SCALAR_BITS),
      .BINARY_POINT(BINARY_POINT)
  ) rounding (
      .exact,
      .rounded
  );

  always_ff @(posedge clock) begin
    if (load) weight <= weight_in;
    x_out   <= x_in;
    sum_out <= rounded;
  end

endmodule
