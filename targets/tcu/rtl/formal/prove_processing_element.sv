// A processing element is `mac` of the literal definition, a cycle late, for all inputs and weights; what
// it hands right is its input, what it hands down its weight.
module prove_processing_element #(
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input logic                          clock,
    input logic                          load,
    input logic signed [SCALAR_BITS-1:0] weight_in,
    input logic signed [SCALAR_BITS-1:0] x_in,
    input logic signed [SCALAR_BITS-1:0] sum_in
);

  logic signed [SCALAR_BITS-1:0] weight, x_out, sum_out;

  tcu_processing_element #(
      .SCALAR_BITS (SCALAR_BITS),
      .BINARY_POINT(BINARY_POINT)
  ) element (
      .*
  );

  logic started = 1'b0;
  logic signed [SCALAR_BITS-1:0] wanted_sum, wanted_x, wanted_weight;

  always_ff @(posedge clock) begin
    started       <= 1'b1;
    wanted_sum    <= SCALAR_BITS'(tcu_literal::mac(72'(x_in) * 72'(weight), 72'(sum_in), SCALAR_BITS, BINARY_POINT));
    wanted_x      <= x_in;
    wanted_weight <= load ? weight_in : weight;
  end

  always_comb begin
    if (started) begin
      sums:    assert (sum_out == wanted_sum);
      inputs:  assert (x_out == wanted_x);
      weights: assert (weight == wanted_weight);
    end
  end

endmodule
