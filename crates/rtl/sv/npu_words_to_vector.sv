// Combines words of the bus into a vector, the first word lowest. A vector of one word passes
// unchanged.
//
// Source: the TCU specification's 9.1, AXI side, and its notes on vectors of several beats.
module npu_words_to_vector #(
    parameter int unsigned WORD_BITS = 128,
    parameter int unsigned WORDS = 4
) (
    input  logic                       clock,
    input  logic                       reset,
    input  logic                       word_valid,
    output logic                       word_ready,
    input  logic [      WORD_BITS-1:0] word,
    output logic                       vector_valid,
    input  logic                       vector_ready,
    output logic [WORDS*WORD_BITS-1:0] vector
);

  if (WORDS == 1) begin : gen_wire
    logic unused;
    assign unused = clock ^ reset;
    assign word_ready = vector_ready;
    assign vector_valid = word_valid;
    assign vector = word;
  end else begin : gen_register
    localparam int unsigned INDEX_BITS = $clog2(WORDS);

    logic [INDEX_BITS-1:0] index;
    logic is_last, takes;

    assign is_last = index == INDEX_BITS'(WORDS - 1);
    assign word_ready = !vector_valid || vector_ready;
    assign takes = word_valid && word_ready;

    always_ff @(posedge clock) begin
      if (takes) vector <= {word, vector[WORDS*WORD_BITS-1:WORD_BITS]};
      if (reset) begin
        index        <= '0;
        vector_valid <= 1'b0;
      end else begin
        if (takes) index <= is_last ? '0 : index + 1'b1;
        if (word_ready) vector_valid <= takes && is_last;
      end
    end
  end

endmodule
