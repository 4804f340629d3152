// Proves the write side of a bank's master against any memory that follows AXI. All words are
// output once, in order, and in the parts that their addresses announce. The parts do not cross 4
// KiB boundaries and cover the bursts without gaps or overlaps. The end of each burst is reported
// once, after its last response. If memory and writer never stop, the master does not stop either.
//
// Word k has the value k, so a wrong, missing or repeated word is detected.
module prove_write_master #(
    // Largest number of cycles that memory and writer wait.
    parameter int unsigned PATIENCE = 2
) (
    input logic        clock,
    input logic        burst_valid,
    input logic [ 1:0] place,
    input logic [ 1:0] length,
    input logic        word_valid,
    input logic        accepts,
    input logic        takes,
    input logic        answers
);

  localparam int unsigned BYTES = 4;
  // Largest number of cycles without progress while a burst is not over and nobody waits. With one
  // less, the proof fails.
  localparam int unsigned LONGEST = 1;

  // Bursts are short and near a boundary. A separate proof covers the splitter for all bursts.
  logic [31:0] burst_address;
  logic [ 7:0] burst_beats;

  assign burst_address = {28'h0FF, place, 2'b00};
  assign burst_beats = {6'b0, length};

  logic reset = 1'b1;
  logic burst_ready, word_ready, responds, awvalid, wvalid, wready, wlast, bvalid, bready, awready;
  npu_pkg::axi_address_t aw;
  logic [31:0] awaddr, word, wdata;
  logic [7:0] awlen;

  always_ff @(posedge clock) reset <= 1'b0;

  npu_write_master #(
      .WORD_BITS        (8 * BYTES),
      .CROSSES_BY_A_BEAT(1'b0)
  ) master (
      .clock,
      .reset,
      .burst_valid,
      .burst_ready,
      .burst_address,
      .burst_beats,
      .burst_cache(4'h0),
      .word_valid,
      .word_ready,
      .word,
      .responds,
      .aw,
      .aw_ready   (awready),
      .w_valid    (wvalid),
      .w_ready    (wready),
      .w_data     (wdata),
      .w_last     (wlast),
      .b_valid    (bvalid),
      .b_ready    (bready)
  );

  assign awvalid = aw.valid;
  assign awaddr = 32'(aw.addr);
  assign awlen = aw.len;

  // Counts of words: expected, offered, announced by addresses, written. Counts of parts:
  // announced, written, answered. Counts of bursts: begun, reported as over.
  logic [7:0] promised = '0;
  logic [7:0] offered = '0;
  logic [7:0] announced = '0;
  logic [7:0] written = '0;
  logic [7:0] in_part = '0;
  logic [7:0] parts = '0;
  logic [7:0] written_parts = '0;
  logic [7:0] answered_parts = '0;
  logic [7:0] bursts = '0;
  logic [7:0] over = '0;
  logic enters, hands, sends, gives, ends, answered;

  assign word = 32'(offered);
  assign awready = accepts && !reset;
  assign wready = takes && !reset;
  assign enters = burst_valid && burst_ready && !reset;
  assign hands = word_valid && word_ready && !reset;
  assign sends = awvalid && awready;
  assign gives = wvalid && wready;
  assign ends = gives && wlast;
  assign answered = bvalid && bready;

  // A part is answered only after its address and its last word. An offered response stays.
  logic waits_for_master = 1'b0;
  assign bvalid = !reset && answered_parts < parts && answered_parts < written_parts && (answers || waits_for_master);

  // The proof follows word number `chosen` and part number `watched`, which are arbitrary.
  (* anyconst *) logic [7:0] chosen;
  (* anyconst *) logic [7:0] watched;
  logic [7:0] from_burst, from_part, announced_length, written_length;
  logic [31:0] wanted;
  logic length_known = 1'b0;
  logic length_seen = 1'b0;

  // Words of bursts up to the one that is over next, by burst.
  logic [7:0] answered_words = '0;
  logic [7:0][7:0] lengths, part_lengths;

  assign from_burst = chosen - promised;
  assign from_part = chosen - announced;

  logic burst_waited = 1'b0;
  logic address_waited = 1'b0;
  logic word_waited = 1'b0;
  logic last_before;
  logic [31:0] burst_before, address_before, data_before;
  logic [7:0] beats_before, length_before;
  logic [3:0] slow_writer = '0;
  logic [3:0] slow_address = '0;
  logic [3:0] slow_word = '0;
  logic [3:0] slow_answer = '0;
  logic [3:0] idle = '0;

  always_ff @(posedge clock) begin
    if (enters) begin
      promised <= promised + burst_beats + 1'b1;
      bursts <= bursts + 1'b1;
      lengths[bursts[2:0]] <= burst_beats;
      if (from_burst <= burst_beats) wanted <= burst_address + 32'(from_burst) * BYTES;
    end
    if (hands) offered <= offered + 1'b1;
    if (sends) begin
      announced <= announced + awlen + 1'b1;
      parts <= parts + 1'b1;
      part_lengths[parts[2:0]] <= awlen;
      if (parts == watched) announced_length <= awlen;
      if (parts == watched) length_known <= 1'b1;
    end
    if (gives) begin
      written <= written + 1'b1;
      in_part <= wlast ? '0 : in_part + 1'b1;
    end
    if (ends) begin
      written_parts <= written_parts + 1'b1;
      if (written_parts == watched) written_length <= in_part;
      if (written_parts == watched) length_seen <= 1'b1;
    end
    if (answered) begin
      answered_parts <= answered_parts + 1'b1;
      answered_words <= answered_words + part_lengths[answered_parts[2:0]] + 1'b1;
    end
    if (responds && !reset) begin
      over <= over + 1'b1;
      answered_words <= answered_words - lengths[over[2:0]] - 1'b1
          + (answered ? part_lengths[answered_parts[2:0]] + 1'b1 : 8'd0);
    end
    waits_for_master <= bvalid && !bready;
    burst_waited   <= burst_valid && !burst_ready && !reset;
    burst_before   <= burst_address;
    beats_before   <= burst_beats;
    address_waited <= awvalid && !awready && !reset;
    address_before <= awaddr;
    length_before  <= awlen;
    word_waited    <= wvalid && !wready && !reset;
    data_before    <= wdata;
    last_before    <= wlast;
    slow_writer    <= !word_valid && offered != promised ? slow_writer + 1'b1 : '0;
    slow_address   <= awvalid && !awready ? slow_address + 1'b1 : '0;
    slow_word      <= wvalid && !wready ? slow_word + 1'b1 : '0;
    slow_answer    <= answered_parts < parts && answered_parts < written_parts && !bvalid ? slow_answer + 1'b1 : '0;
    idle           <= gives || answered || responds || over == bursts ? '0 : idle + 1'b1;
  end

  always_comb begin
    assume (length != 2'd3);
    // Words belong to bursts that have begun.
    assume (!word_valid || offered != promised);
    assume (32'(slow_writer) <= PATIENCE && 32'(slow_address) <= PATIENCE);
    assume (32'(slow_word) <= PATIENCE && 32'(slow_answer) <= PATIENCE);
    if (burst_waited) assume (burst_valid && burst_address == burst_before && burst_beats == beats_before);
    if (!reset) begin
      if (gives) in_order: assert (wdata == 32'(written) && written != offered);
      if (sends && from_part <= awlen) covers: assert (awaddr + 32'(from_part) * BYTES == wanted);
      if (length_known && length_seen) as_announced: assert (announced_length == written_length);
      if (address_waited) address_stays: assert (awvalid && awaddr == address_before && awlen == length_before);
      if (word_waited) word_stays: assert (wvalid && wdata == data_before && wlast == last_before);
      if (awvalid) within: assert (32'(awaddr[11:0]) + (32'(awlen) + 1) * BYTES <= 4096);
      // When the end of a burst is reported, all of its words have been answered.
      if (responds) over_after_its_words: assert (answered_words > lengths[over[2:0]] && over != bursts);
      if (PATIENCE == 0) moves_on: assert (32'(idle) <= LONGEST);
    end
  end

endmodule
