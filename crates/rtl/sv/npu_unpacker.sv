// Unpacks vectors that are stored in words of the bus without gaps. It is used if a vector is not a
// whole number of words.
//
// A burst has `burst_beats` + 1 words. Its vectors begin at scalar `burst_skipped` of the first
// word and end before scalar `burst_end` of the last word. In each cycle, the module accepts at
// most one word and outputs at most one vector. It accepts a word only if no whole vector remains.
//
// The released design does not have this module because its vectors are whole words.
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

  // The scalars of the word that belong to the burst, lowest first. Other scalars are not stored.
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
