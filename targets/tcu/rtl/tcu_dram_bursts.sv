// Converts requests of a bank to bursts of at most 256 beats, in order, and outputs the words of
// write bursts.
//
// A read burst is issued only when no write is in progress. `responds` reports the end of a write.
// A write burst stays until its address and all its words are accepted. `beats` is the burst's
// number of beats minus one, and `vectors` is its number of vectors. `skipped` is the number of
// bytes before the vectors in the first word; it is 0 if vectors are whole words. `wants_words` is
// high while a write burst needs words.
//
// Source: the specification's 9.1, AXI side, 9.6, and its notes on requests split at 256 beats.
module tcu_dram_bursts #(
    parameter int unsigned ADDRESS_BITS = 20,
    parameter int unsigned SIZE_BITS = 13,
    parameter int unsigned WORD_BITS = 128,
    parameter int unsigned OFFSET_BITS = 16,
    parameter int unsigned BUS_ADDRESS_BITS = 32,
    parameter int unsigned VECTOR_BYTES = 16,

    localparam int unsigned WORD_BYTES = WORD_BITS / 8,
    localparam int unsigned LONGEST = tcu_pkg::longest_burst(VECTOR_BYTES, WORD_BYTES),
    localparam int unsigned COUNT_BITS = tcu_pkg::count_bits(SIZE_BITS, LONGEST),
    localparam int unsigned SKIP_BITS = npu_pkg::index_bits(WORD_BYTES)
) (
    input logic clock,
    input logic reset,

    input  logic                    request_valid,
    output logic                    request_ready,
    input  logic                    request_write,
    input  logic [ADDRESS_BITS-1:0] request_address,
    input  logic [   SIZE_BITS-1:0] request_size,
    input  logic [ OFFSET_BITS-1:0] request_offset,

    output logic        read_valid,
    input  logic        read_ready,
    output logic        write_valid,
    input  logic        write_ready,
    output logic [BUS_ADDRESS_BITS-1:0] address,
    output logic [ 7:0] beats,
    output logic [COUNT_BITS-1:0] vectors,
    output logic [ SKIP_BITS-1:0] skipped,
    output logic        wants_words,
    input  logic        responds,

    input  logic                 in_word_valid,
    output logic                 in_word_ready,
    input  logic [WORD_BITS-1:0] in_word,
    output logic                 out_word_valid,
    input  logic                 out_word_ready,
    output logic [WORD_BITS-1:0] out_word
);

  localparam bit IS_WHOLE = VECTOR_BYTES % WORD_BYTES == 0;

  logic [SIZE_BITS-1:0] done;
  logic [COUNT_BITS-1:0] left;
  logic [BUS_ADDRESS_BITS-1:0] first;
  logic burst_valid, burst_ready, is_last_burst, is_last_word, is_free;
  logic [1:0] part_valid, part_ready;
  logic [7:0] word_index, under_way;

  assign left = COUNT_BITS'(request_size) - COUNT_BITS'(done) + 1'b1;
  assign is_last_burst = left <= COUNT_BITS'(LONGEST);
  assign vectors = is_last_burst ? left : COUNT_BITS'(LONGEST);
  assign first = BUS_ADDRESS_BITS'({request_offset, 16'b0})
      + (BUS_ADDRESS_BITS'(request_address) + BUS_ADDRESS_BITS'(done)) * BUS_ADDRESS_BITS'(VECTOR_BYTES);
  assign skipped = IS_WHOLE ? '0 : first[SKIP_BITS-1:0];
  assign address = first - BUS_ADDRESS_BITS'(skipped);

  if (IS_WHOLE) begin : gen_whole
    assign beats = 8'(vectors * COUNT_BITS'(VECTOR_BYTES / WORD_BYTES) - 1'b1);
  end else begin : gen_packed
    assign beats = 8'((32'(skipped) + 32'(vectors) * VECTOR_BYTES - 1) / WORD_BYTES);
  end

  // A read burst needs only an address. A write burst needs an address and words.
  assign burst_valid = request_valid && request_write;
  assign read_valid = request_valid && !request_write && under_way == '0;
  assign is_free = under_way != '1;
  assign write_valid = part_valid[0] && is_free;
  assign part_ready[0] = write_ready && is_free;

  npu_fork #(.PORTS(2)) parts (
      .clock, .reset,
      .in_valid(burst_valid), .in_ready(burst_ready),
      .wanted(2'b11),
      .out_valid(part_valid), .out_ready(part_ready)
  );

  assign wants_words = part_valid[1];
  assign is_last_word = word_index == beats;
  assign out_word_valid = part_valid[1] && in_word_valid;
  assign in_word_ready = part_valid[1] && out_word_ready;
  assign out_word = in_word;
  assign part_ready[1] = in_word_valid && out_word_ready && is_last_word;

  logic advances;

  assign advances = request_write ? burst_valid && burst_ready : read_valid && read_ready;
  assign request_ready = (request_write ? burst_ready : read_ready && under_way == '0) && is_last_burst;

  always_ff @(posedge clock) begin
    if (reset) begin
      done       <= '0;
      word_index <= '0;
      under_way  <= '0;
    end else begin
      if (advances) done <= is_last_burst ? '0 : done + SIZE_BITS'(LONGEST);
      if (out_word_valid && out_word_ready) word_index <= is_last_word ? '0 : word_index + 1'b1;
      if (write_valid && write_ready && !responds) under_way <= under_way + 1'b1;
      if (responds && !(write_valid && write_ready)) under_way <= under_way - 1'b1;
    end
  end

endmodule
