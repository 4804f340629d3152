// The handshakes of one port of a memory: an access a cycle, in order.
//
// A read has its word one cycle later, which enters a queue of three. A read happens only while
// that queue holds less than two at the start of the cycle, so that the word under way always finds
// room. A write happens when its word is there. The words themselves go to the memory directly.
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
