// The literal definition as a module. A simulator compares it with `npukit-numeric`; operation 16
// is `mac`. Single precision has no definition other than the circuit's, so the circuit's is used
// here.
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

  if (BINARY_POINT == 0) begin : gen_float
    logic signed [31:0] computed;

    tcu_alu_lane #(.SCALAR_BITS(32), .BINARY_POINT(0)) lane (
        .op(op[3:0]),
        .left,
        .right,
        .out(computed)
    );

    assign out = op[4] ? tcu_float::add(tcu_float::multiply(left, right), addend) : computed;
  end else begin : gen_fixed
    tcu_literal::exact_t product;

    assign product = 72'(left) * 72'(right);

    always_comb begin
      if (op[4]) out = 32'(tcu_literal::mac(product, 72'(addend), SCALAR_BITS, BINARY_POINT));
      else out = 32'(tcu_literal::operation(op[3:0], 72'(left), 72'(right), product, SCALAR_BITS, BINARY_POINT));
    end
  end

endmodule
