// Loads weights while others are in use: converts instructions to shifts that do not wait for rows
// or results.
//
// `enters` is the number of accepted instructions and `done` the number of finished ones, both
// modulo 8. An `exchange` passes the array row by row. Shifts may begin after it. They affect only
// the rows of elements that the `exchange` has reached, which are the first `reach` rows. The other
// rows keep the weights that they have yet to take. After N rows of weights, the result is the same
// as if all rows had shifted. An instruction of N rows or more can therefore begin a set at once; a
// shorter one begins it N-1 cycles after the `exchange`. A set ends with the next accepted product.
//
// Source: the specification's 9.4, with its limit removed. clock/array.rs has the same timing.
module tcu_weights #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SIZE_BITS  = 13
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 run_valid,
    output logic                 run_ready,
    input  logic                 run_zeroes,
    input  logic [SIZE_BITS-1:0] run_size,
    input  logic                 product,
    output logic                 is_loaded,
    output logic [2:0]           entered,
    output logic [2:0]           done,
    input  logic                 exchange,
    input  logic                 weights_valid,
    output logic                 weights_ready,
    output logic                 is_zero,
    output logic                 shifts,
    output logic [$clog2(ARRAY_SIZE + 1)-1:0] reach
);

  localparam int unsigned QUEUE_DEPTH = 4;
  localparam int unsigned COUNT_BITS = $clog2(ARRAY_SIZE + 1);

  logic valid, opens, is_last, is_free, is_whole, is_ready;
  logic [SIZE_BITS-1:0] size, index;
  logic [COUNT_BITS-1:0] cooling;

  npu_queue #(.WIDTH(2 + SIZE_BITS), .DEPTH(QUEUE_DEPTH), .FLOW(1'b1), .PIPE(1'b1)) instructions (
      .clock, .reset,
      .in_valid(run_valid), .in_ready(run_ready), .in_data({!is_loaded, run_zeroes, run_size}),
      .out_valid(valid), .out_ready(shifts && is_last), .out_data({opens, is_zero, size})
  );

  assign is_last = index == size;
  assign is_whole = 32'(size) >= ARRAY_SIZE - 1;
  assign is_ready = valid && (!opens || index != '0 || (is_free && (is_whole || cooling == '0)));
  assign reach = shifts ? COUNT_BITS'(ARRAY_SIZE) - cooling : '0;
  assign shifts = is_ready && (is_zero || weights_valid);
  assign weights_ready = is_ready && !is_zero;

  always_ff @(posedge clock) begin
    if (reset) begin
      index     <= '0;
      is_loaded <= 1'b0;
      entered   <= '0;
      done      <= '0;
      is_free   <= 1'b1;
      cooling   <= '0;
    end else begin
      if (shifts) index <= is_last ? '0 : index + 1'b1;
      if (shifts && is_last) done <= done + 1'b1;
      if (run_valid && run_ready) entered <= entered + 1'b1;
      // The decoder hands out one instruction at a time.
      if (run_valid && run_ready) is_loaded <= 1'b1;
      else if (product) is_loaded <= 1'b0;
      if (exchange) begin
        is_free <= 1'b1;
        cooling <= COUNT_BITS'(ARRAY_SIZE - 2);
      end else begin
        if (shifts && opens && index == '0) is_free <= 1'b0;
        if (cooling != '0) cooling <= cooling - 1'b1;
      end
    end
  end

endmodule
