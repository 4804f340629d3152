// The write channels of a bank's AXI master.
//
// Bursts wait in a queue, are split at 4 KiB and sent. REMEMBERED parts, two in the released
// circuit, are known until their last beat, and as many until their response; the address of one more is
// sent before there is room for it.
// `responds` tells, a while later, that a burst is over.
//
// Source: the specification's 9.1, AXI side, and its notes on writes.
module tcu_write_master #(
    parameter int unsigned WORD_BITS = 128,
    parameter int unsigned ADDRESS_BITS = 32,
    parameter int unsigned REMEMBERED = 2,
    parameter bit CROSSES_BY_A_BEAT = 1'b0
) (
    input logic clock,
    input logic reset,

    input  logic        burst_valid,
    output logic        burst_ready,
    input  logic [ADDRESS_BITS-1:0] burst_address,
    input  logic [ 7:0] burst_beats,
    input  logic [ 3:0] burst_cache,

    input  logic                 word_valid,
    output logic                 word_ready,
    input  logic [WORD_BITS-1:0] word,
    output logic                 responds,

    output logic                 awvalid,
    input  logic                 awready,
    output logic [ADDRESS_BITS-1:0] awaddr,
    output logic [          7:0] awlen,
    output logic [          3:0] awcache,
    output logic                 wvalid,
    input  logic                 wready,
    output logic [WORD_BITS-1:0] wdata,
    output logic                 wlast,
    input  logic                 bvalid,
    output logic                 bready
);

  logic queued_valid, queued_ready, part_valid, part_ready, part_last, unused_first;
  logic [ADDRESS_BITS-1:0] queued_address;
  logic [ 7:0] queued_beats;
  logic [1:0] unused_bursts, unused_words;
  logic [$clog2(REMEMBERED + 1)-1:0] unused_known, unused_awaited;
  logic [2:0] taken_valid, taken_ready;

  tcu_queue #(
      .WIDTH(12 + ADDRESS_BITS)
  ) bursts (
      .clock,
      .reset,
      .in_valid (burst_valid),
      .in_ready (burst_ready),
      .in_data  ({burst_cache, burst_address, burst_beats}),
      .out_valid(queued_valid),
      .out_ready(queued_ready),
      .out_data ({awcache, queued_address, queued_beats}),
      .count    (unused_bursts)
  );

  tcu_burst_splitter #(
      .BEAT_BYTES       (WORD_BITS / 8),
      .ADDRESS_BITS     (ADDRESS_BITS),
      .CROSSES_BY_A_BEAT(CROSSES_BY_A_BEAT)
  ) splitter (
      .clock,
      .reset,
      .burst_valid  (queued_valid),
      .burst_ready  (queued_ready),
      .burst_address(queued_address),
      .burst_beats  (queued_beats),
      .part_valid,
      .part_ready,
      .part_address (awaddr),
      .part_beats   (awlen),
      .part_first   (unused_first),
      .part_last
  );

  // Every part is an address, an entry for its beats and one for its response.
  tcu_fork #(
      .PORTS(3)
  ) parts (
      .clock,
      .reset,
      .in_valid (part_valid),
      .in_ready (part_ready),
      .wanted   (3'b111),
      .out_valid(taken_valid),
      .out_ready(taken_ready)
  );

  assign awvalid = taken_valid[0];
  assign taken_ready[0] = awready;

  logic known, is_queued, gives, awaited, closes;
  logic [7:0] known_beats, index;

  tcu_queue #(
      .WIDTH(8),
      .DEPTH(REMEMBERED),
      .FLOW (1'b1),
      .PIPE (1'b1)
  ) beats_bookkeeping (
      .clock,
      .reset,
      .in_valid (taken_valid[1]),
      .in_ready (taken_ready[1]),
      .in_data  (awlen),
      .out_valid(known),
      .out_ready(gives && wlast),
      .out_data (known_beats),
      .count    (unused_known)
  );

  tcu_queue #(
      .WIDTH(1),
      .DEPTH(REMEMBERED),
      .FLOW (1'b1),
      .PIPE (1'b1)
  ) response_bookkeeping (
      .clock,
      .reset,
      .in_valid (taken_valid[2]),
      .in_ready (taken_ready[2]),
      .in_data  (part_last),
      .out_valid(awaited),
      .out_ready(bvalid),
      .out_data (closes),
      .count    (unused_awaited)
  );

  tcu_queue #(
      .WIDTH(WORD_BITS)
  ) words (
      .clock,
      .reset,
      .in_valid (word_valid),
      .in_ready (word_ready),
      .in_data  (word),
      .out_valid(is_queued),
      .out_ready(known && wready),
      .out_data (wdata),
      .count    (unused_words)
  );

  assign wvalid = is_queued && known;
  assign wlast = index == known_beats;
  assign gives = wvalid && wready;
  assign bready = awaited;

  // The released circuit's responses pass two queues.
  logic [1:0] over;

  assign responds = over[1];

  always_ff @(posedge clock) begin
    if (reset) begin
      index <= '0;
      over  <= '0;
    end else begin
      if (gives) index <= wlast ? '0 : index + 1'b1;
      over <= {over[0], bvalid && bready && closes};
    end
  end

endmodule
