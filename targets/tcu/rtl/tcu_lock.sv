// The lock of the accumulators: delays reads of port B while an overwriting write is pending.
//
// A write requests the lock while it is at the stage (`take`). The next write to the same address
// releases the lock. This may be an earlier write that still waits for its word. Additions do not
// request the lock.
//
// Source: the specification's 9.5 and its notes on lost additions. clock/lock.rs has the same
// timing.
module tcu_lock #(
    parameter int unsigned ADDRESS_BITS = 11
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    take,
    input  logic [ADDRESS_BITS-1:0] take_address,
    input  logic                    leave,
    input  logic                    writes,
    input  logic [ADDRESS_BITS-1:0] writes_address,
    output logic                    held
);

  logic asked, asks, given_up, takes;
  logic [ADDRESS_BITS-1:0] address;

  assign given_up = held && writes && writes_address == address;
  assign asks = take && !asked;
  assign takes = asks && (!held || given_up);

  always_ff @(posedge clock) begin
    if (takes) address <= take_address;
    if (reset) begin
      held  <= 1'b0;
      asked <= 1'b0;
    end else begin
      if (takes) held <= !(writes && writes_address == take_address);
      else if (given_up) held <= 1'b0;
      // The lock is requested only once, until the write leaves the stage.
      asked <= take && !leave && (asked || takes);
    end
  end

endmodule
