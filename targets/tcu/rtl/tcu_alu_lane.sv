// One lane of the ALUs: an operation on two scalars, without delay.
//
// Sums, differences and products saturate, products are rounded half to even; of the most negative
// value Abs is that value, as negation wraps. With a BINARY_POINT of 0 numbers are of single
// precision.
//
// Source: the specification's 4.1 and 5.2.
module tcu_alu_lane #(
    parameter int unsigned SCALAR_BITS  = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic [3:0]                      op,
    input  logic signed [SCALAR_BITS-1:0] left,
    input  logic signed [SCALAR_BITS-1:0] right,
    output logic signed [SCALAR_BITS-1:0] out
);

  // Lookups are elsewhere.
  logic [4:0] operation;
  assign operation = {1'b0, op};

  localparam logic signed [SCALAR_BITS-1:0] ONE =
      BINARY_POINT == 0 ? SCALAR_BITS'(tcu_float::ONE) : SCALAR_BITS'(1) << BINARY_POINT;

  logic signed [SCALAR_BITS-1:0] addend, total, product, magnitude;
  logic subtracts, left_set, right_set, less, greater, ordered;

  // One adder: the second operand is 1 or the right source, subtracted or not.
  assign subtracts = operation == tcu_pkg::SIMD_DECREMENT || operation == tcu_pkg::SIMD_SUBTRACT;
  assign addend = operation == tcu_pkg::SIMD_INCREMENT || operation == tcu_pkg::SIMD_DECREMENT
      ? ONE : right;

  if (BINARY_POINT == 0) begin : gen_float
    assign total = tcu_float::add(left, {addend[SCALAR_BITS-1] ^ subtracts, addend[SCALAR_BITS-2:0]});
    assign product = tcu_float::multiply(left, right);
    assign magnitude = {1'b0, left[SCALAR_BITS-2:0]};
    assign left_set = left[SCALAR_BITS-2:0] != '0;
    assign right_set = right[SCALAR_BITS-2:0] != '0;
    assign less = tcu_float::less(left, right);
    assign greater = tcu_float::less(right, left);
    assign ordered = !tcu_float::is_nan(left[SCALAR_BITS-2:0])
        && !tcu_float::is_nan(right[SCALAR_BITS-2:0]);
  end else begin : gen_fixed
    localparam int unsigned WIDE_BITS = 2 * SCALAR_BITS;

    logic signed [SCALAR_BITS:0] sum;

    always_comb begin
      if (subtracts) sum = (SCALAR_BITS + 1)'(left) - (SCALAR_BITS + 1)'(addend);
      else sum = (SCALAR_BITS + 1)'(left) + (SCALAR_BITS + 1)'(addend);
      total = sum[SCALAR_BITS-1:0];
      if (sum[SCALAR_BITS] != sum[SCALAR_BITS-1])
        total = {sum[SCALAR_BITS], {(SCALAR_BITS - 1) {!sum[SCALAR_BITS]}}};
    end

    tcu_rounding #(
        .WIDE_BITS(WIDE_BITS), .SCALAR_BITS(SCALAR_BITS), .BINARY_POINT(BINARY_POINT)
    ) rounding (
        .exact(WIDE_BITS'(left) * WIDE_BITS'(right)),
        .rounded(product)
    );

    assign magnitude = left < 0 ? -left : left;
    assign left_set = left != '0;
    assign right_set = right != '0;
    assign less = left < right;
    assign greater = left > right;
    assign ordered = 1'b1;
  end

  always_comb begin
    case (operation)
      tcu_pkg::SIMD_NOOP, tcu_pkg::SIMD_MOVE: out = left;
      tcu_pkg::SIMD_ZERO: out = '0;
      tcu_pkg::SIMD_NOT: out = left_set ? '0 : ONE;
      tcu_pkg::SIMD_AND: out = left_set && right_set ? ONE : '0;
      tcu_pkg::SIMD_OR: out = left_set || right_set ? ONE : '0;
      tcu_pkg::SIMD_INCREMENT, tcu_pkg::SIMD_DECREMENT, tcu_pkg::SIMD_ADD, tcu_pkg::SIMD_SUBTRACT:
      out = total;
      tcu_pkg::SIMD_MULTIPLY: out = product;
      tcu_pkg::SIMD_ABS: out = magnitude;
      tcu_pkg::SIMD_GREATER: out = greater ? ONE : '0;
      tcu_pkg::SIMD_NOT_LESS: out = ordered && !less ? ONE : '0;
      tcu_pkg::SIMD_MIN: out = less ? left : right;
      default: out = greater ? left : right;  // the largest
    endcase
  end

endmodule
