// The accumulators as a pipeline that accepts one command per cycle, strictly in order, including
// SIMD instructions. Commands are defined in tcu_accumulator_commands.
//
// A command reads its vector through port B, is executed one cycle later, and writes through port A
// another cycle later. To execute means one of three things: to take a word from outside, alone or
// added to the vector read; to send a vector out; or to compute in the ALUs. A command that waits
// for its word delays all later commands. A command that reads a vector with a pending write waits
// for the write. A SIMD instruction that adds reads the old sum in a second step.
//
// Source: the specification's 4.1 and 9.1, without the limits of its 9.2. clock/accumulator.rs has
// the same timing.
module tcu_accumulator_pipeline #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8,
    parameter int unsigned DEPTH = 2048,
    parameter int unsigned REGISTERS = 1,
    parameter int unsigned REGISTER_BITS = 1,
    parameter bit READS_BY_FLAG = 1'b0,
    localparam int unsigned ADDRESS_BITS = $clog2(DEPTH),
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
) (
    input logic clock,
    input logic reset,

    // Commands, in order.
    input  logic                          command_valid,
    output logic                          command_ready,
    input  tcu_pkg::command_t             command,
    input  logic [ADDRESS_BITS-1:0]       write_address,
    input  logic [ADDRESS_BITS-1:0]       read_address,
    input  logic [2:0][REGISTER_BITS-1:0] codes,

    input  logic                   write_valid,
    output logic                   write_ready,
    input  logic [VECTOR_BITS-1:0] write_data,
    output logic                   read_valid,
    input  logic                   read_ready,
    output logic [VECTOR_BITS-1:0] read_data,
    output logic                   stores
);

  // An instance with a pipeline has no lookup tables, so these signals are unused.
  logic unused;
  assign unused = command.loads || command.op[4];

  // First step: reads the vector.
  logic is_second, has_second, computes, issues, step_reads, waits;
  logic [ADDRESS_BITS-1:0] step_address;

  assign computes = command.is_simd && command.op != tcu_pkg::SIMD_NOOP;
  assign has_second = computes && command.writes && command.accumulates;

  always_comb begin
    if (is_second) step_reads = 1'b1;
    else if (computes || !command.writes) step_reads = command.reads;
    else step_reads = command.accumulates;
    step_address = is_second || (command.writes && !computes) ? write_address : read_address;
  end

  // Second step: executes the command.
  typedef struct packed {
    logic                          computes;
    logic                          adds;
    logic                          writes;
    logic                          gives;
    logic                          hangs;
    logic [ADDRESS_BITS-1:0]       address;
    logic [3:0]                    op;
    logic [2:0][REGISTER_BITS-1:0] codes;
  } step_t;

  step_t issued, step;
  logic step_valid_now, step_done, from_outside, stored_valid, input_named;
  logic [ADDRESS_BITS-1:0] stored_address;
  logic [VECTOR_BITS-1:0] stored;

  assign input_named = codes[tcu_pkg::LEFT] == '0
      || (codes[tcu_pkg::RIGHT] == '0
          && (!READS_BY_FLAG || tcu_pkg::has_two_sources(command.op)));

  always_comb begin
    issued.computes = computes && !is_second;
    issued.adds = is_second || (!computes && command.accumulates);
    issued.writes = command.writes && (!has_second || is_second);
    issued.gives = !computes && command.reads && !command.writes;
    // An operation that needs an input but reads none waits forever, as in the released circuit.
    issued.hangs = computes && command.op != tcu_pkg::SIMD_ZERO && !command.reads && input_named;
    issued.address = write_address;
    issued.op = command.op[3:0];
    issued.codes = codes;
  end

  assign waits = step_reads
      && ((step_valid_now && step.writes && step.address == step_address)
          || (stored_valid && stored_address == step_address));
  assign issues = command_valid && !waits && (!step_valid_now || step_done);
  assign command_ready = issues && (is_second || !has_second);

  // In a second step that adds, the word is in `stored`, where the first step put it.
  logic adds_stored;

  assign from_outside = step_valid_now && step.writes && !step.computes && !adds_stored;

  always_comb begin
    if (step.hangs) step_done = 1'b0;
    else if (step.gives) step_done = read_ready;
    else if (from_outside) step_done = write_valid;
    else step_done = 1'b1;
  end

  assign read_valid = step_valid_now && step.gives;
  assign write_ready = from_outside;

  always_ff @(posedge clock) begin
    if (issues) begin
      step        <= issued;
      adds_stored <= is_second;
    end
    if (reset) begin
      step_valid_now <= 1'b0;
      is_second      <= 1'b0;
      stored_valid   <= 1'b0;
    end else begin
      step_valid_now <= issues || (step_valid_now && !step_done);
      if (issues) is_second <= has_second && !is_second;
      stored_valid <= step_valid_now && step_done && step.writes;
    end
  end

  // The ALUs, with the register values after the previous operation. Element 0 of `sources` is the
  // input.
  logic [VECTOR_BITS-1:0] fetched, left_vector, right_vector, computed, word, sum;
  logic [REGISTERS:0][VECTOR_BITS-1:0] sources;
  logic [REGISTERS:0][VECTOR_BITS-1:0] registers;

  always_comb begin
    sources = registers;
    sources[0] = fetched;
  end

  // A code above the last register reads zero and writes nothing.
  function automatic logic [VECTOR_BITS-1:0] pick(input logic [REGISTER_BITS-1:0] code,
                                                  input logic [REGISTERS:0][VECTOR_BITS-1:0] from);
    pick = '0;
    for (int unsigned i = 0; i <= REGISTERS; i++) if (code == REGISTER_BITS'(i)) pick = from[i];
  endfunction

  assign left_vector = pick(step.codes[tcu_pkg::LEFT], sources);
  assign right_vector = pick(step.codes[tcu_pkg::RIGHT], sources);
  assign read_data = fetched;

  // What is added to: a word from outside, or a result. Results are not added in their own step, so
  // that no adder is behind the ALUs.
  assign word = adds_stored ? stored : write_data;

  for (genvar lane = 0; lane < ARRAY_SIZE; lane++) begin : gen_lane
    tcu_alu_lane #(.SCALAR_BITS(SCALAR_BITS), .BINARY_POINT(BINARY_POINT)) alu (
        .op(step.op),
        .left(left_vector[lane*SCALAR_BITS+:SCALAR_BITS]),
        .right(right_vector[lane*SCALAR_BITS+:SCALAR_BITS]),
        .out(computed[lane*SCALAR_BITS+:SCALAR_BITS])
    );

    tcu_adder #(.SCALAR_BITS(SCALAR_BITS), .BINARY_POINT(BINARY_POINT)) adder (
        .left(word[lane*SCALAR_BITS+:SCALAR_BITS]),
        .right(fetched[lane*SCALAR_BITS+:SCALAR_BITS]),
        .sum(sum[lane*SCALAR_BITS+:SCALAR_BITS])
    );
  end

  always_ff @(posedge clock) begin
    if (step_valid_now && step_done) begin
      stored_address <= step.address;
      if (step.computes) stored <= computed;
      else stored <= step.adds ? sum : word;
    end
    for (int unsigned i = 0; i <= REGISTERS; i++) begin
      if (reset || i == 0) registers[i] <= '0;
      else if (step_valid_now && step_done && step.computes && step.codes[tcu_pkg::DESTINATION] == REGISTER_BITS'(i))
        registers[i] <= computed;
    end
  end

  assign stores = stored_valid;

  logic [VECTOR_BITS-1:0] unused_out;

  npu_ram #(.WIDTH(VECTOR_BITS), .DEPTH(DEPTH)) ram (
      .clock,
      .a_access(stored_valid), .a_write(1'b1), .a_address(stored_address), .a_in(stored),
      .a_out(unused_out),
      .b_access(issues && step_reads), .b_write(1'b0), .b_address(step_address), .b_in('0),
      .b_out(fetched)
  );

endmodule
