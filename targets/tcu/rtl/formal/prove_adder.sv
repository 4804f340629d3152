// Proves for all inputs that the accumulators' adder equals the literal saturating sum.
module prove_adder #(
    parameter int unsigned SCALAR_BITS = 16
) (
    input logic                          clock,
    input logic signed [SCALAR_BITS-1:0] left,
    input logic signed [SCALAR_BITS-1:0] right
);

  logic signed [SCALAR_BITS-1:0] sum, wanted;

  tcu_adder #(
      .SCALAR_BITS(SCALAR_BITS)
  ) adder (
      .left, .right, .sum
  );

  assign wanted = SCALAR_BITS'(tcu_literal::saturate(72'(left) + 72'(right), SCALAR_BITS));

  always_comb sums: assert (sum == wanted);

endmodule
