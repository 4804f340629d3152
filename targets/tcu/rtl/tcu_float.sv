// Single-precision sums and products of IEEE 754, rounded to nearest even, with subnormal numbers.
//
// The logic is combinational and intended for simulation. Its speed in an FPGA has not been
// measured. A NaN result is always 32'h7fc00000.
//
// Source: the specification's 5.2 (FLOAT32: two roundings, comparisons of IEEE).
package tcu_float;

  localparam logic [31:0] ONE = 32'h3f800000;
  localparam logic [31:0] QUIET_NAN = 32'h7fc00000;
  localparam logic [30:0] INFINITE = 31'h7f800000;

  // The argument is a number without its sign.
  function automatic logic is_nan(input logic [30:0] x);
    is_nan = x > INFINITE;
  endfunction

  // The fraction with the hidden bit in front of it.
  function automatic logic [23:0] significand(input logic [30:0] x);
    significand = {x[30:23] != '0, x[22:0]};
  endfunction

  // The exponent field. Subnormal numbers use the exponent of the smallest normal numbers.
  function automatic logic signed [11:0] exponent(input logic [7:0] field);
    exponent = field == '0 ? 12'sd1 : $signed({4'b0, field});
  endfunction

  // Returns `magnitude` * 2^(top - 127 - 47), rounded. `top` is the exponent field of the result if
  // the highest bit of `magnitude` is set. The lowest bit of `magnitude` is set if any lower bits
  // were cut off.
  function automatic logic [31:0] rounded(input logic sign, input logic signed [11:0] top, input logic [47:0] magnitude);
    logic [47:0] bits, low;
    logic signed [11:0] field;
    logic [30:0] cut;
    bits = magnitude;
    field = top;
    // Shifts left as far as possible while the exponent stays in the range of normal numbers.
    for (int unsigned step = 0; step < 6; step++) begin
      if (bits >> (48 - (32 >> step)) == '0 && field > 12'sd32 >>> step) begin
        bits = bits << (32 >> step);
        field = field - (12'sd32 >>> step);
      end
    end
    if (field < 12'sd1) begin
      low = field < -12'sd46 ? bits : bits << 6'(12'sd47 + field);
      bits = field < -12'sd46 ? '0 : bits >> 6'(12'sd1 - field);
      bits[0] = bits[0] || low != '0;
      field = 12'sd1;
    end
    cut = {bits[47] ? field[7:0] : 8'd0, bits[46:24]};
    // A carry out of the fraction increments the exponent.
    if (bits[23] && (bits[24] || bits[22:0] != '0)) cut = cut + 31'd1;
    if (field >= 12'sd255) cut = INFINITE;
    rounded = {sign, cut};
  endfunction

  function automatic logic [31:0] multiply(input logic [31:0] a, input logic [31:0] b);
    logic sign;
    sign = a[31] ^ b[31];
    if (is_nan(a[30:0]) || is_nan(b[30:0])) multiply = QUIET_NAN;
    else if (a[30:0] == INFINITE || b[30:0] == INFINITE)
      multiply = a[30:0] == '0 || b[30:0] == '0 ? QUIET_NAN : {sign, INFINITE};
    else multiply = rounded(sign, exponent(a[30:23]) + exponent(b[30:23]) - 12'sd126, 48'(significand(a[30:0])) * 48'(significand(b[30:0])));
  endfunction

  function automatic logic [31:0] add(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] big, little;
    logic [47:0] aligned, total;
    logic [11:0] shift;
    {big, little} = a[30:0] >= b[30:0] ? {a, b} : {b, a};
    shift = exponent(big[30:23]) - exponent(little[30:23]);
    total = {1'b0, significand(big[30:0]), 23'd0};
    aligned = {1'b0, significand(little[30:0]), 23'd0};
    if (shift > 12'd47) aligned = 48'(significand(little[30:0]) != '0);
    else begin
      aligned = aligned >> shift;
      aligned[0] = aligned[0] || aligned << shift != {1'b0, significand(little[30:0]), 23'd0};
    end
    total = big[31] == little[31] ? total + aligned : total - aligned;
    if (is_nan(a[30:0]) || is_nan(b[30:0])) add = QUIET_NAN;
    else if (big[30:0] == INFINITE) add = little[30:0] == INFINITE && big[31] != little[31] ? QUIET_NAN : big;
    else if (total == '0) add = {a[31] && b[31], 31'd0};
    else add = rounded(big[31], exponent(big[30:23]) + 12'sd1, total);
  endfunction

  // Returns whether a < b. The result is false if either number is NaN.
  function automatic logic less(input logic [31:0] a, input logic [31:0] b);
    logic is_less;
    is_less = a[31] != b[31] ? a[31] : a[31] ? b[30:0] < a[30:0] : a[30:0] < b[30:0];
    less = is_less && !(a[30:0] == '0 && b[30:0] == '0) && !is_nan(a[30:0]) && !is_nan(b[30:0]);
  endfunction

endpackage
