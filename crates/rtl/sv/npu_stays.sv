// Checks, in simulations and proofs, that an offered item stays unchanged until it is accepted.
//
// The module must be between `ifndef SYNTHESIS and `endif. It drives no signal.
module npu_stays #(
    parameter int unsigned WIDTH = 1
) (
    input logic             clock,
    input logic             reset,
    input logic             valid,
    input logic             ready,
    input logic [WIDTH-1:0] data
);

  logic waited;
  logic [WIDTH-1:0] offered;

  always_ff @(posedge clock) begin
    waited <= valid && !ready && !reset;
    offered <= data;
    if (waited && !reset) begin
      valid_stays: assert (valid);
      data_stays: assert (data == offered);
    end
  end

endmodule
