// The literal definition as a module, for a simulator to hold against `npukit-numeric`: operation 16 is `mac`.
module literal_bench #(
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic        [ 4:0] op,
    input  logic signed [31:0] left,
    input  logic signed [31:0] right,
    input  logic signed [31:0] addend,
    output logic signed [31:0] out
);

  tcu_literal::exact_t product;

  assign product = 72'(left) * 72'(right);

  always_comb begin
    if (op[4]) out = 32'(tcu_literal::mac(product, 72'(addend), SCALAR_BITS, BINARY_POINT));
    else out = 32'(tcu_literal::operation(op[3:0], 72'(left), 72'(right), product, SCALAR_BITS, BINARY_POINT));
  end

endmodule
