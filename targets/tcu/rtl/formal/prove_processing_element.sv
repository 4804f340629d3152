// Proves for all inputs and weights that a processing element computes `mac` of the literal
// definition, one cycle late. Its right output is its input, and its lower output is its weight.
// With two weights, the weight in use is the other weight at the time of the last exchange.
module prove_processing_element #(
    parameter int unsigned SCALAR_BITS    = 16,
    parameter int unsigned BINARY_POINT   = 8,
    parameter bit          DOUBLE_WEIGHTS = 1'b0
) (
    input logic                          clock,
    input logic                          load,
    input logic                          exchange,
    input logic signed [SCALAR_BITS-1:0] weight_in,
    input logic signed [SCALAR_BITS-1:0] x_in,
    input logic signed [SCALAR_BITS-1:0] sum_in
);

  logic signed [SCALAR_BITS-1:0] weight, x_out, sum_out;

  tcu_processing_element #(
      .SCALAR_BITS   (SCALAR_BITS),
      .BINARY_POINT  (BINARY_POINT),
      .DOUBLE_WEIGHTS(DOUBLE_WEIGHTS)
  ) element (
      .clock, .load, .exchange,
      .weight_in, .weight,
      .x_in, .x_out,
      .sum_in, .sum_out
  );

  logic started = 1'b0;
  // Whether the weight in use is known now, and whether it was known with the last inputs.
  logic is_known = !DOUBLE_WEIGHTS, was_known = 1'b0;
  logic signed [SCALAR_BITS-1:0] exchanged, at_work, wanted_sum, wanted_x, wanted_weight;

  assign at_work = DOUBLE_WEIGHTS ? exchanged : weight;

  always_ff @(posedge clock) begin
    started       <= 1'b1;
    was_known     <= is_known;
    wanted_sum    <= SCALAR_BITS'(tcu_literal::mac(72'(x_in) * 72'(at_work), 72'(sum_in), SCALAR_BITS, BINARY_POINT));
    wanted_x      <= x_in;
    wanted_weight <= load ? weight_in : weight;
    if (exchange) begin
      is_known  <= 1'b1;
      exchanged <= weight;
    end
  end

  always_comb begin
    if (was_known) begin
      sums: assert (sum_out == wanted_sum);
    end
    if (started) begin
      inputs:  assert (x_out == wanted_x);
      weights: assert (weight == wanted_weight);
    end
  end

endmodule
