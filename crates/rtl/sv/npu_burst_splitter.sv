// Splits bursts at boundaries of 4 KiB.
//
// `beats` is the number of beats minus one. The released circuit does not split a burst whose last
// beat begins on the boundary, although AXI forbids such a burst. Only CROSSES_BY_A_BEAT gives this
// behavior.
//
// Source: the TCU specification's 9.1, locks and the 4 KiB check, and its notes on the latter.
module npu_burst_splitter #(
    parameter int unsigned BEAT_BYTES = 16,
    parameter int unsigned ADDRESS_BITS = 32,
    parameter bit CROSSES_BY_A_BEAT = 1'b0
) (
    input  logic        clock,
    input  logic        reset,
    input  logic        burst_valid,
    output logic        burst_ready,
    input  logic [ADDRESS_BITS-1:0] burst_address,
    input  logic [ 7:0] burst_beats,
    output logic        part_valid,
    input  logic        part_ready,
    output logic [ADDRESS_BITS-1:0] part_address,
    output logic [ 7:0] part_beats,
    output logic        part_first,
    output logic        part_last
);

  localparam int unsigned BOUNDARY = 4096;

  logic [8:0] done, left;
  logic [31:0] done_bytes, reach;
  logic [12:0] room;
  logic is_whole;

  assign done_bytes = 32'(done) * BEAT_BYTES;
  assign part_address = burst_address + ADDRESS_BITS'(done_bytes);
  assign left = {1'b0, burst_beats} + 1'b1 - done;
  assign room = (13'(BOUNDARY) - 13'(part_address[11:0])) / 13'(BEAT_BYTES);
  assign reach = 32'(burst_address[11:0]) + 32'(burst_beats) * BEAT_BYTES;
  assign is_whole = CROSSES_BY_A_BEAT && reach <= BOUNDARY;

  assign part_first = done == '0;
  assign part_last = is_whole || 13'(left) <= room;
  assign part_beats = 8'(part_last ? 13'(left) - 13'd1 : room - 13'd1);
  assign part_valid = burst_valid;
  assign burst_ready = part_ready && part_last;

  always_ff @(posedge clock) begin
    if (reset) done <= '0;
    else if (part_valid && part_ready) done <= part_last ? '0 : done + {1'b0, part_beats} + 1'b1;
  end

endmodule
