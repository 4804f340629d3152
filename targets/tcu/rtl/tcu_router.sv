// The router between local memory's port A, the array and the accumulators.
//
// It accepts one instruction at a time and passes it to the selectors that take part. The selectors
// decide where local memory's words go, where the accumulators' words come from, and whether local
// memory receives words from the accumulators. `route_` describes an instruction; the other ports
// carry vectors.
//
// Source: the specification's 9.1, local router control.
module tcu_router #(
    parameter int unsigned VECTOR_BITS = 128,
    parameter int unsigned SIZE_BITS = 13,
    parameter int unsigned QUEUE_DEPTH = 16
) (
    input logic clock,
    input logic reset,

    input  logic                 route_valid,
    output logic                 route_ready,
    input  tcu_pkg::route_t      route,
    input  logic [SIZE_BITS-1:0] route_size,
    output logic                 offered,
    output logic                 taken,

    input  logic                   local_read_valid,
    output logic                   local_read_ready,
    input  logic [VECTOR_BITS-1:0] local_read_data,
    output logic                   local_write_valid,
    input  logic                   local_write_ready,
    output logic [VECTOR_BITS-1:0] local_write_data,

    output logic                   row_valid,
    input  logic                   row_ready,
    output logic [VECTOR_BITS-1:0] row_data,
    input  logic                   result_valid,
    output logic                   result_ready,
    input  logic [VECTOR_BITS-1:0] result_data,

    output logic                   accumulator_write_valid,
    input  logic                   accumulator_write_ready,
    output logic [VECTOR_BITS-1:0] accumulator_write_data,
    input  logic                   accumulator_read_valid,
    output logic                   accumulator_read_ready,
    input  logic [VECTOR_BITS-1:0] accumulator_read_data
);

  tcu_pkg::route_t offer;
  logic [SIZE_BITS-1:0] size;

  npu_queue #(
      .WIDTH($bits(offer) + SIZE_BITS), .DEPTH(QUEUE_DEPTH), .FLOW(1'b1), .PIPE(1'b1)
  ) instructions (
      .clock, .reset,
      .in_valid(route_valid), .in_ready(route_ready), .in_data({route, route_size}),
      .out_valid(offered), .out_ready(taken), .out_data({offer, size})
  );

  // In order: reads of local memory, writes of the accumulators, writes of local memory.
  logic [2:0] wanted, part_valid, part_ready;

  assign wanted[0] = offer.kind != tcu_pkg::ROUTE_MOVE_OUT && !offer.zeroes;
  assign wanted[1] = offer.kind == tcu_pkg::ROUTE_PRODUCT || offer.kind == tcu_pkg::ROUTE_MOVE_IN;
  assign wanted[2] = offer.kind == tcu_pkg::ROUTE_MOVE_OUT;

  npu_fork #(.PORTS(3)) parts (
      .clock, .reset,
      .in_valid(offered), .in_ready(taken),
      .wanted,
      .out_valid(part_valid), .out_ready(part_ready)
  );

  logic reads, reads_for_array, writes, writes_from_array, returns, unused_choice;
  logic read_passes, write_passes, return_passes;

  npu_selector #(.SIZE_BITS(SIZE_BITS)) local_reads (
      .clock, .reset,
      .in_valid(part_valid[0]), .in_ready(part_ready[0]),
      .in_choice(offer.kind != tcu_pkg::ROUTE_MOVE_IN), .in_size(size),
      .active(reads),
      .choice(reads_for_array),
      .passes(read_passes)
  );

  npu_selector #(.SIZE_BITS(SIZE_BITS), .DEPTH(QUEUE_DEPTH)) accumulator_writes (
      .clock, .reset,
      .in_valid(part_valid[1]), .in_ready(part_ready[1]),
      .in_choice(offer.kind == tcu_pkg::ROUTE_PRODUCT), .in_size(size),
      .active(writes),
      .choice(writes_from_array),
      .passes(write_passes)
  );

  npu_selector #(.SIZE_BITS(SIZE_BITS)) local_writes (
      .clock, .reset,
      .in_valid(part_valid[2]), .in_ready(part_ready[2]), .in_choice(1'b0), .in_size(size),
      .active(returns),
      .choice(unused_choice),
      .passes(return_passes)
  );

  logic moves_in, takes_in;

  assign moves_in = reads && !reads_for_array && local_read_valid;
  assign takes_in = writes && !writes_from_array && accumulator_write_ready;

  assign row_valid = reads && reads_for_array && local_read_valid;
  assign row_data = local_read_data;
  assign local_read_ready = reads && (reads_for_array ? row_ready : takes_in);
  assign read_passes = local_read_valid && local_read_ready;

  assign accumulator_write_valid = writes && (writes_from_array ? result_valid : moves_in);
  assign accumulator_write_data = writes_from_array ? result_data : local_read_data;
  assign result_ready = writes && writes_from_array && accumulator_write_ready;
  assign write_passes = accumulator_write_valid && accumulator_write_ready;

  assign local_write_valid = returns && accumulator_read_valid;
  assign local_write_data = accumulator_read_data;
  assign accumulator_read_ready = returns && local_write_ready;
  assign return_passes = local_write_valid && local_write_ready;

endmodule
