// The read channels of an AXI master.
//
// Bursts wait in a queue, are split at 4 KiB and are sent. REMEMBERED bursts are tracked until
// their last beat. The address of one more burst is sent before it can be tracked, so this burst is
// in progress as well.
module npu_read_master #(
    parameter int unsigned WORD_BITS = 128,
    parameter int unsigned ADDRESS_BITS = 32,
    parameter int unsigned REMEMBERED = 2,
    parameter bit CROSSES_BY_A_BEAT = 1'b0
) (
    input logic clock,
    input logic reset,

    input  logic                    burst_valid,
    output logic                    burst_ready,
    input  logic [ADDRESS_BITS-1:0] burst_address,
    input  logic [7:0]              burst_beats,
    input  logic [3:0]              burst_cache,

    output logic                 word_valid,
    input  logic                 word_ready,
    output logic [WORD_BITS-1:0] word,

    output npu_pkg::axi_address_t ar,
    input  logic                  ar_ready,
    input  logic                  r_valid,
    output logic                  r_ready,
    input  logic [WORD_BITS-1:0]  r_data
);

  logic queued_valid, queued_ready, part_valid, part_ready, part_first, unused_last;
  logic [ADDRESS_BITS-1:0] queued_address, address;
  logic [7:0] queued_beats, beats;
  logic [3:0] cache;
  logic [1:0] taken_valid, taken_ready;

  npu_queue #(.WIDTH(12 + ADDRESS_BITS)) bursts (
      .clock, .reset,
      .in_valid(burst_valid), .in_ready(burst_ready),
      .in_data({burst_cache, burst_address, burst_beats}),
      .out_valid(queued_valid), .out_ready(queued_ready),
      .out_data({cache, queued_address, queued_beats})
  );

  npu_burst_splitter #(
      .BEAT_BYTES(WORD_BITS / 8), .ADDRESS_BITS(ADDRESS_BITS),
      .CROSSES_BY_A_BEAT(CROSSES_BY_A_BEAT)
  ) splitter (
      .clock, .reset,
      .burst_valid(queued_valid), .burst_ready(queued_ready), .burst_address(queued_address),
      .burst_beats(queued_beats),
      .part_valid, .part_ready, .part_address(address), .part_beats(beats), .part_first,
      .part_last(unused_last)
  );

  // Every part of a burst has an address. The first part also makes the entry that tracks the
  // burst.
  npu_fork #(.PORTS(2)) parts (
      .clock, .reset,
      .in_valid(part_valid), .in_ready(part_ready),
      .wanted({part_first, 1'b1}),
      .out_valid(taken_valid), .out_ready(taken_ready)
  );

  assign taken_ready[0] = ar_ready;

  always_comb begin
    ar.valid = taken_valid[0];
    ar.addr = 64'(address);
    ar.len = beats;
    ar.cache = cache;
  end

  logic known, is_over, data_ready, takes;
  logic [7:0] known_beats, index;

  npu_queue #(.WIDTH(8), .DEPTH(REMEMBERED), .FLOW(1'b1), .PIPE(1'b1)) bookkeeping (
      .clock, .reset,
      .in_valid(taken_valid[1]), .in_ready(taken_ready[1]), .in_data(queued_beats),
      .out_valid(known), .out_ready(takes && is_over), .out_data(known_beats)
  );

  assign r_ready = known && data_ready;
  assign takes = r_valid && r_ready;
  assign is_over = index == known_beats;

  always_ff @(posedge clock) begin
    if (reset) index <= '0;
    else if (takes) index <= is_over ? '0 : index + 1'b1;
  end

  logic data_valid, words_ready;
  logic [WORD_BITS-1:0] data;

  npu_queue #(.WIDTH(WORD_BITS)) received (
      .clock, .reset,
      .in_valid(r_valid && known), .in_ready(data_ready), .in_data(r_data),
      .out_valid(data_valid), .out_ready(words_ready), .out_data(data)
  );

  npu_queue #(.WIDTH(WORD_BITS)) words (
      .clock, .reset,
      .in_valid(data_valid), .in_ready(words_ready), .in_data(data),
      .out_valid(word_valid), .out_ready(word_ready), .out_data(word)
  );

`ifndef SYNTHESIS
  npu_stays #(.WIDTH($bits(ar))) addresses_stay (
      .clock, .reset,
      .valid(ar.valid),
      .ready(ar_ready),
      .data(ar)
  );

  npu_stays #(.WIDTH(WORD_BITS)) data_stays (
      .clock, .reset,
      .valid(r_valid),
      .ready(r_ready),
      .data(r_data)
  );
`endif

endmodule
