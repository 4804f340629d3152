// Proves that the parts of a burst have all of its beats, once and in order. No part crosses a
// boundary of 4 KiB, or only by its last beat if that is allowed. While there is a burst, there is
// a part.
module prove_burst_splitter #(
    parameter int unsigned BEAT_BYTES = 16,
    parameter bit CROSSES_BY_A_BEAT = 1'b0
) (
    input logic        clock,
    input logic        burst_valid,
    input logic [31:0] burst_address,
    input logic [ 7:0] burst_beats,
    input logic        part_ready
);

  logic reset = 1'b1;
  logic burst_ready, part_valid, part_first, part_last, gives;
  logic [31:0] part_address;
  logic [ 7:0] part_beats;

  always_ff @(posedge clock) reset <= 1'b0;

  npu_burst_splitter #(
      .BEAT_BYTES       (BEAT_BYTES),
      .CROSSES_BY_A_BEAT(CROSSES_BY_A_BEAT)
  ) splitter (
      .clock, .reset,
      .burst_valid, .burst_ready, .burst_address, .burst_beats,
      .part_valid, .part_ready, .part_address, .part_beats, .part_first, .part_last
  );

  // Beats of this burst that have been output.
  logic [8:0] sent = '0;
  logic [9:0] reached;
  logic waited = 1'b0;
  logic [31:0] address_before;
  logic [ 7:0] beats_before;

  assign gives = part_valid && part_ready && !reset;
  assign reached = 10'(sent) + 10'(part_beats) + 1'b1;

  always_ff @(posedge clock) begin
    waited <= burst_valid && !burst_ready && !reset;
    address_before <= burst_address;
    beats_before <= burst_beats;
    if (gives) sent <= burst_ready ? '0 : 9'(reached);
  end

  always_comb begin
    assume (burst_address % BEAT_BYTES == 0);
    // An offered burst stays until it is accepted.
    if (waited) assume (burst_valid && burst_address == address_before && burst_beats == beats_before);
    if (!reset) begin
      offered: assert (part_valid == burst_valid);
      if (part_valid) begin
        in_order:   assert (part_address == burst_address + 32'(sent) * BEAT_BYTES);
        not_beyond: assert (32'(reached) <= 32'(burst_beats) + 1);
        to_the_end: assert (part_last == (32'(reached) == 32'(burst_beats) + 1));
        is_first:   assert (part_first == (sent == '0));
        is_done:    assert (burst_ready == (part_ready && part_last));
        within:     assert (
          32'(part_address[11:0]) + 32'(part_beats) * BEAT_BYTES + (CROSSES_BY_A_BEAT ? 0 : BEAT_BYTES) <= 4096
        );
      end
    end
  end

  (* hierconn *) wire [8:0] \splitter.done ;

  always_comb begin
    if (!reset) begin
      known: assert (\splitter.done == sent);
      apart: assert (waited || sent == '0);
      inside: assert (!waited || 32'(sent) <= 32'(beats_before));
    end
  end

endmodule
