// Local memory: port A serves the array and the accumulators, port B the banks of DRAM.
//
// Each port takes a run of vectors to read or to write and is rid of it in the cycle of the last
// access. Bit or element 0 of each signal is port A's, 1 is port B's. `access_ready` is for
// samples.
//
// Source: the specification's 9.1. The lock of its halves is left out: the decoder hands out one
// run at a time, so that it would never delay anything.
module tcu_local_memory #(
    parameter int unsigned VECTOR_BITS = 128,
    parameter int unsigned DEPTH = 8192,
    parameter int unsigned STRIDE_BITS = 3,
    localparam int unsigned ADDRESS_BITS = $clog2(DEPTH)
) (
    input  logic                         clock,
    input  logic                         reset,
    input  logic [1:0]                   run_valid,
    output logic [1:0]                   run_ready,
    input  logic [1:0]                   run_write,
    input  logic [1:0]                   run_descending,
    input  logic [1:0][ADDRESS_BITS-1:0] run_address,
    input  logic [1:0][ STRIDE_BITS-1:0] run_stride,
    input  logic [1:0][ADDRESS_BITS-1:0] run_size,
    output logic [1:0]                   access_ready,
    output logic [1:0]                   access,
    input  logic [1:0]                   write_valid,
    output logic [1:0]                   write_ready,
    input  logic [1:0][ VECTOR_BITS-1:0] write_data,
    output logic [1:0]                   read_valid,
    input  logic [1:0]                   read_ready,
    output logic [1:0][ VECTOR_BITS-1:0] read_data
);

  logic [1:0] control_valid, unused_last;
  logic [1:0][ADDRESS_BITS-1:0] address;
  logic [1:0][ VECTOR_BITS-1:0] fetched;

  for (genvar side = 0; side < 2; side++) begin : gen_port
    npu_address_generator #(
        .ADDRESS_BITS(ADDRESS_BITS),
        .STRIDE_BITS (STRIDE_BITS),
        .SIZE_BITS   (ADDRESS_BITS)
    ) addresses (
        .clock,
        .reset,
        .in_valid     (run_valid[side]),
        .in_ready     (run_ready[side]),
        .in_address   (run_address[side]),
        .in_stride    (run_stride[side]),
        .in_size      (run_size[side]),
        .in_descending(run_descending[side]),
        .out_valid    (control_valid[side]),
        .out_ready    (access_ready[side]),
        .out_address  (address[side]),
        .out_last     (unused_last[side])
    );

    npu_memory_port #(
        .WIDTH(VECTOR_BITS)
    ) port (
        .clock,
        .reset,
        .control_valid(control_valid[side]),
        .control_ready(access_ready[side]),
        .control_write(run_write[side]),
        .write_valid  (write_valid[side]),
        .write_ready  (write_ready[side]),
        .access       (access[side]),
        .fetched      (fetched[side]),
        .read_valid   (read_valid[side]),
        .read_ready   (read_ready[side]),
        .read_data    (read_data[side])
    );
  end

  npu_ram #(
      .WIDTH(VECTOR_BITS),
      .DEPTH(DEPTH)
  ) ram (
      .clock,
      .a_access (access[0]),
      .a_write  (run_write[0]),
      .a_address(address[0]),
      .a_in     (write_data[0]),
      .a_out    (fetched[0]),
      .b_access (access[1]),
      .b_write  (run_write[1]),
      .b_address(address[1]),
      .b_in     (write_data[1]),
      .b_out    (fetched[1])
  );

endmodule
