// Proves that a queue outputs all accepted items, once and in order. It refuses items only when it
// is full, and always offers an item when it holds one.
//
// The proof follows item number `chosen`, which is arbitrary.
module prove_queue #(
    parameter int unsigned DEPTH = 2,
    parameter bit FLOW = 1'b0,
    parameter bit PIPE = 1'b0
) (
    input logic       clock,
    input logic       in_valid,
    input logic [3:0] in_data,
    input logic       out_ready
);

  localparam int unsigned PLACE_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;

  logic reset = 1'b1;
  logic in_ready, out_valid;
  logic [3:0] out_data;
  logic [$clog2(DEPTH + 1)-1:0] count;

  always_ff @(posedge clock) reset <= 1'b0;

  npu_counted_queue #(
      .WIDTH(4),
      .DEPTH(DEPTH),
      .FLOW (FLOW),
      .PIPE (PIPE)
  ) queue (
      .clock, .reset,
      .in_valid, .in_ready, .in_data,
      .out_valid, .out_ready, .out_data,
      .count
  );

  (* anyconst *) logic [7:0] chosen;
  logic [7:0] entered = '0;
  logic [7:0] left = '0;
  logic [7:0] held, ahead;
  logic [3:0] watched;
  logic enters, leaves, is_chosen;

  assign enters = in_valid && in_ready && !reset;
  assign leaves = out_valid && out_ready && !reset;
  assign is_chosen = enters && entered == chosen;
  assign held = entered - left;
  assign ahead = chosen - left;

  always_ff @(posedge clock) begin
    if (enters) entered <= entered + 1'b1;
    if (leaves) left <= left + 1'b1;
    if (is_chosen) watched <= in_data;
  end

  always_comb begin
    if (!reset) begin
      nothing_lost:  assert (held == 8'(count));
      never_over:    assert (32'(count) <= DEPTH);
      refuses_full:  assert (in_ready || 32'(count) == DEPTH);
      gives_held:    assert (out_valid || count == '0);
      gives_no_more: assert (!out_valid || count != '0 || (FLOW && in_valid));
      if (leaves && ahead == '0) in_order: assert (out_data == (is_chosen ? in_data : watched));
    end
  end

  // The induction refers to the positions of items inside the queue.
  (* hierconn *) wire [PLACE_BITS-1:0] \queue.first ;
  (* hierconn *) wire [PLACE_BITS-1:0] \queue.last ;
  (* hierconn *) wire [3:0] \queue.entries[0] ;
  (* hierconn *) wire [3:0] \queue.entries[1] ;
  (* hierconn *) wire [3:0] \queue.entries[2] ;
  (* hierconn *) wire [3:0] \queue.entries[3] ;
  logic [3:0] place;
  logic [3:0][3:0] entries;

  assign entries = {\queue.entries[3] , \queue.entries[2] , \queue.entries[1] , \queue.entries[0] };
  assign place = 4'((32'(\queue.first ) + 32'(ahead)) % DEPTH);

  always_comb begin
    if (!reset) begin
      ends_within: assert (32'(\queue.first ) < DEPTH && 32'(\queue.last ) < DEPTH);
      ends_apart:  assert (32'(\queue.last ) == (32'(\queue.first ) + 32'(count)) % DEPTH);
      if (ahead < held) kept: assert (entries[place[1:0]] == watched);
    end
  end

endmodule
