// Checks that what is offered stays as it is until it is taken, in simulations and proofs.
//
// It stands between `ifndef SYNTHESIS and `endif, and drives nothing.
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
