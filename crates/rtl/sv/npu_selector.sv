// Selects the source or destination of the vectors of each transfer.
//
// A transfer consists of a choice and a number of vectors minus one. `active` is high if there is a
// transfer, and `choice` is its choice. `passes` reports that a vector has been transferred. The
// queue accepts and outputs in the same cycle, so transfers follow each other without a gap.
//
// Source: the TCU specification's 9.1, host and local router control.
module npu_selector #(
    parameter int unsigned CHOICE_BITS = 1,
    parameter int unsigned SIZE_BITS = 13,
    parameter int unsigned DEPTH = 1
) (
    input  logic                   clock,
    input  logic                   reset,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [CHOICE_BITS-1:0] in_choice,
    input  logic [  SIZE_BITS-1:0] in_size,
    output logic                   active,
    output logic [CHOICE_BITS-1:0] choice,
    input  logic                   passes
);

  logic [SIZE_BITS-1:0] size, passed;
  logic is_last;

  assign is_last = passed == size;

  npu_queue #(
      .WIDTH(CHOICE_BITS + SIZE_BITS), .DEPTH(DEPTH), .FLOW(1'b1), .PIPE(1'b1)
  ) transfers (
      .clock, .reset,
      .in_valid, .in_ready, .in_data({in_choice, in_size}),
      .out_valid(active), .out_ready(passes && is_last), .out_data({choice, size})
  );

  always_ff @(posedge clock) begin
    if (reset) passed <= '0;
    else if (passes) passed <= is_last ? '0 : passed + 1'b1;
  end

endmodule
