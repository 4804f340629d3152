// Converts a bank's transfers to requests for contiguous vectors. A contiguous transfer is one
// request; a strided transfer is one request per vector.
//
// Sizes are numbers of vectors minus one. A request keeps the bank's offset and cache bits from the
// cycle in which its transfer was accepted.
//
// Source: the specification's 9.1, DRAM0 and DRAM1 request.
module tcu_dram_requests #(
    parameter int unsigned ADDRESS_BITS = 20,
    parameter int unsigned STRIDE_BITS = 3,
    parameter int unsigned SIZE_BITS = 13,
    parameter int unsigned WINDOW_BITS = 20,
    parameter int unsigned RUNS = 1
) (
    input logic clock,
    input logic reset,

    input  logic                    run_valid,
    output logic                    run_ready,
    input  logic                    run_write,
    input  logic [ADDRESS_BITS-1:0] run_address,
    input  logic [ STRIDE_BITS-1:0] run_stride,
    input  logic [   SIZE_BITS-1:0] run_size,
    input  logic [ WINDOW_BITS-1:0] run_window,
    output logic                    step_valid,
    output logic                    step_ready,

    output logic                    request_valid,
    input  logic                    request_ready,
    output logic                    request_write,
    output logic [ADDRESS_BITS-1:0] request_address,
    output logic [   SIZE_BITS-1:0] request_size,
    output logic [ WINDOW_BITS-1:0] request_window
);

  logic valid, ready, writes, is_strided, unused_last;
  logic [ADDRESS_BITS-1:0] first, address;
  logic [STRIDE_BITS-1:0] stride;
  logic [SIZE_BITS-1:0] size, vectors;
  logic [WINDOW_BITS-1:0] window;

  npu_queue #(
      .WIDTH(1 + ADDRESS_BITS + STRIDE_BITS + SIZE_BITS + WINDOW_BITS), .DEPTH(RUNS), .FLOW(1'b1),
      .PIPE(1'b1)
  ) runs (
      .clock, .reset,
      .in_valid(run_valid), .in_ready(run_ready),
      .in_data({run_write, run_address, run_stride, run_size, run_window}),
      .out_valid(valid), .out_ready(ready), .out_data({writes, first, stride, size, window})
  );

  assign is_strided = stride != '0;
  assign vectors = is_strided ? '0 : size;

  npu_address_generator #(
      .ADDRESS_BITS(ADDRESS_BITS), .STRIDE_BITS(STRIDE_BITS), .SIZE_BITS(SIZE_BITS)
  ) addresses (
      .clock, .reset,
      .in_valid(valid), .in_ready(ready), .in_address(first), .in_stride(stride),
      .in_size(is_strided ? size : '0), .in_descending(1'b0),
      .out_valid(step_valid), .out_ready(step_ready), .out_address(address),
      .out_last(unused_last)
  );

  npu_queue #(.WIDTH(1 + ADDRESS_BITS + SIZE_BITS + WINDOW_BITS)) requests (
      .clock, .reset,
      .in_valid(step_valid), .in_ready(step_ready), .in_data({writes, address, vectors, window}),
      .out_valid(request_valid), .out_ready(request_ready),
      .out_data({request_write, request_address, request_size, request_window})
  );

endmodule
