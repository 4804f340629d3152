// Local memory with queues in front of its ports: runs of four lanes, which wait for older runs
// that touch the same vectors.
//
// Lane 0 serves the array and the accumulators and has port A to itself, and a queue for
// QUEUE_DEPTH runs; the others have two each. Lanes 1 and 2 serve the banks of DRAM, 3 weights;
// they share port B: the access of the oldest run goes first. Runs of a lane come after each other.
// A run waits for the runs of other lanes that were there before it, touch one of its vectors and
// write if it reads; without OVERLAPPED_DRAM runs of one bank wait for all of the other. A run that
// goes around the end of the addresses touches all of them. One run enters in a cycle.
//
// Source: the specification's 9.1, with the limits of its 9.2 removed; clock/lanes.rs is the same
// in time.
module tcu_local_lanes #(
    parameter int unsigned VECTOR_BITS = 128,
    parameter int unsigned DEPTH = 8192,
    parameter int unsigned STRIDE_BITS = 3,
    parameter int unsigned QUEUE_DEPTH = 4,
    parameter bit OVERLAPPED_DRAM = 1'b1,
    localparam int unsigned ADDRESS_BITS = $clog2(DEPTH),
    localparam int unsigned LANES = 4
) (
    input  logic                               clock,
    input  logic                               reset,
    input  logic [LANES-1:0]                   run_valid,
    output logic [LANES-1:0]                   run_ready,
    input  logic                               run_write,
    input  logic                               run_descending,
    input  logic [ADDRESS_BITS-1:0]            run_address,
    input  logic [STRIDE_BITS-1:0]             run_stride,
    input  logic [ADDRESS_BITS-1:0]            run_size,
    output logic [LANES-1:0]                   access,
    output logic [LANES-1:0]                   access_writes,
    input  logic [LANES-1:0]                   write_valid,
    output logic [LANES-1:0]                   write_ready,
    input  logic [LANES-2:0][VECTOR_BITS-1:0]  write_data,
    output logic [LANES-1:0]                   read_valid,
    input  logic [LANES-1:0]                   read_ready,
    output logic [LANES-1:0][VECTOR_BITS-1:0]  read_data
);

  localparam int unsigned SLOT_BITS = $clog2(QUEUE_DEPTH);
  localparam int unsigned WIDE_BITS = ADDRESS_BITS + (1 << STRIDE_BITS);
  localparam int unsigned RUN_BITS = 2 + 2 * ADDRESS_BITS + STRIDE_BITS;

  // Places of all queues, those of a lane together: so many of lane 0, and of the others.
  localparam int unsigned SHARED_DEPTH = 2;
  localparam int unsigned PLACES = QUEUE_DEPTH + (LANES - 1) * SHARED_DEPTH;

  function automatic int unsigned slots(input int unsigned lane);
    slots = lane == 0 ? QUEUE_DEPTH : SHARED_DEPTH;
  endfunction

  function automatic int unsigned base(input int unsigned lane);
    base = lane == 0 ? 0 : QUEUE_DEPTH + (lane - 1) * SHARED_DEPTH;
  endfunction

  localparam logic [PLACES-1:0] OF_LANE_0 = PLACES'({QUEUE_DEPTH{1'b1}});

  // The run that comes, as the vectors that it touches.
  logic [WIDE_BITS-1:0] end_address;
  logic goes_around;
  logic [ADDRESS_BITS-1:0] lowest, highest;

  assign end_address = WIDE_BITS'(run_address) + (WIDE_BITS'(run_size) << run_stride);
  assign goes_around = end_address[WIDE_BITS-1:ADDRESS_BITS] != '0;
  assign lowest = goes_around ? '0 : run_address;
  assign highest = goes_around ? '1 : end_address[ADDRESS_BITS-1:0];

  // Runs that are in queues, and those that the run that comes has to wait for.
  logic [PLACES-1:0] held, over, meets;
  logic is_bank;

  assign is_bank = run_valid[1] || run_valid[2];

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_meets
    for (genvar slot = 0; slot < slots(lane); slot++) begin : gen_slot
      localparam int unsigned PLACE = base(lane) + slot;

      logic [ADDRESS_BITS-1:0] from, to;
      logic writes, enters, is_held;

      assign enters = run_valid[lane] && run_ready[lane] && gen_lane[lane].last == SLOT_BITS'(slot);
      assign held[PLACE] = is_held;

      always_ff @(posedge clock) begin
        if (enters) begin
          from   <= lowest;
          to     <= highest;
          writes <= run_write;
        end
        if (reset) is_held <= 1'b0;
        else is_held <= enters || (is_held && !over[PLACE]);
      end

      assign meets[PLACE] = is_held && !over[PLACE]
          && (((writes || run_write) && lowest <= to && from <= highest)
              || (!OVERLAPPED_DRAM && is_bank && (lane == 1 || lane == 2)));
    end
  end

  // Lanes.
  logic [LANES-1:0] wants, grant;
  logic [LANES-1:0][LANES-1:0] after;
  logic [LANES-1:0][ADDRESS_BITS-1:0] address;
  logic [1:0][VECTOR_BITS-1:0] fetched;

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lane
    localparam int unsigned SLOTS = slots(lane);
    localparam int unsigned BASE = base(lane);

    logic [SLOT_BITS-1:0] first, last;
    logic [RUN_BITS-1:0] runs[QUEUE_DEPTH];
    logic is_held, active, control_valid, control_ready, done, is_done, unused_last, unused_valid;
    logic descending;
    logic [ADDRESS_BITS-1:0] start, size;
    logic [STRIDE_BITS-1:0] stride;

    // What each run waits for, and which runs of other lanes of port B go before it.
    localparam logic [PLACES-1:0] OTHERS = ~(PLACES'({SLOTS{1'b1}}) << BASE);
    localparam logic [PLACES-1:0] SHARING = lane == 0 ? '0 : OTHERS & ~OF_LANE_0;

    logic [PLACES-1:0] first_blockers, older_than_first;
    logic [QUEUE_DEPTH-1:0] held_here;

    assign held_here = QUEUE_DEPTH'(held[BASE+:SLOTS]);
    assign run_ready[lane] = !held_here[last];
    assign {access_writes[lane], descending, stride, size, start} = runs[first];
    assign is_held = held_here[first];
    assign active = is_held && first_blockers == '0;
    assign done = active && grant[lane] && control_ready && is_done;

    for (genvar slot = 0; slot < SLOTS; slot++) begin : gen_over
      assign over[BASE+slot] = done && first == SLOT_BITS'(slot);
    end

    function automatic logic [SLOT_BITS-1:0] next(input logic [SLOT_BITS-1:0] place);
      next = place == SLOT_BITS'(SLOTS - 1) ? '0 : place + 1'b1;
    endfunction

    always_ff @(posedge clock) begin
      if (run_valid[lane] && run_ready[lane])
        runs[last] <= {run_write, run_descending, run_stride, run_size, run_address};
      if (reset) begin
        first <= '0;
        last  <= '0;
      end else begin
        if (run_valid[lane] && run_ready[lane]) last <= next(last);
        if (done) first <= next(first);
      end
    end

    // Those of each place, chosen bit by bit for the first run.
    logic [SLOTS-1:0] is_first;

    for (genvar slot = 0; slot < SLOTS; slot++) begin : gen_waits
      logic [PLACES-1:0] blockers, older, chosen_blockers, chosen_older;
      logic enters;

      assign is_first[slot] = first == SLOT_BITS'(slot);
      assign enters = run_valid[lane] && run_ready[lane] && last == SLOT_BITS'(slot);

      always_ff @(posedge clock) begin
        if (reset) begin
          blockers <= '0;
          older    <= '0;
        end else begin
          blockers <= OTHERS & (enters ? meets : blockers & ~over);
          older    <= SHARING & (enters ? held : older) & ~over;
        end
      end

      if (slot == 0) begin : gen_lowest
        assign chosen_blockers = blockers & {PLACES{is_first[slot]}};
        assign chosen_older = older & {PLACES{is_first[slot]}};
      end else begin : gen_next
        assign chosen_blockers = gen_waits[slot-1].chosen_blockers | (blockers & {PLACES{is_first[slot]}});
        assign chosen_older = gen_waits[slot-1].chosen_older | (older & {PLACES{is_first[slot]}});
      end
    end

    assign first_blockers = gen_waits[SLOTS-1].chosen_blockers;
    assign older_than_first = gen_waits[SLOTS-1].chosen_older;

    for (genvar other = 0; other < LANES; other++) begin : gen_after
      logic [QUEUE_DEPTH-1:0] of_other;

      assign of_other = QUEUE_DEPTH'(older_than_first[base(other)+:slots(other)]);
      assign after[lane][other] = of_other[gen_lane[other].first];
    end

    assign wants[lane] = active && control_ready;
    assign grant[lane] = (wants & after[lane]) == '0;
    assign control_valid = active && grant[lane];

    npu_address_generator #(
        .ADDRESS_BITS(ADDRESS_BITS), .STRIDE_BITS(STRIDE_BITS), .SIZE_BITS(ADDRESS_BITS)
    ) addresses (
        .clock, .reset,
        .in_valid(active), .in_ready(unused_last), .in_address(start), .in_stride(stride),
        .in_size(size), .in_descending(descending),
        .out_valid(unused_valid), .out_ready(control_ready && grant[lane]),
        .out_address(address[lane]), .out_last(is_done)
    );

    npu_memory_port #(.WIDTH(VECTOR_BITS)) port (
        .clock, .reset,
        .control_valid, .control_ready, .control_write(access_writes[lane]),
        .write_valid(write_valid[lane]), .write_ready(write_ready[lane]),
        .access(access[lane]),
        .fetched(fetched[lane == 0 ? 0 : 1]),
        .read_valid(read_valid[lane]), .read_ready(read_ready[lane]), .read_data(read_data[lane])
    );
  end

  // Port B: weights only read.
  logic [ADDRESS_BITS-1:0] b_address;

  always_comb begin
    b_address = access[3] ? address[3] : access[2] ? address[2] : address[1];
  end

  npu_ram #(.WIDTH(VECTOR_BITS), .DEPTH(DEPTH)) ram (
      .clock,
      .a_access(access[0]), .a_write(access_writes[0]), .a_address(address[0]),
      .a_in(write_data[0]), .a_out(fetched[0]),
      .b_access(access[3:1] != '0), .b_write((access[2:1] & access_writes[2:1]) != '0),
      .b_address, .b_in(access[2] ? write_data[2] : write_data[1]), .b_out(fetched[1])
  );

endmodule
