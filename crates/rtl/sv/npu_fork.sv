// Passes one item to several ports, which may accept it in different cycles.
//
// The item is done in the cycle in which the last `wanted` port accepts it.
//
// Source: the TCU specification's 9.1, decoder: an instruction completes issue when all target
// ports have accepted their part.
module npu_fork #(
    parameter int unsigned PORTS = 2
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [PORTS-1:0] wanted,
    output logic [PORTS-1:0] out_valid,
    input  logic [PORTS-1:0] out_ready
);

  logic [PORTS-1:0] taken;

  assign out_valid = {PORTS{in_valid}} & wanted & ~taken;
  assign in_ready  = &(~wanted | taken | out_ready);

  always_ff @(posedge clock) begin
    if (reset) taken <= '0;
    else if (in_valid) taken <= in_ready ? '0 : taken | (out_valid & out_ready);
  end

endmodule
