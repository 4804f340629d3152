// Outputs a vector as words of the bus, lowest word first, starting in the cycle after the vector
// was accepted.
//
// Source: the TCU specification's 9.1, AXI side, and its notes on writes.
module npu_vector_to_words #(
    parameter int unsigned WORD_BITS = 128,
    parameter int unsigned WORDS = 4
) (
    input  logic                       clock,
    input  logic                       reset,
    input  logic                       vector_valid,
    output logic                       vector_ready,
    input  logic [WORDS*WORD_BITS-1:0] vector,
    output logic                       word_valid,
    input  logic                       word_ready,
    output logic [      WORD_BITS-1:0] word
);

  localparam int unsigned INDEX_BITS = WORDS > 1 ? $clog2(WORDS) : 1;

  logic [WORDS*WORD_BITS-1:0] words;
  logic [INDEX_BITS-1:0] index;
  logic is_last, gives;

  assign is_last = index == INDEX_BITS'(WORDS - 1);
  assign gives = word_valid && word_ready;
  assign vector_ready = !word_valid || (gives && is_last);
  assign word = words[WORD_BITS-1:0];

  always_ff @(posedge clock) begin
    if (vector_ready) words <= vector;
    else if (gives) words <= (WORDS * WORD_BITS)'({WORD_BITS'(0), words} >> WORD_BITS);
    if (reset) begin
      index      <= '0;
      word_valid <= 1'b0;
    end else begin
      if (vector_ready) word_valid <= vector_valid;
      if (gives) index <= is_last ? '0 : index + 1'b1;
    end
  end

endmodule
