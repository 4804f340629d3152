// Extracts instructions from a stream of bytes. Instructions are packed without gaps; the first
// byte is in the lowest lane.
//
// The program excludes bytes that tkeep masks; the other bytes are the lowest ones of a beat. A
// beat need not hold a whole number of instructions, and the last instruction need not end with a
// beat. The first instruction of a beat is available one cycle later.
//
// Source: the specification's 3.2 and 9.1, instruction input.
module tcu_instruction_stream #(
    parameter int unsigned STREAM_BYTES = 16,
    parameter int unsigned INSTRUCTION_BYTES = 8
) (
    input  logic                             clock,
    input  logic                             reset,
    input  logic                             stream_valid,
    output logic                             stream_ready,
    input  logic [     8*STREAM_BYTES-1:0] stream_data,
    input  logic [       STREAM_BYTES-1:0] stream_keep,
    output logic                             instruction_valid,
    input  logic                             instruction_ready,
    output logic [8*INSTRUCTION_BYTES-1:0] instruction
);

  // The buffer has room for a beat in addition to an instruction and all but one byte of another
  // beat.
  localparam int unsigned CAPACITY = 2 * STREAM_BYTES + INSTRUCTION_BYTES;
  localparam int unsigned COUNT_BITS = $clog2(CAPACITY + 1);

  logic [8*CAPACITY-1:0] bytes, left;
  logic [COUNT_BITS-1:0] count, left_count, kept;
  logic gives, takes;

  assign instruction_valid = count >= COUNT_BITS'(INSTRUCTION_BYTES);
  assign instruction = bytes[8*INSTRUCTION_BYTES-1:0];
  assign stream_ready = count <= COUNT_BITS'(CAPACITY - STREAM_BYTES);
  assign gives = instruction_valid && instruction_ready;
  assign takes = stream_valid && stream_ready;

  assign left = gives ? bytes >> (8 * INSTRUCTION_BYTES) : bytes;
  assign left_count = gives ? count - COUNT_BITS'(INSTRUCTION_BYTES) : count;

  always_comb begin
    kept = '0;
    for (int unsigned i = 0; i < STREAM_BYTES; i++) kept += COUNT_BITS'(stream_keep[i]);
  end

  // Bytes above the count are overwritten before they are used, so they need not be cleared.
  logic [8*STREAM_BYTES-1:0] beat;

  always_comb begin
    for (int unsigned i = 0; i < STREAM_BYTES; i++) beat[8*i+:8] = stream_keep[i] ? stream_data[8*i+:8] : '0;
  end

  always_ff @(posedge clock) begin
    if (reset) begin
      bytes <= '0;
      count <= '0;
    end else begin
      bytes <= takes ? left | ((8 * CAPACITY)'(beat) << (8 * 32'(left_count))) : left;
      count <= takes ? left_count + kept : left_count;
    end
  end

`ifndef SYNTHESIS
  npu_stays #(.WIDTH(9 * STREAM_BYTES)) beat_stays (
      .clock, .reset,
      .valid(stream_valid), .ready(stream_ready), .data({stream_keep, stream_data})
  );
`endif

endmodule
