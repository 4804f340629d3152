// The router between local memory's port B and both banks of DRAM. It handles one transfer at a
// time.
//
// `route_` describes a transfer: its bank and whether it writes to DRAM. The other ports carry
// vectors: element 0 belongs to DRAM0, element 1 to DRAM1.
//
// Source: the specification's 9.1, host router control.
module tcu_host_router #(
    parameter int unsigned VECTOR_BITS = 128,
    parameter int unsigned SIZE_BITS   = 13
) (
    input logic clock,
    input logic reset,

    input  logic                 route_valid,
    output logic                 route_ready,
    input  logic                 route_bank,
    input  logic                 route_write,
    input  logic [SIZE_BITS-1:0] route_size,

    input  logic                   local_read_valid,
    output logic                   local_read_ready,
    input  logic [VECTOR_BITS-1:0] local_read_data,
    output logic                   local_write_valid,
    input  logic                   local_write_ready,
    output logic [VECTOR_BITS-1:0] local_write_data,

    output logic [1:0]                  dram_write_valid,
    input  logic [1:0]                  dram_write_ready,
    output logic [VECTOR_BITS-1:0]      dram_write_data,
    input  logic [1:0]                  dram_read_valid,
    output logic [1:0]                  dram_read_ready,
    input  logic [1:0][VECTOR_BITS-1:0] dram_read_data
);

  logic active, bank, writes, passes;

  npu_selector #(.CHOICE_BITS(2), .SIZE_BITS(SIZE_BITS)) transfers (
      .clock, .reset,
      .in_valid(route_valid), .in_ready(route_ready), .in_choice({route_bank, route_write}),
      .in_size(route_size),
      .active,
      .choice({bank, writes}),
      .passes
  );

  logic [1:0] is_bank;

  assign is_bank = active ? 2'b01 << bank : 2'b00;

  assign dram_write_valid = is_bank & {2{writes && local_read_valid}};
  assign dram_write_data = local_read_data;
  assign local_read_ready = active && writes && dram_write_ready[bank];

  assign local_write_valid = active && !writes && dram_read_valid[bank];
  assign local_write_data = dram_read_data[bank];
  assign dram_read_ready = is_bank & {2{!writes && local_write_ready}};

  assign passes = writes ? local_read_valid && local_read_ready : local_write_valid && local_write_ready;

endmodule
