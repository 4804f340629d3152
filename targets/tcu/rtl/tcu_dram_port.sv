// Connects a DRAM bank: converts transfers of vectors to bursts of an AXI4 master.
//
// A scalar takes SLOT_BYTES in DRAM. It is in the low bits; the other bits are written as 0.
// Vectors are stored without gaps, starting at the bank's offset. If vectors are not whole words,
// they share words, and `w_strobes` selects the bytes to write. `size` is a transfer's number of
// vectors minus one. `failed` is high in a cycle with a response other than OKAY.
//
// Source: the specification's 5.1 (bytes), 9.1 (AXI side) and 9.6 (addresses).
module tcu_dram_port #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned SLOT_BYTES = 2,
    parameter int unsigned ADDRESS_BITS = 20,
    parameter int unsigned STRIDE_BITS = 3,
    parameter int unsigned SIZE_BITS = 13,
    parameter int unsigned AXI_BITS = 128,
    parameter int unsigned AXI_ADDRESS_BITS = 32,
    parameter int unsigned OFFSET_BITS = 16,
    parameter int unsigned RUNS = 1,
    parameter int unsigned REMEMBERED = 2,
    parameter bit CROSSES_BY_A_BEAT = 1'b0,
    parameter bit MOVES_WRITES = 1'b0,
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
) (
    input logic clock,
    input logic reset,

    input logic [OFFSET_BITS-1:0] offset,
    input logic [            3:0] cache,

    input  logic                    run_valid,
    output logic                    run_ready,
    input  logic                    run_write,
    input  logic [ADDRESS_BITS-1:0] run_address,
    input  logic [ STRIDE_BITS-1:0] run_stride,
    input  logic [   SIZE_BITS-1:0] run_size,
    output logic                    step_valid,
    output logic                    step_ready,

    input  logic                   write_valid,
    output logic                   write_ready,
    input  logic [VECTOR_BITS-1:0] write_data,
    output logic                   read_valid,
    input  logic                   read_ready,
    output logic [VECTOR_BITS-1:0] read_data,
    output logic                   failed,

    output npu_pkg::axi_request_t  request,
    output logic [AXI_BITS-1:0]    w_data,
    output logic [AXI_BITS/8-1:0]  w_strobes,
    input  npu_pkg::axi_response_t response,
    input  logic [AXI_BITS-1:0]    r_data
);

  localparam int unsigned SLOT_BITS = 8 * SLOT_BYTES;
  localparam int unsigned STORED_BITS = ARRAY_SIZE * SLOT_BITS;
  localparam int unsigned STORED_BYTES = ARRAY_SIZE * SLOT_BYTES;
  localparam bit IS_WHOLE = STORED_BITS % AXI_BITS == 0;

  // Must be equal to the parameters of the bursts.
  localparam int unsigned WORD_BYTES = AXI_BITS / 8;
  localparam int unsigned COUNT_BITS =
      tcu_pkg::count_bits(SIZE_BITS, tcu_pkg::longest_burst(STORED_BYTES, WORD_BYTES));
  localparam int unsigned SKIP_BITS = npu_pkg::index_bits(WORD_BYTES);

  assign failed = (response.b_valid && request.b_ready && response.b_resp != '0)
      || (response.r_valid && request.r_ready && response.r_resp != '0);

  // Requests.
  logic request_valid, request_ready, request_write;
  logic [ADDRESS_BITS-1:0] request_address;
  logic [SIZE_BITS-1:0] request_size;
  logic [OFFSET_BITS-1:0] taken_offset;
  logic [3:0] request_cache;

  tcu_dram_requests #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .STRIDE_BITS (STRIDE_BITS),
      .SIZE_BITS   (SIZE_BITS),
      .WINDOW_BITS (OFFSET_BITS + 4),
      .RUNS        (RUNS)
  ) requests (
      .clock, .reset,
      .run_valid,
      .run_ready,
      .run_write,
      .run_address,
      .run_stride,
      .run_size,
      .run_window    ({offset, cache}),
      .step_valid,
      .step_ready,
      .request_valid,
      .request_ready,
      .request_write,
      .request_address,
      .request_size,
      .request_window({taken_offset, request_cache})
  );

  // Bursts.
  logic read_burst_valid, read_burst_ready, write_burst_valid, write_burst_ready, responds;
  logic [AXI_ADDRESS_BITS-1:0] burst_address;
  logic [7:0] burst_beats;
  logic [COUNT_BITS-1:0] burst_vectors;
  logic [SKIP_BITS-1:0] burst_skipped;
  logic wants_words;
  logic stored_word_valid, stored_word_ready, written_valid, written_ready, fetched_valid, fetched_ready;
  logic [AXI_BITS-1:0] stored_word, written, fetched;

  tcu_dram_bursts #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .SIZE_BITS   (SIZE_BITS),
      .WORD_BITS   (AXI_BITS),
      .OFFSET_BITS (OFFSET_BITS),
      .BUS_ADDRESS_BITS(AXI_ADDRESS_BITS),
      .VECTOR_BYTES(STORED_BYTES)
  ) bursts (
      .clock, .reset,
      .request_valid,
      .request_ready,
      .request_write,
      .request_address,
      .request_size,
      .request_offset(MOVES_WRITES ? offset : taken_offset),
      .read_valid    (read_burst_valid),
      .read_ready    (read_burst_ready),
      .write_valid   (write_burst_valid),
      .write_ready   (write_burst_ready),
      .address       (burst_address),
      .beats         (burst_beats),
      .vectors       (burst_vectors),
      .skipped       (burst_skipped),
      .wants_words,
      .responds,
      .in_word_valid (stored_word_valid),
      .in_word_ready (stored_word_ready),
      .in_word       (stored_word),
      .out_word_valid(written_valid),
      .out_word_ready(written_ready),
      .out_word      (written)
  );

  npu_read_master #(
      .WORD_BITS        (AXI_BITS),
      .ADDRESS_BITS     (AXI_ADDRESS_BITS),
      .REMEMBERED       (REMEMBERED),
      .CROSSES_BY_A_BEAT(CROSSES_BY_A_BEAT)
  ) reads (
      .clock, .reset,
      .burst_valid  (read_burst_valid),
      .burst_ready  (read_burst_ready),
      .burst_address,
      .burst_beats,
      .burst_cache  (request_cache),
      .word_valid   (fetched_valid),
      .word_ready   (fetched_ready),
      .word         (fetched),
      .ar           (request.ar),
      .ar_ready     (response.ar_ready),
      .r_valid      (response.r_valid),
      .r_ready      (request.r_ready),
      .r_data
  );

  npu_write_master #(
      .WORD_BITS        (AXI_BITS),
      .ADDRESS_BITS     (AXI_ADDRESS_BITS),
      .REMEMBERED       (REMEMBERED),
      .CROSSES_BY_A_BEAT(CROSSES_BY_A_BEAT)
  ) writes (
      .clock, .reset,
      .burst_valid  (write_burst_valid),
      .burst_ready  (write_burst_ready),
      .burst_address,
      .burst_beats,
      .burst_cache  (request_cache),
      .word_valid   (written_valid),
      .word_ready   (written_ready),
      .word         (written),
      .responds,
      .aw           (request.aw),
      .aw_ready     (response.aw_ready),
      .w_valid      (request.w_valid),
      .w_ready      (response.w_ready),
      .w_data,
      .w_last       (request.w_last),
      .b_valid      (response.b_valid),
      .b_ready      (request.b_ready)
  );

  // Vectors.
  logic queued_valid, queued_ready;
  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] queued, read_scalars;
  logic [ARRAY_SIZE-1:0][SLOT_BITS-1:0] stored, loaded;

  npu_queue #(.WIDTH(VECTOR_BITS)) vectors (
      .clock, .reset,
      .in_valid(write_valid), .in_ready(write_ready), .in_data(write_data),
      .out_valid(queued_valid), .out_ready(queued_ready), .out_data(queued)
  );

  always_comb begin
    for (int unsigned i = 0; i < ARRAY_SIZE; i++) begin
      stored[i] = SLOT_BITS'(queued[i]);
      read_scalars[i] = loaded[i][SCALAR_BITS-1:0];
    end
  end

  assign read_data = read_scalars;

  if (IS_WHOLE) begin : gen_whole
    localparam int unsigned WORDS = STORED_BITS / AXI_BITS;

    logic unused;
    assign unused = ^{burst_vectors, burst_skipped, wants_words};
    assign w_strobes = '1;

    npu_vector_to_words #(
        .WORD_BITS(AXI_BITS),
        .WORDS    (WORDS)
    ) serialiser (
        .clock, .reset,
        .vector_valid(queued_valid),
        .vector_ready(queued_ready),
        .vector      (stored),
        .word_valid  (stored_word_valid),
        .word_ready  (stored_word_ready),
        .word        (stored_word)
    );

    npu_words_to_vector #(
        .WORD_BITS(AXI_BITS),
        .WORDS    (WORDS)
    ) collector (
        .clock, .reset,
        .word_valid  (fetched_valid),
        .word_ready  (fetched_ready),
        .word        (fetched),
        .vector_valid(read_valid),
        .vector_ready(read_ready),
        .vector      (loaded)
    );
  end else begin : gen_packed
    localparam int unsigned PLACES = AXI_BITS / SLOT_BITS;
    localparam int unsigned PLACE_BITS = $clog2(PLACES);

    // Bursts read that are under way: in the master's queue, remembered, and those of a word that
    // wait behind it.
    localparam int unsigned BURSTS = 2 + REMEMBERED + 4;

    logic [PLACES-1:0] places, given_places;
    logic [PLACE_BITS-1:0] skipped, read_skipped;
    logic [PLACE_BITS:0] past, read_past;
    logic [7:0] read_beats;
    logic read_burst_known, read_burst_over, burst_has_room, places_have_room, places_are_known;

    assign skipped = PLACE_BITS'(32'(burst_skipped) / SLOT_BYTES);
    // Of the last word: a whole one has as many as there are.
    assign past = (PLACE_BITS + 1)'(
        (32'(skipped) + 32'(burst_vectors) * ARRAY_SIZE - 1) % PLACES + 1);

    npu_packer #(
        .SLOT_BITS   (SLOT_BITS),
        .LANES       (ARRAY_SIZE),
        .PLACES      (PLACES),
        .VECTORS_BITS(COUNT_BITS)
    ) packer (
        .clock, .reset,
        .burst_valid  (wants_words),
        .burst_skipped(skipped),
        .burst_vectors,
        .vector_valid (queued_valid),
        .vector_ready (queued_ready),
        .vector       (stored),
        .word_valid   (stored_word_valid),
        .word_ready   (stored_word_ready),
        .word         (stored_word),
        .places
    );

    // As the words in the master, which come and go with them.
    npu_queue #(.WIDTH(PLACES)) strobes (
        .clock, .reset,
        .in_valid(written_valid), .in_ready(places_have_room), .in_data(places),
        .out_valid(places_are_known), .out_ready(request.w_valid && response.w_ready),
        .out_data(given_places)
    );

    for (genvar i = 0; i < PLACES; i++) begin : gen_strobe
      assign w_strobes[i*SLOT_BYTES+:SLOT_BYTES] = {SLOT_BYTES{given_places[i]}};
    end

    npu_queue #(.WIDTH(2 * PLACE_BITS + 9), .DEPTH(BURSTS)) bursts_read (
        .clock, .reset,
        .in_valid(read_burst_valid && read_burst_ready), .in_ready(burst_has_room),
        .in_data({skipped, past, burst_beats}),
        .out_valid(read_burst_known), .out_ready(read_burst_over),
        .out_data({read_skipped, read_past, read_beats})
    );

    npu_unpacker #(
        .SLOT_BITS(SLOT_BITS),
        .LANES    (ARRAY_SIZE),
        .PLACES   (PLACES)
    ) unpacker (
        .clock, .reset,
        .burst_valid  (read_burst_known),
        .burst_ready  (read_burst_over),
        .burst_skipped(read_skipped),
        .burst_end    (read_past),
        .burst_beats  (read_beats),
        .word_valid   (fetched_valid),
        .word_ready   (fetched_ready),
        .word         (fetched),
        .vector_valid (read_valid),
        .vector_ready (read_ready),
        .vector       (loaded)
    );

`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset && read_burst_valid && read_burst_ready) burst_fits: assert (burst_has_room);
      if (!reset && written_valid && written_ready) places_fit: assert (places_have_room);
      if (!reset && request.w_valid) strobes_are_there: assert (places_are_known);
    end
`endif
  end

endmodule
