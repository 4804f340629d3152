// Generates the addresses of a run of vectors: `address`, then every 2^stride-th address, upward,
// or downward from the run's end.
//
// `size` is the number of vectors minus one. The module has no queue: a run is accepted in the
// cycle of its last address.
//
// Source: the TCU specification's 4 (order of elements) and 9.1 (address generators).
module npu_address_generator #(
    parameter int unsigned ADDRESS_BITS = 13,
    parameter int unsigned STRIDE_BITS = 3,
    parameter int unsigned SIZE_BITS = 13
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    in_valid,
    output logic                    in_ready,
    input  logic [ADDRESS_BITS-1:0] in_address,
    input  logic [ STRIDE_BITS-1:0] in_stride,
    input  logic [   SIZE_BITS-1:0] in_size,
    input  logic                    in_descending,
    output logic                    out_valid,
    input  logic                    out_ready,
    output logic [ADDRESS_BITS-1:0] out_address,
    output logic                    out_last
);

  logic [   SIZE_BITS-1:0] index;
  logic [ADDRESS_BITS-1:0] offset, span;

  // Addresses wrap around at their width, and bits that a stride shifts out are lost.
  assign span = ADDRESS_BITS'(in_size) << in_stride;
  assign out_address = in_descending ? in_address + span - offset : in_address + offset;
  assign out_last = index == in_size;
  assign out_valid = in_valid;
  assign in_ready = out_ready && out_last;

  always_ff @(posedge clock) begin
    if (reset || (in_valid && in_ready)) begin
      index  <= '0;
      offset <= '0;
    end else if (in_valid && out_ready) begin
      index  <= index + 1'b1;
      offset <= offset + (ADDRESS_BITS'(1'b1) << in_stride);
    end
  end

endmodule
