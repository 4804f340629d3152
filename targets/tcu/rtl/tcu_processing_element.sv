// A multiplier of the array, with its weight and its outputs to the right and down.
//
// sum_out = saturate(round(x * weight + sum_in * 2^BINARY_POINT)): the exact sum is rounded half to
// even and saturated in every step. Both outputs are one cycle late. `load` shifts weights down.
// With DOUBLE_WEIGHTS, the weight in use is a separate register: `exchange` copies the shifted
// weight to it. The shifted weight also stays in its place, so that a later shift continues from
// there. If BINARY_POINT is 0, numbers are single precision, and the product is rounded before the
// sum.
//
// Source: the specification's 5.2 (mac), 5.3 (order) and 9.4 (weights).
module tcu_processing_element #(
    parameter int unsigned SCALAR_BITS    = 16,
    parameter int unsigned BINARY_POINT   = 8,
    parameter bit          DOUBLE_WEIGHTS = 1'b0
) (
    input  logic                          clock,
    input  logic                          load,
    input  logic                          exchange,
    input  logic signed [SCALAR_BITS-1:0] weight_in,
    output logic signed [SCALAR_BITS-1:0] weight,
    input  logic signed [SCALAR_BITS-1:0] x_in,
    output logic signed [SCALAR_BITS-1:0] x_out,
    input  logic signed [SCALAR_BITS-1:0] sum_in,
    output logic signed [SCALAR_BITS-1:0] sum_out
);

  logic signed [SCALAR_BITS-1:0] at_work, rounded;

  if (DOUBLE_WEIGHTS) begin : gen_double
    always_ff @(posedge clock) begin
      if (exchange) at_work <= weight;
    end
  end else begin : gen_single
    logic unused;

    assign unused = exchange;
    assign at_work = weight;
  end

  if (BINARY_POINT == 0) begin : gen_float
    assign rounded = tcu_float::add(tcu_float::multiply(x_in, at_work), sum_in);
  end else begin : gen_fixed
    localparam int unsigned WIDE_BITS = 2 * SCALAR_BITS + 1;

    tcu_rounding #(
        .WIDE_BITS(WIDE_BITS), .SCALAR_BITS(SCALAR_BITS), .BINARY_POINT(BINARY_POINT)
    ) rounding (
        .exact(WIDE_BITS'(x_in) * WIDE_BITS'(at_work) + (WIDE_BITS'(sum_in) <<< BINARY_POINT)),
        .rounded
    );
  end

  always_ff @(posedge clock) begin
    if (load) weight <= weight_in;
    x_out   <= x_in;
    sum_out <= rounded;
  end

endmodule
