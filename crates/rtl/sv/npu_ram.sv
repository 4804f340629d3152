// A memory of vectors with two ports. Each port makes one access per cycle; a word that is read is
// available one cycle later.
//
// A read sees all writes of earlier cycles through either port. The initial contents are undefined
// unless the FPGA tools define them. No module relies on them.
//
// Source: the TCU specification's 9.1.
module npu_ram #(
    parameter int unsigned WIDTH = 128,
    parameter int unsigned DEPTH = 8192,
    localparam int unsigned ADDRESS_BITS = $clog2(DEPTH)
) (
    input  logic                    clock,
    input  logic                    a_access,
    input  logic                    a_write,
    input  logic [ADDRESS_BITS-1:0] a_address,
    input  logic [       WIDTH-1:0] a_in,
    output logic [       WIDTH-1:0] a_out,
    input  logic                    b_access,
    input  logic                    b_write,
    input  logic [ADDRESS_BITS-1:0] b_address,
    input  logic [       WIDTH-1:0] b_in,
    output logic [       WIDTH-1:0] b_out
);

  logic [WIDTH-1:0] memory[DEPTH];

  always_ff @(posedge clock) begin
    if (a_access) begin
      if (a_write) memory[a_address] <= a_in;
      else a_out <= memory[a_address];
    end
    if (b_access) begin
      if (b_write) memory[b_address] <= b_in;
      else b_out <= memory[b_address];
    end
  end

endmodule
