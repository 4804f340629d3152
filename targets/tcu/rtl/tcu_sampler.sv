// Performance samples: outputs one word every `interval` cycles unless `interval` is 0. A sample is
// dropped if the previous word has not been accepted.
//
// `handshakes` has valid and ready, from the lowest bit, of the array, the accumulators, the
// router, DRAM1, DRAM0, local memory's ports B and A, and the decoder. The last word of each block
// is marked.
//
// With INVALID_SAMPLES, a block that is incomplete when the interval becomes 0 is filled with
// invalid samples. If there was no sample before, a whole block of them is output. An invalid
// sample has ones as program counter and zeros as handshakes. A sample that becomes due meanwhile
// is dropped.
//
// Source: the specification's 9.7.
module tcu_sampler #(
    parameter int unsigned BLOCK = 1024,
    parameter bit INVALID_SAMPLES = 1'b0
) (
    input  logic        clock,
    input  logic        reset,
    input  logic [15:0] interval,
    input  logic        stops,
    input  logic [31:0] program_counter,
    input  logic [15:0] handshakes,
    output logic        sample_tvalid,
    input  logic        sample_tready,
    output logic [63:0] sample_tdata,
    output logic        sample_tlast
);

  localparam int unsigned PLACE_BITS = BLOCK > 1 ? $clog2(BLOCK) : 1;

  logic [15:0] remaining;
  logic [PLACE_BITS-1:0] place;
  logic is_due, is_free, is_missing, is_invalid, fills, has_begun;

  assign is_due = interval != '0 && remaining == '0;
  // Behind the word that is there.
  assign is_missing = sample_tvalid ? !sample_tlast : place != '0;
  assign is_invalid = INVALID_SAMPLES
      && ((is_missing && (interval == '0 || fills)) || (stops && !has_begun));
  assign is_free = !sample_tvalid || sample_tready;
  assign sample_tlast = place == PLACE_BITS'(BLOCK - 1);

  always_ff @(posedge clock) begin
    if (is_invalid && is_free) sample_tdata <= {32'b0, 32'hFFFF_FFFF};
    else if (is_due && is_free) sample_tdata <= {16'b0, handshakes, program_counter};
    if (reset) begin
      remaining     <= '0;
      place         <= '0;
      sample_tvalid <= 1'b0;
      fills         <= 1'b0;
      has_begun     <= 1'b0;
    end else begin
      fills <= is_invalid;
      if (is_free && (is_due || is_invalid)) has_begun <= 1'b1;
      if (interval == '0) remaining <= '0;
      else remaining <= is_due ? interval - 1'b1 : remaining - 1'b1;
      if (is_free) sample_tvalid <= is_due || is_invalid;
      if (sample_tvalid && sample_tready) place <= sample_tlast ? '0 : place + 1'b1;
    end
  end

`ifndef SYNTHESIS
  npu_stays #(.WIDTH(65)) sample_stays (
      .clock, .reset,
      .valid(sample_tvalid), .ready(sample_tready), .data({sample_tlast, sample_tdata})
  );
`endif

endmodule
