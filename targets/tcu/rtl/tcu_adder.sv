// Adds two numbers. The sum of fixed-point numbers saturates. If BINARY_POINT is 0, numbers are
// single precision.
//
// Source: the specification's 5.2 (add).
module tcu_adder #(
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic signed [SCALAR_BITS-1:0] left,
    input  logic signed [SCALAR_BITS-1:0] right,
    output logic signed [SCALAR_BITS-1:0] sum
);

  if (BINARY_POINT == 0) begin : gen_float
    assign sum = tcu_float::add(left, right);
  end else begin : gen_fixed
    logic signed [SCALAR_BITS:0] exact;
    logic fits;

    assign exact = (SCALAR_BITS + 1)'(left) + (SCALAR_BITS + 1)'(right);
    assign fits = exact[SCALAR_BITS] == exact[SCALAR_BITS-1];
    assign sum = fits ? exact[SCALAR_BITS-1:0] : {exact[SCALAR_BITS], {(SCALAR_BITS - 1) {!exact[SCALAR_BITS]}}};
  end

endmodule
