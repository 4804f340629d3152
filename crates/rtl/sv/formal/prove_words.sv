// Proves that vectors pass both converters unchanged, once and in order, and that none is kept
// forever. The words in between may be delayed at any pace.
module prove_words #(
    parameter int unsigned WORDS = 3
) (
    input logic clock,
    input logic vector_valid,
    input logic may_pass,
    input logic taken_ready
);

  localparam int unsigned BITS = 4;

  logic reset = 1'b1;
  logic vector_ready, word_valid, word_ready, between_ready, out_valid;
  logic [BITS-1:0] word;
  logic [WORDS*BITS-1:0] vector, out;

  always_ff @(posedge clock) reset <= 1'b0;

  // Each word of vector k is k plus the word's position.
  logic [BITS-1:0] entered = '0;
  logic [BITS-1:0] left = '0;

  function automatic logic [WORDS*BITS-1:0] made(input logic [BITS-1:0] number);
    for (int unsigned i = 0; i < WORDS; i++) made[BITS*i+:BITS] = number + BITS'(i);
  endfunction

  assign vector = made(entered);
  assign word_ready = between_ready && may_pass;

  npu_vector_to_words #(
      .WORD_BITS(BITS),
      .WORDS    (WORDS)
  ) serialiser (
      .clock, .reset,
      .vector_valid, .vector_ready, .vector,
      .word_valid, .word_ready, .word
  );

  npu_words_to_vector #(
      .WORD_BITS(BITS),
      .WORDS    (WORDS)
  ) collector (
      .clock,
      .reset,
      .word_valid  (word_valid && may_pass),
      .word_ready  (between_ready),
      .word,
      .vector_valid(out_valid),
      .vector_ready(taken_ready),
      .vector      (out)
  );

  logic enters, leaves;
  // Cycles since the last transfer in which nothing outside caused a wait.
  logic [3:0] idle = '0;

  assign enters = vector_valid && vector_ready && !reset;
  assign leaves = out_valid && taken_ready && !reset;

  always_ff @(posedge clock) begin
    if (enters) entered <= entered + 1'b1;
    if (leaves) left <= left + 1'b1;
    if (leaves || entered == left) idle <= '0;
    else if (may_pass && taken_ready) idle <= idle + 1'b1;
  end

  always_comb begin
    if (!reset) begin
      if (out_valid) in_order: assert (out == made(left));
      if (out_valid && WORDS > 1) entered_before: assert (entered != left);
      few: assert (entered - left <= BITS'(3));
      moves_on: assert (32'(idle) <= WORDS + 1);
    end
  end

endmodule
