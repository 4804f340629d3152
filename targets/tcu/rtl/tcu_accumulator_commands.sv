// Expands instructions for the accumulators to commands for single vectors.
//
// A move is a run of reads or writes starting at `run_address`. A SIMD instruction is one command
// that writes `run_address` and reads `run_read_address`. If `run.loads` is high, the command
// writes a vector to the lookup table that the destination's code selects. `step_` is the handshake
// that samples show.
//
// Source: the specification's 9.1, accumulator control.
module tcu_accumulator_commands #(
    parameter int unsigned ADDRESS_BITS = 11,
    parameter int unsigned STRIDE_BITS = 3,
    parameter int unsigned SIZE_BITS = 13,
    parameter int unsigned REGISTER_BITS = 1,
    parameter int unsigned QUEUE_DEPTH = 16
) (
    input logic clock,
    input logic reset,

    input  logic                          run_valid,
    output logic                          run_ready,
    input  tcu_pkg::command_t             run,
    input  logic [ADDRESS_BITS-1:0]       run_address,
    input  logic [STRIDE_BITS-1:0]        run_stride,
    input  logic [SIZE_BITS-1:0]          run_size,
    input  logic [ADDRESS_BITS-1:0]       run_read_address,
    input  logic [2:0][REGISTER_BITS-1:0] run_codes,
    output logic                          step_valid,
    output logic                          step_ready,

    output logic                          command_valid,
    input  logic                          command_ready,
    output tcu_pkg::command_t             command,
    output logic [ADDRESS_BITS-1:0]       write_address,
    output logic [ADDRESS_BITS-1:0]       read_address,
    output logic [2:0][REGISTER_BITS-1:0] codes
);

  typedef struct packed {
    tcu_pkg::command_t             command;
    logic [ADDRESS_BITS-1:0]       read_address;
    logic [2:0][REGISTER_BITS-1:0] codes;
  } vector_t;

  vector_t instruction, expanded;
  logic instruction_valid, instruction_ready, unused_last;
  logic [ADDRESS_BITS-1:0] first, address;
  logic [STRIDE_BITS-1:0] stride;
  logic [SIZE_BITS-1:0] size;

  npu_queue #(
      .WIDTH($bits(instruction) + ADDRESS_BITS + STRIDE_BITS + SIZE_BITS), .DEPTH(QUEUE_DEPTH),
      .FLOW(1'b1), .PIPE(1'b1)
  ) instructions (
      .clock, .reset,
      .in_valid(run_valid), .in_ready(run_ready),
      .in_data({run, run_read_address, run_codes, run_address, run_stride, run_size}),
      .out_valid(instruction_valid), .out_ready(instruction_ready),
      .out_data({instruction, first, stride, size})
  );

  npu_address_generator #(
      .ADDRESS_BITS(ADDRESS_BITS), .STRIDE_BITS(STRIDE_BITS), .SIZE_BITS(SIZE_BITS)
  ) addresses (
      .clock, .reset,
      .in_valid(instruction_valid), .in_ready(instruction_ready), .in_address(first),
      .in_stride(stride), .in_size(size), .in_descending(1'b0),
      .out_valid(step_valid), .out_ready(step_ready), .out_address(address),
      .out_last(unused_last)
  );

  always_comb begin
    expanded = instruction;
    if (!instruction.command.is_simd) expanded.read_address = address;
  end

  npu_queue #(.WIDTH($bits(expanded) + ADDRESS_BITS)) commands (
      .clock, .reset,
      .in_valid(step_valid), .in_ready(step_ready), .in_data({expanded, address}),
      .out_valid(command_valid), .out_ready(command_ready),
      .out_data({command, read_address, codes, write_address})
  );

endmodule
