// The accumulators: a memory with two ports that executes commands for single vectors, strictly in
// order. Commands are defined in tcu_accumulator_commands.
//
// A command stays at the stage until all its parts are accepted. The parts are port A, which reads
// or writes a vector; the ALUs; the selectors of words read and of results; and port B, which reads
// the old sum of an addition. A SIMD instruction that reads and writes is two commands.
//
// The released circuit reads through port B as soon as possible, even if a write of the same vector
// is pending. The addition is then lost. LOSES_ADDITIONS gives this behavior. Without it, port B
// waits for the pending write; all other cases have the same timing. With READS_BY_FLAG, the ALUs
// take every word that is read, as on the instruction set's page, and an operation with one source
// ignores its right source.
//
// Source: the specification's 9.1 and 9.5, and its notes on lost additions.
module tcu_accumulators #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8,
    parameter int unsigned DEPTH = 2048,
    parameter int unsigned REGISTERS = 1,
    parameter int unsigned REGISTER_BITS = 1,
    parameter int unsigned LOOKUP_TABLES = 0,
    parameter int unsigned LOOKUP_DEPTH = 128,
    parameter bit LOSES_ADDITIONS = 1'b0,
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

  logic [REGISTER_BITS-1:0] left, right, destination;

  assign left = codes[tcu_pkg::LEFT];
  assign right = codes[tcu_pkg::RIGHT];
  assign destination = codes[tcu_pkg::DESTINATION];

  // The half of a command at the stage: first the read half, then the write half.
  logic is_second, has_second, half_ready, half_reads, half_writes;
  logic computes, input_named, is_operation;

  assign input_named = left == '0
      || (right == '0 && (!READS_BY_FLAG || tcu_pkg::has_two_sources(command.op)));
  assign is_operation = command.is_simd && command.op != tcu_pkg::SIMD_NOOP;
  assign has_second = command.reads && command.writes;
  assign command_ready = half_ready && (is_second || !has_second);
  assign half_writes = command.writes && (is_second || !has_second);

  // A SIMD NoOp moves vectors, which requires different routing. As in the released circuit, an
  // instruction that reads and writes without the input as a source skips its first half and waits
  // forever for a result.
  always_comb begin
    half_reads = command.reads && !is_second;
    computes = is_operation && !is_second;
    if (has_second && is_operation && !input_named && !READS_BY_FLAG) begin
      half_reads = 1'b0;
      computes   = 1'b0;
    end
  end

  always_ff @(posedge clock) begin
    if (reset) is_second <= 1'b0;
    else if (command_valid && half_ready) is_second <= has_second && !is_second;
  end

  // The parts of a command: port A, the selectors of words read and of results, the ALUs, port B.
  localparam int unsigned PORT_A = 0;
  localparam int unsigned READ = 1;
  localparam int unsigned RESULT = 2;
  localparam int unsigned ALUS = 3;
  localparam int unsigned PORT_B = 4;

  logic [4:0] wanted, part_valid, part_ready;

  assign wanted[PORT_A] = half_reads || half_writes;
  assign wanted[READ] = half_reads;
  assign wanted[RESULT] = is_operation && (half_writes || !command.writes);
  assign wanted[ALUS] = computes;
  assign wanted[PORT_B] = half_writes && command.accumulates;

  npu_fork #(.PORTS(5)) parts (
      .clock, .reset,
      .in_valid(command_valid), .in_ready(half_ready),
      .wanted,
      .out_valid(part_valid), .out_ready(part_ready)
  );

  // The next access of port A, and the source of the word that it writes.
  logic access_valid, access_ready, access_writes, access_adds, access_from_alus, access_loads;
  logic [REGISTER_BITS-1:0] access_table;
  logic [ADDRESS_BITS-1:0] access_address;
  logic access_pending;

  npu_counted_queue #(
      .WIDTH(4 + REGISTER_BITS + ADDRESS_BITS), .DEPTH(1), .FLOW(1'b1), .PIPE(1'b1)
  ) accesses (
      .clock, .reset,
      .in_valid(part_valid[PORT_A]), .in_ready(part_ready[PORT_A]),
      .in_data({
        command.loads,
        command.loads ? destination : REGISTER_BITS'(0),
        half_writes,
        command.accumulates,
        is_operation,
        half_writes ? write_address : read_address
      }),
      .out_valid(access_valid), .out_ready(access_ready),
      .out_data({
        access_loads,
        access_table,
        access_writes,
        access_adds,
        access_from_alus,
        access_address
      }),
      .count(access_pending)
  );

  // Whether the next word read goes to the ALUs or out.
  logic read_selected, read_to_alus, read_leaves;

  npu_queue #(.WIDTH(1), .DEPTH(1), .FLOW(1'b1), .PIPE(1'b1)) read_selector (
      .clock, .reset,
      .in_valid(part_valid[READ]), .in_ready(part_ready[READ]), .in_data(is_operation),
      .out_valid(read_selected), .out_ready(read_leaves), .out_data(read_to_alus)
  );

  // Whether the ALUs' next result is written or dropped.
  logic result_selected, result_written, result_leaves;

  npu_queue #(.WIDTH(1), .DEPTH(1), .FLOW(1'b1), .PIPE(1'b1)) result_selector (
      .clock, .reset,
      .in_valid(part_valid[RESULT]), .in_ready(part_ready[RESULT]), .in_data(command.writes),
      .out_valid(result_selected), .out_ready(result_leaves), .out_data(result_written)
  );

  // A word read goes out, or to the ALUs together with the operation that needs it.
  logic fetched_valid, fetched_ready, needs_input, starts, input_there;
  logic [VECTOR_BITS-1:0] fetched_data;

  logic alus_ready, alus_idle, loads_first;

  // A lookup waits for tables whose load precedes it. clock/tables.rs has the same timing.
  assign loads_first = command.op == tcu_pkg::SIMD_LOOKUP && access_pending && access_loads;
  assign needs_input = (command.op != tcu_pkg::SIMD_ZERO && input_named)
      || (READS_BY_FLAG && command.reads);
  assign input_there = read_selected && read_to_alus && fetched_valid;
  assign part_ready[ALUS] = alus_ready && !loads_first && (!needs_input || input_there);
  assign starts = part_valid[ALUS] && part_ready[ALUS];
  assign read_valid = read_selected && !read_to_alus && fetched_valid;
  assign read_data = fetched_data;
  assign fetched_ready = read_selected && (read_to_alus ? starts && needs_input : read_ready);
  assign read_leaves = fetched_valid && fetched_ready;

  logic result_valid, table_loads;
  logic [VECTOR_BITS-1:0] result_data;

  tcu_alu_array #(
      .ARRAY_SIZE   (ARRAY_SIZE),
      .SCALAR_BITS  (SCALAR_BITS),
      .BINARY_POINT (BINARY_POINT),
      .REGISTERS    (REGISTERS),
      .REGISTER_BITS(REGISTER_BITS),
      .TABLES       (LOOKUP_TABLES),
      .TABLE_DEPTH  (LOOKUP_DEPTH),
      .INDEX_BITS   (ADDRESS_BITS)
  ) alus (
      .clock, .reset,
      .load             (table_loads),
      .load_table       (access_table),
      .load_index       (access_address),
      .load_data        (write_data),
      .idle             (alus_idle),
      .ready            (alus_ready),
      .start            (starts),
      .start_op         (command.op),
      .start_codes      (codes),
      .start_input      (fetched_data),
      .result_valid,
      .result_ready     (result_leaves),
      .result_data
  );

  // The word to write: a result or a word from outside, alone or added to the word that port B has
  // read.
  logic addend_valid, addend_ready, store_ready, word_valid, result_there, may_write;
  logic [VECTOR_BITS-1:0] addend, word, sum;

  assign result_there = result_selected && result_written && result_valid;
  assign word = access_from_alus ? result_data : write_data;
  // A table may change only when no earlier lookup needs it.
  assign may_write = (!access_adds || addend_valid) && (!access_loads || alus_idle);
  assign word_valid = (access_from_alus ? result_there : write_valid) && may_write;
  assign stores = store_ready && word_valid && !access_loads;
  assign table_loads = store_ready && word_valid && access_loads;
  assign write_ready = store_ready && !access_from_alus && may_write;
  assign addend_ready = stores && access_adds;
  assign result_leaves = result_selected && result_valid
      && (!result_written || (stores && access_from_alus));

  for (genvar lane = 0; lane < ARRAY_SIZE; lane++) begin : gen_adder
    tcu_adder #(.SCALAR_BITS(SCALAR_BITS), .BINARY_POINT(BINARY_POINT)) adder (
        .left(word[lane*SCALAR_BITS+:SCALAR_BITS]),
        .right(addend[lane*SCALAR_BITS+:SCALAR_BITS]),
        .sum(sum[lane*SCALAR_BITS+:SCALAR_BITS])
    );
  end

  // Connections of both ports.
  logic held, waits, b_valid, b_ready, a_access, b_access, unused_write;
  logic [VECTOR_BITS-1:0] a_fetched, b_fetched;

  tcu_lock #(
      .ADDRESS_BITS(ADDRESS_BITS)
  ) lock (
      .clock, .reset,
      .take          (command_valid && half_writes && !command.accumulates && !command.loads),
      .take_address  (write_address),
      .leave         (half_ready),
      .writes        (stores),
      .writes_address(access_address),
      .held
  );

  // Until the access of this command is in place, the pending access belongs to an earlier command.
  logic is_late;

  assign is_late = part_valid[PORT_A] && access_pending && access_writes && !access_loads &&
      access_address == write_address;
  assign waits = held || (is_late && !LOSES_ADDITIONS);

  assign b_valid = part_valid[PORT_B] && !waits;
  assign part_ready[PORT_B] = b_ready && !waits;

  npu_memory_port #(.WIDTH(VECTOR_BITS)) port_a (
      .clock, .reset,
      .control_valid(access_valid), .control_ready(access_ready), .control_write(access_writes),
      .write_valid(word_valid), .write_ready(store_ready),
      .access(a_access),
      .fetched(a_fetched),
      .read_valid(fetched_valid), .read_ready(fetched_ready), .read_data(fetched_data)
  );

  npu_memory_port #(.WIDTH(VECTOR_BITS)) port_b (
      .clock, .reset,
      .control_valid(b_valid), .control_ready(b_ready), .control_write(1'b0),
      .write_valid(1'b0), .write_ready(unused_write),
      .access(b_access),
      .fetched(b_fetched),
      .read_valid(addend_valid), .read_ready(addend_ready), .read_data(addend)
  );

  npu_ram #(.WIDTH(VECTOR_BITS), .DEPTH(DEPTH)) ram (
      .clock,
      .a_access(a_access && !access_loads), .a_write(access_writes), .a_address(access_address),
      .a_in(access_adds ? sum : word), .a_out(a_fetched),
      .b_access(b_access), .b_write(1'b0), .b_address(write_address), .b_in('0), .b_out(b_fetched)
  );

endmodule
