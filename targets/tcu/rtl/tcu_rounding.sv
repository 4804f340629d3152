// Converts a wide fixed-point number with 2 * BINARY_POINT fraction bits to a scalar with
// BINARY_POINT fraction bits. It is rounded half to even and then saturated.
//
// Source: the specification's 5.2 (rne, sat).
module tcu_rounding #(
    parameter int unsigned WIDE_BITS = 33,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8
) (
    input  logic signed [  WIDE_BITS-1:0] exact,
    output logic signed [SCALAR_BITS-1:0] rounded
);

  // One bit more than remains after the shift, for the carry.
  localparam int unsigned WHOLE_BITS = WIDE_BITS - BINARY_POINT + 1;

  logic signed [WHOLE_BITS-1:0] whole, sum;
  logic half, rest, fits;

  assign whole = WHOLE_BITS'(signed'(exact[WIDE_BITS-1:BINARY_POINT]));
  assign half = exact[BINARY_POINT-1];
  assign rest = |exact[BINARY_POINT-2:0];
  assign sum = whole + WHOLE_BITS'(signed'({1'b0, half && (rest || whole[0])}));

  // The number fits if all bits above the scalar equal the scalar's sign.
  assign fits = sum[WHOLE_BITS-1:SCALAR_BITS-1] == {(WHOLE_BITS - SCALAR_BITS + 1) {sum[WHOLE_BITS-1]}};
  assign rounded = fits ? sum[SCALAR_BITS-1:0] : {sum[WHOLE_BITS-1], {(SCALAR_BITS - 1) {!sum[WHOLE_BITS-1]}}};

endmodule
