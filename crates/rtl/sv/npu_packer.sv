// Packs vectors into words of the bus without gaps. It is used if a vector is not a whole number of
// words.
//
// A burst has `burst_vectors` vectors, starting at scalar `burst_skipped` of its first word. All
// words except the first and the last are full. `places` has a bit for each scalar of a word, which
// is high if the scalar belongs to a vector. In each cycle, the module accepts at most one vector
// and outputs at most one word. It accepts a vector only if no whole word remains.
//
// The released design does not have this module because its vectors are whole words.
module npu_packer #(
    parameter int unsigned SLOT_BITS = 16,
    parameter int unsigned LANES = 3,
    parameter int unsigned PLACES = 8,
    parameter int unsigned VECTORS_BITS = 9,
    localparam int unsigned SKIP_BITS = $clog2(PLACES)
) (
    input  logic                             clock,
    input  logic                             reset,
    input  logic                             burst_valid,
    input  logic [            SKIP_BITS-1:0] burst_skipped,
    input  logic [         VECTORS_BITS-1:0] burst_vectors,
    input  logic                             vector_valid,
    output logic                             vector_ready,
    input  logic [LANES-1:0][SLOT_BITS-1:0]  vector,
    output logic                             word_valid,
    input  logic                             word_ready,
    output logic [PLACES-1:0][SLOT_BITS-1:0] word,
    output logic [               PLACES-1:0] places
);

  localparam int unsigned CAPACITY = LANES + PLACES - 1;
  localparam int unsigned HELD_BITS = $clog2(CAPACITY + 1);

  logic [CAPACITY-1:0][SLOT_BITS-1:0] scalars, kept, added;
  logic [CAPACITY-1:0] are_there, are_kept, are_added;
  logic [HELD_BITS-1:0] held, left, place;
  logic [VECTORS_BITS-1:0] taken;
  logic is_complete, takes, gives;

  assign is_complete = taken == burst_vectors;
  assign word_valid = held >= HELD_BITS'(PLACES) || (is_complete && held != '0);
  assign word = scalars[PLACES-1:0];
  assign places = are_there[PLACES-1:0];
  assign gives = word_valid && word_ready;

  always_comb begin
    left = held;
    kept = scalars;
    are_kept = are_there;
    if (gives) begin
      left = held > HELD_BITS'(PLACES) ? held - HELD_BITS'(PLACES) : '0;
      kept = scalars >> (PLACES * SLOT_BITS);
      are_kept = are_there >> PLACES;
    end
  end

  // The first vector of a burst follows the skipped scalars.
  assign vector_ready = burst_valid && !is_complete && left < HELD_BITS'(PLACES);
  assign takes = vector_valid && vector_ready;
  assign place = taken == '0 ? HELD_BITS'(burst_skipped) : left;
  assign added = (CAPACITY * SLOT_BITS)'(vector) << (32'(place) * SLOT_BITS);
  assign are_added = CAPACITY'({LANES{1'b1}}) << place;

  always_ff @(posedge clock) begin
    for (int unsigned i = 0; i < CAPACITY; i++) scalars[i] <= takes && are_added[i] ? added[i] : kept[i];
    if (reset) begin
      are_there <= '0;
      held      <= '0;
      taken     <= '0;
    end else begin
      are_there <= takes ? are_kept | are_added : are_kept;
      held <= takes ? place + HELD_BITS'(LANES) : left;
      if (takes) taken <= taken + 1'b1;
      else if (gives && is_complete && left == '0) taken <= '0;
    end
  end

endmodule
