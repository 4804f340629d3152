// A first-in, first-out queue with a handshake on both sides: npu_counted_queue without the count.
module npu_queue #(
    parameter int unsigned WIDTH = 8,
    parameter int unsigned DEPTH = 2,
    parameter bit FLOW = 1'b0,
    parameter bit PIPE = 1'b0
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);

  logic [$clog2(DEPTH + 1)-1:0] unused_count;

  npu_counted_queue #(.WIDTH(WIDTH), .DEPTH(DEPTH), .FLOW(FLOW), .PIPE(PIPE)) queue (
      .clock, .reset,
      .in_valid, .in_ready, .in_data,
      .out_valid, .out_ready, .out_data,
      .count(unused_count)
  );

endmodule
