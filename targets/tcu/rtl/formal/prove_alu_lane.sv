// Proves for all operations and operands that an ALU lane equals the literal definition.
module prove_alu_lane #(
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input logic                          clock,
    input logic        [            3:0] op,
    input logic signed [SCALAR_BITS-1:0] left,
    input logic signed [SCALAR_BITS-1:0] right
);

  logic signed [SCALAR_BITS-1:0] out, wanted;

  tcu_alu_lane #(
      .SCALAR_BITS (SCALAR_BITS),
      .BINARY_POINT(BINARY_POINT)
  ) lane (
      .op, .left, .right, .out
  );

  assign wanted = SCALAR_BITS'(tcu_literal::operation(
      op, 72'(left), 72'(right), 72'(left) * 72'(right), SCALAR_BITS, BINARY_POINT
  ));

  always_comb operations: assert (out == wanted);

endmodule
