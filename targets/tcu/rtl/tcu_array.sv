// The array with its queues: instructions become rows, rows enter one a cycle, in order.
//
// A row of a product enters only while the accumulators take a result, be it that of a row before;
// with ROWS_AHEAD it enters while there is a place for its result. Results wait in a queue when the
// accumulators do not take them. A row of weights waits until all results are out; with
// DOUBLE_WEIGHTS weights are loaded beside those at work (see tcu_weights), and the first product
// after it exchanges them in a step of its own. With REGISTERED_ROWS rows and weights reach the
// elements a cycle later, from a register, so that no path leads from local memory to a multiplier.
// With NOOP_MOVES the result of an instruction that `repeats` is that of the row before, or zeros
// behind a reset.
//
// Source: the specification's 9.1 and 9.4, and its notes on rows and the accumulators' readiness.
module tcu_array #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8,
    parameter int unsigned SIZE_BITS = 13,
    parameter bit DOUBLE_WEIGHTS = 1'b0,
    parameter bit ROWS_AHEAD = 1'b0,
    parameter bit REGISTERED_ROWS = 1'b0,
    parameter bit NOOP_MOVES = 1'b0,
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
) (
    input logic clock,
    input logic reset,

    input  logic                 run_valid,
    output logic                 run_ready,
    input  tcu_pkg::rows_t       run_rows,
    input  logic [SIZE_BITS-1:0] run_size,
    output logic                 step_valid,
    output logic                 step_ready,

    // Loads beside the weights at work, of the same size and zeroes.
    input  logic                   load_valid,
    output logic                   load_ready,
    input  logic                   weights_valid,
    output logic                   weights_ready,
    input  logic [VECTOR_BITS-1:0] weights_data,

    input  logic                   row_valid,
    output logic                   row_ready,
    input  logic [VECTOR_BITS-1:0] row_data,
    output logic                   result_valid,
    input  logic                   result_ready,
    output logic [VECTOR_BITS-1:0] result_data,
    output logic                   loads
);

  localparam int unsigned QUEUE_DEPTH = 2 * ARRAY_SIZE;
  // Cycles in which a row is at work, and to its result.
  localparam int unsigned ELEMENT_CYCLES = 2 * ARRAY_SIZE - 1;
  localparam int unsigned LATENCY = ELEMENT_CYCLES + 32'(REGISTERED_ROWS);
  // Results that have a place: of rows at work, and waiting.
  localparam int unsigned PLACES = QUEUE_DEPTH + 32'(REGISTERED_ROWS);
  localparam int unsigned COUNT_BITS = $clog2(PLACES + 1);

  // Instructions, expanded to rows. `loads_before` is the number of loads that a product waits for.
  logic load, zeroes, is_last, exchanges, exchanged, is_exchange_step;
  logic run_exchanges, exchange;
  logic [2:0] run_loads_before, loads_before, loads_done;
  logic [SIZE_BITS-1:0] size, index;

  npu_queue #(
      .WIDTH(6 + SIZE_BITS),
      .DEPTH(QUEUE_DEPTH),
      .FLOW (1'b1),
      .PIPE (1'b1)
  ) instructions (
      .clock,
      .reset,
      .in_valid (run_valid),
      .in_ready (run_ready),
      .in_data  ({run_exchanges, run_loads_before, run_rows.loads, run_rows.zeroes, run_size}),
      .out_valid(step_valid),
      .out_ready(step_ready && is_last && !is_exchange_step),
      .out_data ({exchanges, loads_before, load, zeroes, size})
  );

  assign is_last = index == size;
  assign is_exchange_step = DOUBLE_WEIGHTS && exchanges && !exchanged;

  always_ff @(posedge clock) begin
    if (reset) begin
      index     <= '0;
      exchanged <= 1'b0;
    end else if (step_valid && step_ready) begin
      if (!is_exchange_step) index <= is_last ? '0 : index + 1'b1;
      exchanged <= is_exchange_step || (exchanged && !is_last);
    end
  end

  // Rows.
  logic control_valid, is_load, is_zero, is_exchange, enters, enters_row, is_ready, has_place;
  logic [2:0] awaited;
  logic [VECTOR_BITS-1:0] row;
  logic [COUNT_BITS-1:0] draining;

  npu_queue #(
      .WIDTH(6)
  ) rows (
      .clock,
      .reset,
      .in_valid (step_valid),
      .in_ready (step_ready),
      .in_data  ({is_exchange_step, loads_before, load, zeroes}),
      .out_valid(control_valid),
      .out_ready(enters),
      .out_data ({is_exchange, awaited, is_load, is_zero})
  );

  always_comb begin
    if (is_exchange) is_ready = control_valid && awaited == loads_done;
    else if (is_load) is_ready = control_valid && draining == '0;
    else is_ready = control_valid && (ROWS_AHEAD ? has_place : result_ready);
  end

  assign enters = is_ready && (is_zero || is_exchange || row_valid);
  assign enters_row = enters && !is_load && !is_exchange;
  assign row_ready = is_ready && !is_zero && !is_exchange;
  assign row = is_zero ? '0 : row_data;
  assign exchange = enters && is_exchange;

  always_ff @(posedge clock) begin
    if (reset) draining <= '0;
    else if (enters_row) draining <= COUNT_BITS'(ELEMENT_CYCLES);
    else if (draining != '0) draining <= draining - 1'b1;
  end

  // Places of results that are under way or wait.
  if (ROWS_AHEAD) begin : gen_places
    logic [COUNT_BITS-1:0] places;
    logic takes;

    assign takes = result_valid && result_ready;
    assign has_place = places != '0;

    always_ff @(posedge clock) begin
      if (reset) places <= COUNT_BITS'(PLACES);
      else if (enters_row && !takes) places <= places - 1'b1;
      else if (takes && !enters_row) places <= places + 1'b1;
    end
  end else begin : gen_no_places
    assign has_place = 1'b0;
  end

  // Weights that are shifted in, and how many rows of elements shift.
  localparam int unsigned REACH_BITS = $clog2(ARRAY_SIZE + 1);

  logic [REACH_BITS-1:0] reach;
  logic [VECTOR_BITS-1:0] weights_row;

  // Results.
  logic computed_valid, result_has_room;
  logic [VECTOR_BITS-1:0] computed;

  if (DOUBLE_WEIGHTS) begin : gen_double
    logic is_loaded, is_zero_load, shifts;

    assign run_exchanges = is_loaded;
    assign loads = shifts;

    tcu_weights #(
        .ARRAY_SIZE(ARRAY_SIZE),
        .SIZE_BITS (SIZE_BITS)
    ) weights (
        .clock,
        .reset,
        .run_valid    (load_valid),
        .run_ready    (load_ready),
        .run_zeroes   (run_rows.zeroes),
        .run_size,
        .product      (run_valid && run_ready),
        .is_loaded,
        .entered      (run_loads_before),
        .done         (loads_done),
        .exchange,
        .weights_valid,
        .weights_ready,
        .is_zero      (is_zero_load),
        .shifts,
        .reach
    );

    assign weights_row = is_zero_load ? '0 : weights_data;
  end else begin : gen_single
    logic unused;

    assign run_exchanges = 1'b0;
    assign run_loads_before = '0;
    assign loads_done = '0;
    assign load_ready = 1'b0;
    assign weights_ready = 1'b0;
    assign loads = enters && is_load;
    assign reach = loads ? REACH_BITS'(ARRAY_SIZE) : '0;
    assign weights_row = row;
    assign unused = ^{load_valid, weights_valid, weights_data};
  end

  // What the elements get.
  logic [REACH_BITS-1:0] element_reach;
  logic [VECTOR_BITS-1:0] element_weights, element_row;
  logic element_exchange, element_row_valid;

  if (REGISTERED_ROWS) begin : gen_registered
    always_ff @(posedge clock) begin
      if (reset) {element_reach, element_exchange, element_row_valid} <= '0;
      else {element_reach, element_exchange, element_row_valid} <= {reach, exchange, enters_row};
      element_weights <= weights_row;
      element_row     <= row;
    end
  end else begin : gen_direct
    assign {element_reach, element_exchange, element_row_valid} = {reach, exchange, enters_row};
    assign element_weights = weights_row;
    assign element_row = row;
  end

  tcu_systolic_array #(
      .ARRAY_SIZE    (ARRAY_SIZE),
      .SCALAR_BITS   (SCALAR_BITS),
      .BINARY_POINT  (BINARY_POINT),
      .DOUBLE_WEIGHTS(DOUBLE_WEIGHTS)
  ) elements (
      .clock,
      .reset,
      .reach       (element_reach),
      .weights     (element_weights),
      .exchange    (element_exchange),
      .row_valid   (element_row_valid),
      .row         (element_row),
      .result_valid(computed_valid),
      .result      (computed)
  );

  // What goes to the results.
  logic [VECTOR_BITS-1:0] given;

  if (NOOP_MOVES) begin : gen_repeats
    logic repeats, row_repeats;
    logic [2:0] unused_handshakes;
    logic [LATENCY-1:0] repeated;
    logic [VECTOR_BITS-1:0] last;

    // Beside the queues above, with the same handshakes.
    npu_queue #(
        .WIDTH(1),
        .DEPTH(QUEUE_DEPTH),
        .FLOW (1'b1),
        .PIPE (1'b1)
    ) run_flags (
        .clock,
        .reset,
        .in_valid (run_valid),
        .in_ready (unused_handshakes[0]),
        .in_data  (run_rows.repeats),
        .out_valid(unused_handshakes[1]),
        .out_ready(step_ready && is_last && !is_exchange_step),
        .out_data (repeats)
    );

    logic unused_step;

    npu_queue #(
        .WIDTH(1)
    ) row_flags (
        .clock,
        .reset,
        .in_valid (step_valid),
        .in_ready (unused_handshakes[2]),
        .in_data  (repeats),
        .out_valid(unused_step),
        .out_ready(enters),
        .out_data (row_repeats)
    );

    assign given = repeated[LATENCY-1] ? last : computed;

    always_ff @(posedge clock) begin
      if (reset) begin
        repeated <= '0;
        last     <= '0;
      end else begin
        repeated <= {repeated[LATENCY-2:0], enters_row && row_repeats};
        if (computed_valid) last <= given;
      end
    end
  end else begin : gen_no_repeats
    logic unused;

    assign unused = run_rows.repeats;
    assign given = computed;
  end

  npu_queue #(
      .WIDTH(VECTOR_BITS),
      .DEPTH(PLACES),
      .FLOW (1'b1)
  ) results (
      .clock,
      .reset,
      .in_valid (computed_valid),
      .in_ready (result_has_room),
      .in_data  (given),
      .out_valid(result_valid),
      .out_ready(result_ready),
      .out_data (result_data)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset && computed_valid) result_fits: assert (result_has_room);
  end
`endif

endmodule
