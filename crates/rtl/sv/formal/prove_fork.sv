// Proves that a fork passes its item to each wanted port exactly once before the item is done, and
// to no other port. It waits only for wanted ports that are not ready.
module prove_fork #(
    parameter int unsigned PORTS = 3
) (
    input logic             clock,
    input logic             in_valid,
    input logic [PORTS-1:0] wanted,
    input logic [PORTS-1:0] out_ready
);

  logic reset = 1'b1;
  logic in_ready;
  logic [PORTS-1:0] out_valid;

  always_ff @(posedge clock) reset <= 1'b0;

  npu_fork #(
      .PORTS(PORTS)
  ) split (
      .clock, .reset,
      .in_valid, .in_ready,
      .wanted,
      .out_valid, .out_ready
  );

  logic [PORTS-1:0] given = '0;
  logic [PORTS-1:0] before;
  logic waited = 1'b0;
  logic done;

  assign done = in_valid && in_ready;

  always_ff @(posedge clock) begin
    waited <= in_valid && !in_ready && !reset;
    before <= wanted;
    if (!reset && in_valid) given <= done ? '0 : given | (out_valid & out_ready);
  end

  always_comb begin
    // An offered item stays until it is accepted.
    if (waited) assume (in_valid && wanted == before);
    if (!reset) begin
      no_other:  assert ((out_valid & ~wanted) == '0 && (in_valid || out_valid == '0));
      no_twice:  assert ((out_valid & given) == '0);
      nobody_missed: assert (!done || (wanted & ~(given | (out_valid & out_ready))) == '0);
      waits_for_some: assert (!in_valid || in_ready || (out_valid & ~out_ready) != '0);
    end
  end

  (* hierconn *) wire [PORTS-1:0] \split.taken ;

  always_comb begin
    if (!reset) begin
      known: assert (\split.taken == given);
      apart: assert (waited || given == '0);
    end
  end

endmodule
