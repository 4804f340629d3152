// Words of the bus as vectors that lie in them behind each other, where a vector is no whole number
// of words.
//
// A burst is of `burst_beats` words and one more, its vectors from scalar `burst_skipped` of the
// first on and up to scalar `burst_end` of the last. A cycle takes a word or none, and gives a
// vector or none; a word is taken when no whole vector stays.
//
// No part of the released design, whose vectors are whole words.
module npu_unpacker #(
    parameter int unsigned SLOT_BITS = 16,
    parameter int unsigned LANES = 3,
    parameter int unsigned PLACES = 8,
    localparam int unsigned SKIP_BITS = $clog2(PLACES)
) (
    input  logic                             clock,
    input  logic                             reset,
    input  logic                             burst_valid,
    output logic                             burst_ready,
    input  logic [            SKIP_BITS-1:0] burst_skipped,
    input  logic [              SKIP_BITS:0] burst_end,
    input  logic [                      7:0] burst_beats,
    input  logic                             word_valid,
    output logic                             word_ready,
    input  logic [PLACES-1:0][SLOT_BITS-1:0] word,
    output logic                             vector_valid,
    input  logic                             vector_ready,
    output logic [LANES-1:0][SLOT_BITS-1:0]  vector
);

  localparam int unsigned CAPACITY = LANES + PLACES - 1;
  localparam int unsigned HELD_BITS = $clog2(CAPACITY + 1);

  logic [CAPACITY-1:0][SLOT_BITS-1:0] scalars, kept, added;
  logic [PLACES-1:0][SLOT_BITS-1:0] own;
  logic [HELD_BITS-1:0] held, left;
  logic [SKIP_BITS:0] first, past, count;
  logic [7:0] index;
  logic is_last, takes, gives;

  assign vector_valid = held >= HELD_BITS'(LANES);
  assign vector = scalars[LANES-1:0];
  assign gives = vector_valid && vector_ready;
  assign left = gives ? held - HELD_BITS'(LANES) : held;
  assign kept = gives ? scalars >> (LANES * SLOT_BITS) : scalars;

  assign is_last = index == burst_beats;
  assign word_ready = burst_valid && left < HELD_BITS'(LANES);
  assign takes = word_valid && word_ready;
  assign burst_ready = takes && is_last;

  // The scalars of the word that are the burst's, the lowest first; what is beyond them is not
  // held.
  assign first = index == '0 ? {1'b0, burst_skipped} : '0;
  assign past = is_last ? burst_end : (SKIP_BITS + 1)'(PLACES);
  assign count = past - first;

  assign own = word >> (32'(first) * SLOT_BITS);
  assign added = (CAPACITY * SLOT_BITS)'(own) << (32'(left) * SLOT_BITS);

  always_ff @(posedge clock) begin
    for (int unsigned i = 0; i < CAPACITY; i++) scalars[i] <= takes && i >= 32'(left) ? added[i] : kept[i];
    if (reset) begin
      held  <= '0;
      index <= '0;
    end else begin
      held <= takes ? left + HELD_BITS'(count) : left;
      if (takes) index <= is_last ? '0 : index + 1'b1;
    end
  end

endmodule
