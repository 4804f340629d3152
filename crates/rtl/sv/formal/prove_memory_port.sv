// Proves that a memory port outputs each word that is read, once and in order. A word is read only
// if the port has room for it. A write takes its word in the cycle of the access.
module prove_memory_port (
    input logic       clock,
    input logic       control_valid,
    input logic       control_write,
    input logic       write_valid,
    input logic       read_ready
);

  logic reset = 1'b1;
  logic control_ready, write_ready, access, read_valid;
  logic [3:0] fetched, read_data;

  always_ff @(posedge clock) reset <= 1'b0;

  npu_memory_port #(
      .WIDTH(4)
  ) port (
      .clock, .reset,
      .control_valid, .control_ready, .control_write,
      .write_valid, .write_ready,
      .access, .fetched,
      .read_valid, .read_ready, .read_data
  );

  // The k-th word that is read has the value k, so a missing or additional word is detected.
  logic [3:0] asked = '0;
  logic [3:0] given = '0;
  logic waited = 1'b0;
  logic write_before;
  logic reads, leaves;

  assign reads = access && !control_write && !reset;
  assign leaves = read_valid && read_ready && !reset;

  always_ff @(posedge clock) begin
    if (reads) begin
      asked   <= asked + 1'b1;
      fetched <= asked;
    end
    if (leaves) given <= given + 1'b1;
    waited <= control_valid && !control_ready && !reset;
    write_before <= control_write;
  end

  always_comb begin
    if (waited) assume (control_valid && control_write == write_before);
    if (!reset) begin
      if (read_valid) in_order: assert (read_data == given);
      none_too_many: assert (asked - given <= 4'd3);
      if (read_valid) asked_for: assert (asked != given);
      writes_with_word: assert ((access && control_write) == (write_valid && write_ready));
      // A write waits only for its word, and a read only for room. Accepting words makes room.
      no_wait: assert (!control_valid || control_ready || (control_write ? !write_valid : read_valid));
    end
  end

endmodule
