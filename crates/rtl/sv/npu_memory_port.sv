// The handshakes of one memory port, with one access per cycle, in order.
//
// A word that is read is available one cycle later and enters a queue of three. A read happens only
// if the queue holds fewer than two words at the start of the cycle, so that the word in progress
// always has room. A write happens when its word is available. The words themselves go directly to
// the memory.
module npu_memory_port #(
    parameter int unsigned WIDTH = 128
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             control_valid,
    output logic             control_ready,
    input  logic             control_write,
    input  logic             write_valid,
    output logic             write_ready,
    output logic             access,
    input  logic [WIDTH-1:0] fetched,
    output logic             read_valid,
    input  logic             read_ready,
    output logic [WIDTH-1:0] read_data
);

  logic is_fetched, has_room;
  logic [1:0] count;

  assign control_ready = control_write ? write_valid : count < 2'd2;
  assign write_ready = control_valid && control_write;
  assign access = control_valid && control_ready;

  always_ff @(posedge clock) begin
    if (reset) is_fetched <= 1'b0;
    else is_fetched <= access && !control_write;
  end

  npu_counted_queue #(.WIDTH(WIDTH), .DEPTH(3), .FLOW(1'b1)) words (
      .clock, .reset,
      .in_valid(is_fetched), .in_ready(has_room), .in_data(fetched),
      .out_valid(read_valid), .out_ready(read_ready), .out_data(read_data),
      .count
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset && is_fetched) word_has_room: assert (has_room);
  end
`endif

endmodule
