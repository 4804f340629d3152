// Proves the read side of a bank's master against any memory that follows AXI. The words of all
// bursts are output, once and in order. Offered addresses stay, do not cross 4 KiB boundaries, and
// cover the bursts without gaps or overlaps. If memory and reader never wait, the master does not
// stop either.
//
// A word in the memory has its address as value, so a wrong, missing or repeated beat is detected.
module prove_read_master #(
    // Largest number of cycles that memory and reader wait.
    parameter int unsigned PATIENCE = 2
) (
    input logic        clock,
    input logic        burst_valid,
    input logic [ 1:0] place,
    input logic [ 1:0] length,
    input logic        word_ready,
    input logic        accepts,
    input logic        answers
);

  localparam int unsigned BYTES = 4;
  // Largest number of cycles without a word while one is expected and nobody waits. With one less,
  // the proof fails.
  localparam int unsigned LONGEST = 3;

  // Bursts are short and near a boundary. A separate proof covers the splitter for all bursts.
  logic [31:0] burst_address;
  logic [ 7:0] burst_beats;

  assign burst_address = {28'h0FF, place, 2'b00};
  assign burst_beats = {6'b0, length};

  logic reset = 1'b1;
  logic burst_ready, word_valid, arvalid, arready, rvalid, rready;
  npu_pkg::axi_address_t ar;
  logic [31:0] word, araddr, rdata;
  logic [7:0] arlen;

  always_ff @(posedge clock) reset <= 1'b0;

  npu_read_master #(
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
      .ar,
      .ar_ready   (arready),
      .r_valid    (rvalid),
      .r_ready    (rready),
      .r_data     (rdata)
  );

  assign arvalid = ar.valid;
  assign araddr = 32'(ar.addr);
  assign arlen = ar.len;

  // The memory answers at most four bursts, in order. An offered word stays until it is accepted.
  logic [3:0][31:0] addresses;
  logic [3:0][7:0] lengths;
  logic [2:0] held = '0;
  logic [7:0] beat = '0;
  logic offers = 1'b0;
  logic sends, receives, ends;

  assign arready = accepts && held < 3'd4 && !reset;
  assign rvalid = held != '0 && (answers || offers) && !reset;
  assign rdata = addresses[0] + 32'(beat) * BYTES;
  assign sends = arvalid && arready;
  assign receives = rvalid && rready;
  assign ends = receives && beat == lengths[0];

  always_ff @(posedge clock) begin
    offers <= rvalid && !rready;
    if (receives) beat <= ends ? '0 : beat + 1'b1;
    if (ends) begin
      addresses <= addresses >> 32;
      lengths   <= lengths >> 8;
    end
    if (sends) begin
      addresses[2'(held - 3'(ends))] <= araddr;
      lengths[2'(held - 3'(ends))]   <= arlen;
    end
    held <= held + 3'(sends) - 3'(ends);
  end

  // Number `chosen` of a word among all expected words, and its address in memory.
  (* anyconst *) logic [7:0] chosen;
  logic [7:0] promised = '0;
  logic [7:0] covered = '0;
  logic [7:0] given = '0;
  logic [7:0] from_burst, from_part;
  logic [31:0] wanted;
  logic enters, leaves;

  assign enters = burst_valid && burst_ready && !reset;
  assign leaves = word_valid && word_ready && !reset;
  assign from_burst = chosen - promised;
  assign from_part = chosen - covered;

  // An offered item stays until it is accepted.
  logic burst_waited = 1'b0;
  logic part_waited = 1'b0;
  logic [31:0] burst_before, part_before;
  logic [7:0] beats_before, length_before;
  logic [3:0] slow_reader = '0;
  logic [3:0] slow_address = '0;
  logic [3:0] slow_data = '0;
  logic [3:0] idle = '0;

  always_ff @(posedge clock) begin
    if (enters) begin
      promised <= promised + burst_beats + 1'b1;
      if (from_burst <= burst_beats) wanted <= burst_address + 32'(from_burst) * BYTES;
    end
    if (sends) covered <= covered + arlen + 1'b1;
    if (leaves) given <= given + 1'b1;
    burst_waited  <= burst_valid && !burst_ready && !reset;
    burst_before  <= burst_address;
    beats_before  <= burst_beats;
    part_waited   <= arvalid && !arready && !reset;
    part_before   <= araddr;
    length_before <= arlen;
    slow_reader   <= word_valid && !word_ready ? slow_reader + 1'b1 : '0;
    slow_address  <= arvalid && !arready ? slow_address + 1'b1 : '0;
    slow_data     <= held != '0 && !rvalid ? slow_data + 1'b1 : '0;
    idle          <= leaves || given == promised ? '0 : idle + 1'b1;
  end

  always_comb begin
    assume (length != 2'd3);
    assume (32'(slow_reader) <= PATIENCE && 32'(slow_address) <= PATIENCE && 32'(slow_data) <= PATIENCE);
    if (burst_waited) assume (burst_valid && burst_address == burst_before && burst_beats == beats_before);
    if (!reset) begin
      if (leaves) promised_word: assert (given != promised);
      if (leaves && given == chosen) in_order: assert (word == wanted);
      if (part_waited) stays: assert (arvalid && araddr == part_before && arlen == length_before);
      if (sends && from_part <= arlen) covers: assert (araddr + 32'(from_part) * BYTES == wanted);
      if (arvalid) within: assert (32'(araddr[11:0]) + (32'(arlen) + 1) * BYTES <= 4096);
      if (PATIENCE == 0) moves_on: assert (32'(idle) <= LONGEST);
    end
  end

endmodule
