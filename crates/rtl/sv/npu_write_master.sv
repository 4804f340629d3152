// The write channels of an AXI master.
//
// Bursts wait in a queue, are split at 4 KiB and are sent. REMEMBERED parts are tracked until their
// last beat, and the same number until their response. The address of one more part is sent before
// it can be tracked. `responds` reports the end of a burst two cycles later.
module npu_write_master #(
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

    input  logic                 word_valid,
    output logic                 word_ready,
    input  logic [WORD_BITS-1:0] word,
    output logic                 responds,

    output npu_pkg::axi_address_t aw,
    input  logic                  aw_ready,
    output logic                  w_valid,
    input  logic                  w_ready,
    output logic [WORD_BITS-1:0]  w_data,
    output logic                  w_last,
    input  logic                  b_valid,
    output logic                  b_ready
);

  logic queued_valid, queued_ready, part_valid, part_ready, part_last, unused_first;
  logic [ADDRESS_BITS-1:0] queued_address, address;
  logic [7:0] queued_beats, beats;
  logic [3:0] cache;
  logic [2:0] taken_valid, taken_ready;

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
      .part_valid, .part_ready, .part_address(address), .part_beats(beats),
      .part_first(unused_first), .part_last
  );

  // Every part has an address, an entry for its beats, and an entry for its response.
  npu_fork #(.PORTS(3)) parts (
      .clock, .reset,
      .in_valid(part_valid), .in_ready(part_ready),
      .wanted(3'b111),
      .out_valid(taken_valid), .out_ready(taken_ready)
  );

  assign taken_ready[0] = aw_ready;

  always_comb begin
    aw.valid = taken_valid[0];
    aw.addr = 64'(address);
    aw.len = beats;
    aw.cache = cache;
  end

  logic known, is_queued, gives, awaited, closes;
  logic [7:0] known_beats, index;

  npu_queue #(.WIDTH(8), .DEPTH(REMEMBERED), .FLOW(1'b1), .PIPE(1'b1)) beats_bookkeeping (
      .clock, .reset,
      .in_valid(taken_valid[1]), .in_ready(taken_ready[1]), .in_data(beats),
      .out_valid(known), .out_ready(gives && w_last), .out_data(known_beats)
  );

  npu_queue #(.WIDTH(1), .DEPTH(REMEMBERED), .FLOW(1'b1), .PIPE(1'b1)) response_bookkeeping (
      .clock, .reset,
      .in_valid(taken_valid[2]), .in_ready(taken_ready[2]), .in_data(part_last),
      .out_valid(awaited), .out_ready(b_valid), .out_data(closes)
  );

  npu_queue #(.WIDTH(WORD_BITS)) words (
      .clock, .reset,
      .in_valid(word_valid), .in_ready(word_ready), .in_data(word),
      .out_valid(is_queued), .out_ready(known && w_ready), .out_data(w_data)
  );

  assign w_valid = is_queued && known;
  assign w_last = index == known_beats;
  assign gives = w_valid && w_ready;
  assign b_ready = awaited;

  // The delay corresponds to two queues through which responses pass.
  logic [1:0] over;

  assign responds = over[1];

  always_ff @(posedge clock) begin
    if (reset) begin
      index <= '0;
      over  <= '0;
    end else begin
      if (gives) index <= w_last ? '0 : index + 1'b1;
      over <= {over[0], b_valid && b_ready && closes};
    end
  end

`ifndef SYNTHESIS
  npu_stays #(.WIDTH($bits(aw))) addresses_stay (
      .clock, .reset,
      .valid(aw.valid),
      .ready(aw_ready),
      .data(aw)
  );

  npu_stays #(.WIDTH(WORD_BITS + 1)) data_stays (
      .clock, .reset,
      .valid(w_valid),
      .ready(w_ready),
      .data({w_last, w_data})
  );
`endif

endmodule
