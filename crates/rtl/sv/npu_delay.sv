// Delays a word by a number of cycles. A delay of 0 is a wire.
//
// Part of the array, section 9.1 of the TCU specification.
module npu_delay #(
    parameter int unsigned WIDTH  = 16,
    parameter int unsigned CYCLES = 1
) (
    input  logic             clock,
    input  logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);

  if (CYCLES == 0) begin : gen_wire
    logic unused;
    assign unused = clock;
    assign out = in;
  end else begin : gen_registers
    // The newest word is lowest, and the oldest word is shifted out.
    logic [CYCLES*WIDTH-1:0] words;

    assign out = words[CYCLES*WIDTH-1-:WIDTH];

    always_ff @(posedge clock) words <= (CYCLES * WIDTH)'({words, in});
  end

endmodule
