// Instructions for the accumulators, expanded to commands for single vectors.
//
// A move is a run of reads or writes of `run_address`; a SIMD instruction is one command, which
// writes `run_address` and reads `run_read_address`; `loads` says that what is written is a vector of lookup table
// `destination`. `step_` is the handshake that samples show.
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

    input  logic                     run_valid,
    output logic                     run_ready,
    input  logic                     run_is_simd,
    input  logic                     run_reads,
    input  logic                     run_writes,
    input  logic                     run_loads,
    input  logic                     run_accumulates,
    input  logic [ ADDRESS_BITS-1:0] run_address,
    input  logic [  STRIDE_BITS-1:0] run_stride,
    input  logic [    SIZE_BITS-1:0] run_size,
    input  logic [ ADDRESS_BITS-1:0] run_read_address,
    input  logic [4:0]                 run_op,
    input  logic [REGISTER_BITS-1:0] run_left,
    input  logic [REGISTER_BITS-1:0] run_right,
    input  logic [REGISTER_BITS-1:0] run_destination,
    output logic                     step_valid,
    output logic                     step_ready,

    output logic                     command_valid,
    input  logic                     command_ready,
    output logic                     is_simd,
    output logic                     reads,
    output logic                     writes,
    output logic                     loads,
    output logic                     accumulates,
    output logic [ ADDRESS_BITS-1:0] write_address,
    output logic [ ADDRESS_BITS-1:0] read_address,
    output logic [4:0]                 op,
    output logic [REGISTER_BITS-1:0] left,
    output logic [REGISTER_BITS-1:0] right,
    output logic [REGISTER_BITS-1:0] destination
);

  typedef struct packed {
    logic                     is_simd;
    logic                     reads;
    logic                     writes;
    logic                     loads;
    logic                     accumulates;
    logic [ADDRESS_BITS-1:0]  read_address;
    logic [4:0]                 op;
    logic [REGISTER_BITS-1:0] left;
    logic [REGISTER_BITS-1:0] right;
    logic [REGISTER_BITS-1:0] destination;
  } command_t;

  command_t entered, instruction, expanded, command;
  logic instruction_valid, instruction_ready, unused_last;
  logic [ADDRESS_BITS-1:0] first, address;
  logic [STRIDE_BITS-1:0] stride;
  logic [SIZE_BITS-1:0] size;
  logic [$clog2(QUEUE_DEPTH + 1)-1:0] unused_instructions;
  logic [1:0] unused_commands;

  always_comb begin
    entered.is_simd = run_is_simd;
    entered.reads = run_reads;
    entered.writes = run_writes;
    entered.loads = run_loads;
    entered.accumulates = run_accumulates;
    entered.read_address = run_read_address;
    entered.op = run_op;
    entered.left = run_left;
    entered.right = run_right;
    entered.destination = run_destination;
  end

  tcu_queue #(
      .WIDTH($bits(entered) + ADDRESS_BITS + STRIDE_BITS + SIZE_BITS),
      .DEPTH(QUEUE_DEPTH),
      .FLOW (1'b1),
      .PIPE (1'b1)
  ) instructions (
      .clock,
      .reset,
      .in_valid (run_valid),
      .in_ready (run_ready),
      .in_data  ({entered, run_address, run_stride, run_size}),
      .out_valid(instruction_valid),
      .out_ready(instruction_ready),
      .out_data ({instruction, first, stride, size}),
      .count    (unused_instructions)
  );

  tcu_address_generator #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .STRIDE_BITS (STRIDE_BITS),
      .SIZE_BITS   (SIZE_BITS)
  ) addresses (
      .clock,
      .reset,
      .in_valid     (instruction_valid),
      .in_ready     (instruction_ready),
      .in_address   (first),
      .in_stride    (stride),
      .in_size      (size),
      .in_descending(1'b0),
      .out_valid    (step_valid),
      .out_ready    (step_ready),
      .out_address  (address),
      .out_last     (unused_last)
  );

  always_comb begin
    expanded = instruction;
    if (!instruction.is_simd) expanded.read_address = address;
  end

  tcu_queue #(
      .WIDTH($bits(expanded) + ADDRESS_BITS)
  ) commands (
      .clock,
      .reset,
      .in_valid (step_valid),
      .in_ready (step_ready),
      .in_data  ({expanded, address}),
      .out_valid(command_valid),
      .out_ready(command_ready),
      .out_data ({command, write_address}),
      .count    (unused_commands)
  );

  assign is_simd = command.is_simd;
  assign reads = command.reads;
  assign writes = command.writes;
  assign loads = command.loads;
  assign accumulates = command.accumulates;
  assign read_address = command.read_address;
  assign op = command.op;
  assign left = command.left;
  assign right = command.right;
  assign destination = command.destination;

endmodule
