// A first-in, first-out queue with a handshake on both sides and a count of its items.
//
// A plain queue outputs an item one cycle after it entered, and accepts an item one cycle after a
// full queue has output one. With FLOW, an empty queue outputs an item in the cycle of its entry.
// With PIPE, a full queue accepts an item in the cycle in which it outputs one. `count` is the
// number of items at the start of the cycle.
module npu_counted_queue #(
    parameter int unsigned WIDTH = 8,
    parameter int unsigned DEPTH = 2,
    parameter bit FLOW = 1'b0,
    parameter bit PIPE = 1'b0,
    localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1)
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [     WIDTH-1:0] in_data,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [     WIDTH-1:0] out_data,
    output logic [COUNT_BITS-1:0] count
);

  localparam int unsigned PLACE_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;

  logic [WIDTH-1:0] entries[DEPTH];
  logic [PLACE_BITS-1:0] first, last;
  logic empty, full, passes, push, pop;

  assign empty     = count == '0;
  assign full      = count == COUNT_BITS'(DEPTH);
  assign in_ready  = !full || (PIPE && out_ready);
  assign out_valid = !empty || (FLOW && in_valid);
  assign out_data  = FLOW && empty ? in_data : entries[first];

  // An item that passes an empty queue is not stored.
  assign passes = FLOW && empty && out_ready;
  assign push   = in_valid && in_ready && !passes;
  assign pop    = out_ready && !empty;

  function automatic logic [PLACE_BITS-1:0] after(input logic [PLACE_BITS-1:0] place);
    after = place == PLACE_BITS'(DEPTH - 1) ? '0 : place + 1'b1;
  endfunction

  always_ff @(posedge clock) begin
    if (push) entries[last] <= in_data;
    if (reset) begin
      first <= '0;
      last  <= '0;
      count <= '0;
    end else begin
      if (push) last <= after(last);
      if (pop) first <= after(first);
      if (push && !pop) count <= count + 1'b1;
      if (pop && !push) count <= count - 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) never_over: assert (32'(count) <= DEPTH);
  end
`endif

endmodule
