// The tensor compute unit: an array of N x N multipliers, accumulators with ALUs, local memory, and
// one AXI4 master for each of two DRAM banks.
//
// Parameters are the keys of a `.tarch` file and the number format. A scalar has SCALAR_BITS, of
// which BINARY_POINT are fraction bits, and takes SLOT_BYTES in DRAM.
//
//     data_type  SCALAR_BITS  BINARY_POINT  SLOT_BYTES
//     FP8BP4               8             4           1
//     FP16BP8             16             8           2
//     FP18BP10            18            10           4
//     FP32BP16            32            16           4
//
// Vectors are stored in a bank without gaps. If a vector is not a whole number of bus words,
// vectors share words. Instructions arrive on an AXI stream; performance samples leave on another.
// `bus_error` stays high after a response other than OKAY. The reset is synchronous and active
// high. It does not clear memories and weights.
//
// By default, the unit computes the results of the specification in the cycles of the released
// circuit. The exception is bursts that would cross 4 KiB in that circuit. The defects of the
// released circuit are parameters. LOSES_ADDITIONS is explained in tcu_accumulators,
// CROSSES_BY_A_BEAT in npu_burst_splitter. With MOVES_WRITES, a change of a bank's offset moves
// pending writes whose addresses are not yet computed. LOOKUP_TABLES is an extension that the
// released design does not have (see tcu_lookup). Each table has LOOKUP_DEPTH vectors.
//
// Parameters also select the instruction set's page where it differs from the released circuit:
// VALUE_IN_OPERAND1, NOOP_MOVES and FIXED_TABLES (see tcu_decoder), READS_BY_FLAG (see
// tcu_accumulators), INVALID_SAMPLES (see tcu_sampler), and offsets of OFFSET_BITS in addresses of
// AXI_ADDRESS_BITS.
//
// LOCAL_QUEUE_DEPTH and the four parameters after it remove limits of the released circuit.
// LOCAL_QUEUE_DEPTH is the number of runs that wait for local memory on the array's side. Two runs
// wait on each other side, and the decoder continues meanwhile. With a queue, OVERLAPPED_DRAM lets
// transfers of both banks overlap, and DOUBLE_WEIGHTS loads weights while others are in use. With
// PIPELINED_SIMD, the accumulators accept one command per cycle. OUTSTANDING_BURSTS is the number
// of tracked bursts per bank and direction.
//
// Source: the specification's 2, 3 and 9.
module tcu #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned BINARY_POINT = 8,
    parameter int unsigned SLOT_BYTES = 2,
    parameter longint unsigned DRAM0_DEPTH = 1048576,
    parameter longint unsigned DRAM1_DEPTH = 1048576,
    parameter int unsigned LOCAL_DEPTH = 8192,
    parameter int unsigned ACCUMULATOR_DEPTH = 2048,
    parameter int unsigned SIMD_REGISTERS_DEPTH = 1,
    parameter int unsigned LOOKUP_TABLES = 0,
    parameter int unsigned LOOKUP_DEPTH = 128,
    parameter int unsigned STRIDE0_DEPTH = 8,
    parameter int unsigned STRIDE1_DEPTH = 8,
    parameter int unsigned NUMBER_OF_THREADS = 1,
    parameter int unsigned AXI_BITS = 128,
    parameter int unsigned AXI_ID_BITS = 6,
    parameter int unsigned INSTRUCTION_AXI_BITS = AXI_BITS,
    parameter int unsigned SAMPLE_BLOCK_SIZE = 1024,
    parameter logic [15:0] TIMEOUT = 16'd100,
    parameter bit LOSES_ADDITIONS = 1'b0,
    parameter bit MOVES_WRITES = 1'b0,
    parameter bit CROSSES_BY_A_BEAT = 1'b0,
    parameter int unsigned LOCAL_QUEUE_DEPTH = 0,
    parameter bit OVERLAPPED_DRAM = 1'b0,
    parameter bit DOUBLE_WEIGHTS = 1'b0,
    parameter bit PIPELINED_SIMD = 1'b0,
    parameter int unsigned OUTSTANDING_BURSTS = 0,
    parameter bit REGISTERED_ROWS = 1'b0,
    parameter bit VALUE_IN_OPERAND1 = 1'b0,
    parameter int unsigned OFFSET_BITS = 16,
    parameter int unsigned AXI_ADDRESS_BITS = 32,
    parameter bit READS_BY_FLAG = 1'b0,
    parameter bit NOOP_MOVES = 1'b0,
    parameter bit FIXED_TABLES = 1'b0,
    parameter bit INVALID_SAMPLES = 1'b0
) (
    input logic clk_i,
    input logic rst_i,

    output logic timeout,
    output logic tracepoint,
    output logic bus_error,

    input  logic                              instruction_tvalid,
    output logic                              instruction_tready,
    input  logic [  INSTRUCTION_AXI_BITS-1:0] instruction_tdata,
    input  logic [INSTRUCTION_AXI_BITS/8-1:0] instruction_tkeep,
    input  logic                              instruction_tlast,

    output logic        sample_tvalid,
    input  logic        sample_tready,
    output logic [63:0] sample_tdata,
    output logic [ 7:0] sample_tkeep,
    output logic        sample_tlast,

    output logic [AXI_ID_BITS-1:0] m_axi_dram0_awid,
    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram0_awaddr,
    output logic [            7:0] m_axi_dram0_awlen,
    output logic [            2:0] m_axi_dram0_awsize,
    output logic [            1:0] m_axi_dram0_awburst,
    output logic                   m_axi_dram0_awlock,
    output logic [            3:0] m_axi_dram0_awcache,
    output logic [            2:0] m_axi_dram0_awprot,
    output logic [            3:0] m_axi_dram0_awqos,
    output logic                   m_axi_dram0_awvalid,
    input  logic                   m_axi_dram0_awready,
    output logic [   AXI_BITS-1:0] m_axi_dram0_wdata,
    output logic [ AXI_BITS/8-1:0] m_axi_dram0_wstrb,
    output logic                   m_axi_dram0_wlast,
    output logic                   m_axi_dram0_wvalid,
    input  logic                   m_axi_dram0_wready,
    input  logic [AXI_ID_BITS-1:0] m_axi_dram0_bid,
    input  logic [            1:0] m_axi_dram0_bresp,
    input  logic                   m_axi_dram0_bvalid,
    output logic                   m_axi_dram0_bready,
    output logic [AXI_ID_BITS-1:0] m_axi_dram0_arid,
    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram0_araddr,
    output logic [            7:0] m_axi_dram0_arlen,
    output logic [            2:0] m_axi_dram0_arsize,
    output logic [            1:0] m_axi_dram0_arburst,
    output logic                   m_axi_dram0_arlock,
    output logic [            3:0] m_axi_dram0_arcache,
    output logic [            2:0] m_axi_dram0_arprot,
    output logic [            3:0] m_axi_dram0_arqos,
    output logic                   m_axi_dram0_arvalid,
    input  logic                   m_axi_dram0_arready,
    input  logic [AXI_ID_BITS-1:0] m_axi_dram0_rid,
    input  logic [   AXI_BITS-1:0] m_axi_dram0_rdata,
    input  logic [            1:0] m_axi_dram0_rresp,
    input  logic                   m_axi_dram0_rlast,
    input  logic                   m_axi_dram0_rvalid,
    output logic                   m_axi_dram0_rready,

    output logic [AXI_ID_BITS-1:0] m_axi_dram1_awid,
    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram1_awaddr,
    output logic [            7:0] m_axi_dram1_awlen,
    output logic [            2:0] m_axi_dram1_awsize,
    output logic [            1:0] m_axi_dram1_awburst,
    output logic                   m_axi_dram1_awlock,
    output logic [            3:0] m_axi_dram1_awcache,
    output logic [            2:0] m_axi_dram1_awprot,
    output logic [            3:0] m_axi_dram1_awqos,
    output logic                   m_axi_dram1_awvalid,
    input  logic                   m_axi_dram1_awready,
    output logic [   AXI_BITS-1:0] m_axi_dram1_wdata,
    output logic [ AXI_BITS/8-1:0] m_axi_dram1_wstrb,
    output logic                   m_axi_dram1_wlast,
    output logic                   m_axi_dram1_wvalid,
    input  logic                   m_axi_dram1_wready,
    input  logic [AXI_ID_BITS-1:0] m_axi_dram1_bid,
    input  logic [            1:0] m_axi_dram1_bresp,
    input  logic                   m_axi_dram1_bvalid,
    output logic                   m_axi_dram1_bready,
    output logic [AXI_ID_BITS-1:0] m_axi_dram1_arid,
    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram1_araddr,
    output logic [            7:0] m_axi_dram1_arlen,
    output logic [            2:0] m_axi_dram1_arsize,
    output logic [            1:0] m_axi_dram1_arburst,
    output logic                   m_axi_dram1_arlock,
    output logic [            3:0] m_axi_dram1_arcache,
    output logic [            2:0] m_axi_dram1_arprot,
    output logic [            3:0] m_axi_dram1_arqos,
    output logic                   m_axi_dram1_arvalid,
    input  logic                   m_axi_dram1_arready,
    input  logic [AXI_ID_BITS-1:0] m_axi_dram1_rid,
    input  logic [   AXI_BITS-1:0] m_axi_dram1_rdata,
    input  logic [            1:0] m_axi_dram1_rresp,
    input  logic                   m_axi_dram1_rlast,
    input  logic                   m_axi_dram1_rvalid,
    output logic                   m_axi_dram1_rready
);

  localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS;
  localparam int unsigned STORED_BITS = ARRAY_SIZE * SLOT_BYTES * 8;
  localparam int unsigned LOCAL_BITS = $clog2(LOCAL_DEPTH);
  localparam int unsigned ACCUMULATOR_BITS = $clog2(ACCUMULATOR_DEPTH);
  localparam int unsigned DRAM0_BITS = $clog2(DRAM0_DEPTH);
  localparam int unsigned DRAM1_BITS = $clog2(DRAM1_DEPTH);
  localparam int unsigned DRAM_BITS = npu_pkg::larger(DRAM0_BITS, DRAM1_BITS);
  localparam int unsigned STRIDE0_BITS = npu_pkg::index_bits(STRIDE0_DEPTH);
  localparam int unsigned STRIDE1_BITS = npu_pkg::index_bits(STRIDE1_DEPTH);
  localparam int unsigned REGISTER_BITS = npu_pkg::index_bits(SIMD_REGISTERS_DEPTH + 1);

  // Transfers of a bank that wait: as many as in front of local memory.
  localparam int unsigned RUNS = LOCAL_QUEUE_DEPTH == 0 ? 1 : 2;

  // Must be equal to the decoder's parameter.
  localparam int unsigned INSTRUCTION_BITS = 8
      + tcu_pkg::whole_bytes(
          tcu_pkg::address0_bits(LOCAL_BITS, ACCUMULATOR_BITS) + $clog2(STRIDE0_DEPTH))
      + tcu_pkg::whole_bytes(
          tcu_pkg::address1_bits(LOCAL_BITS, ACCUMULATOR_BITS, DRAM_BITS) + $clog2(STRIDE1_DEPTH))
      + tcu_pkg::whole_bytes(tcu_pkg::value2_bits(
          LOCAL_BITS, ACCUMULATOR_BITS, DRAM_BITS, $clog2(SIMD_REGISTERS_DEPTH + 1), LOOKUP_TABLES));

  if (ARRAY_SIZE < 2 || ARRAY_SIZE > 256) begin : gen_array_size
    $error("ARRAY_SIZE %0d: must be 2 to 256", ARRAY_SIZE);
  end
  if (SCALAR_BITS > 8 * SLOT_BYTES
      || (BINARY_POINT == 0 ? SCALAR_BITS != 32 : BINARY_POINT < 2 || BINARY_POINT >= SCALAR_BITS)) begin : gen_format
    $error("scalars of %0d bits with %0d fraction bits in %0d bytes", SCALAR_BITS, BINARY_POINT, SLOT_BYTES);
  end
  if (AXI_BITS < 8 || AXI_BITS > 1024 || (AXI_BITS & (AXI_BITS - 1)) != 0) begin : gen_bus
    $error("AXI_BITS %0d: must be a power of two, 8 to 1024", AXI_BITS);
  end
  if (STORED_BITS + (STORED_BITS % AXI_BITS != 0 ? AXI_BITS - 8 : 0) > 256 * AXI_BITS) begin : gen_beats
    $error("a vector of %0d bits on a bus of %0d bits: must be in 256 words", STORED_BITS, AXI_BITS);
  end
  if (LOCAL_DEPTH < 2 || ACCUMULATOR_DEPTH < 2 || DRAM0_DEPTH < 2 || DRAM1_DEPTH < 2 || DRAM_BITS > 32) begin : gen_depth
    $error("depths must be 2 or more, those of DRAM at most 2^32");
  end
  if (SIMD_REGISTERS_DEPTH > 16 || NUMBER_OF_THREADS < 1 || NUMBER_OF_THREADS > 2) begin : gen_rest
    $error("%0d registers, %0d threads: must be 0 to 16 and 1 or 2", SIMD_REGISTERS_DEPTH, NUMBER_OF_THREADS);
  end

  if (OFFSET_BITS < 1 || OFFSET_BITS > 32 || AXI_ADDRESS_BITS < 32 || AXI_ADDRESS_BITS > 64
      || OFFSET_BITS + 16 > AXI_ADDRESS_BITS) begin : gen_addresses
    $error("offsets of %0d bits in addresses of %0d bits: must be 1 to 32, and 32 to 64, at least 16 more", OFFSET_BITS,
           AXI_ADDRESS_BITS);
  end
  if (LOOKUP_TABLES > SIMD_REGISTERS_DEPTH
      || (LOOKUP_TABLES > 0 && (LOOKUP_DEPTH < 1 || LOOKUP_DEPTH > ACCUMULATOR_DEPTH))) begin : gen_lookup
    $error("%0d lookup tables of %0d vectors: must be no more tables than registers, nor vectors than accumulators",
           LOOKUP_TABLES, LOOKUP_DEPTH);
  end
  if (LOOKUP_TABLES > 0 && (LOCAL_QUEUE_DEPTH > 0 || PIPELINED_SIMD)) begin : gen_tables
    $error("LOOKUP_TABLES are in a circuit without LOCAL_QUEUE_DEPTH and PIPELINED_SIMD");
  end
  if (LOCAL_QUEUE_DEPTH == 1 || LOCAL_QUEUE_DEPTH > 16 || OUTSTANDING_BURSTS == 1 || OUTSTANDING_BURSTS > 16) begin : gen_queues
    $error("queues for %0d runs and %0d bursts: must be 0 or 2 to 16", LOCAL_QUEUE_DEPTH, OUTSTANDING_BURSTS);
  end
  if (LOCAL_QUEUE_DEPTH == 0 && (OVERLAPPED_DRAM || DOUBLE_WEIGHTS)) begin : gen_no_queues
    $error("OVERLAPPED_DRAM and DOUBLE_WEIGHTS need a LOCAL_QUEUE_DEPTH");
  end
  if (PIPELINED_SIMD && LOSES_ADDITIONS) begin : gen_loses
    $error("PIPELINED_SIMD loses no additions");
  end

  // Instructions.
  logic stream_valid, stream_ready, valid, ready;
  logic [INSTRUCTION_BITS-1:0] stream_instruction, instruction;

  tcu_instruction_stream #(
      .STREAM_BYTES     (INSTRUCTION_AXI_BITS / 8),
      .INSTRUCTION_BYTES(INSTRUCTION_BITS / 8)
  ) instruction_stream (
      .clock(clk_i), .reset(rst_i),
      .stream_valid     (instruction_tvalid),
      .stream_ready     (instruction_tready),
      .stream_data      (instruction_tdata),
      .stream_keep      (instruction_tkeep),
      .instruction_valid(stream_valid),
      .instruction_ready(stream_ready),
      .instruction      (stream_instruction)
  );

  npu_queue #(.WIDTH(INSTRUCTION_BITS)) instructions (
      .clock(clk_i), .reset(rst_i),
      .in_valid(stream_valid), .in_ready(stream_ready), .in_data(stream_instruction),
      .out_valid(valid), .out_ready(ready), .out_data(instruction)
  );

  // Outputs of the decoder: runs of local memory and of DRAM, and the units that take part in them.
  logic [3:0] local_valid, local_ready;
  logic [1:0] local_write, dram_valid, dram_ready;
  logic load_valid, load_ready, route_valid, route_ready, array_valid, array_ready;
  logic accumulator_valid, accumulator_ready, host_valid, host_ready, host_bank, host_write;
  logic local_descending, configures, stops_samples;
  logic [LOCAL_BITS-1:0] local_address, size;
  logic [ACCUMULATOR_BITS-1:0] accumulator_address, accumulator_read_address;
  logic [DRAM_BITS-1:0] dram_address;
  logic [STRIDE0_BITS-1:0] local_stride;
  logic [STRIDE1_BITS-1:0] other_stride;
  logic [2:0][REGISTER_BITS-1:0] codes;
  logic [31:0] configure_value;
  tcu_pkg::route_t route;
  tcu_pkg::rows_t array_rows;
  tcu_pkg::command_t command;
  tcu_pkg::register_e configure_number;

  tcu_decoder #(
      .LOCAL_DEPTH         (LOCAL_DEPTH),
      .ACCUMULATOR_DEPTH   (ACCUMULATOR_DEPTH),
      .DRAM0_DEPTH         (DRAM0_DEPTH),
      .DRAM1_DEPTH         (DRAM1_DEPTH),
      .SIMD_REGISTERS_DEPTH(SIMD_REGISTERS_DEPTH),
      .LOOKUP_TABLES       (LOOKUP_TABLES),
      .LOOKUP_DEPTH        (LOOKUP_DEPTH),
      .STRIDE0_DEPTH       (STRIDE0_DEPTH),
      .STRIDE1_DEPTH       (STRIDE1_DEPTH),
      .NUMBER_OF_THREADS   (NUMBER_OF_THREADS),
      .QUEUED              (LOCAL_QUEUE_DEPTH > 0),
      .DOUBLE_WEIGHTS      (DOUBLE_WEIGHTS),
      .VALUE_IN_OPERAND1   (VALUE_IN_OPERAND1),
      .NOOP_MOVES          (NOOP_MOVES),
      .FIXED_TABLES        (FIXED_TABLES)
  ) decoder (
      .clock(clk_i), .reset(rst_i),
      .instruction_valid(valid),
      .instruction_ready(ready),
      .instruction,
      .local_valid,
      .local_ready,
      .local_write,
      .local_descending,
      .local_address,
      .local_stride,
      .size,
      .route_valid,
      .route_ready,
      .route,
      .array_valid,
      .array_ready,
      .array_rows,
      .load_valid,
      .load_ready,
      .accumulator_valid,
      .accumulator_ready,
      .command,
      .accumulator_address,
      .other_stride,
      .accumulator_read_address,
      .codes,
      .host_valid,
      .host_ready,
      .host_bank,
      .host_write,
      .dram_valid,
      .dram_ready,
      .dram_address,
      .configures,
      .configure_number,
      .configure_value
  );

  // Registers and samples.
  logic [1:0][OFFSET_BITS-1:0] dram_offset;
  logic [1:0][3:0] dram_cache;
  logic [15:0] sample_interval;
  logic [31:0] program_counter;

  tcu_configuration #(
      .TIMEOUT    (TIMEOUT),
      .OFFSET_BITS(OFFSET_BITS)
  ) configuration (
      .clock(clk_i), .reset(rst_i),
      .holds     (valid),
      .accepts   (valid && ready),
      .configures,
      .number    (configure_number),
      .value     (configure_value),
      .dram_offset,
      .dram_cache,
      .sample_interval,
      .program_counter,
      .timeout,
      .tracepoint
  );

  // High in the cycle after the sample interval was set to 0.
  if (INVALID_SAMPLES) begin : gen_stops
    always_ff @(posedge clk_i) begin
      stops_samples <= !rst_i && valid && ready && configures
          && configure_number == tcu_pkg::REGISTER_SAMPLE_INTERVAL && configure_value[15:0] == '0;
    end
  end else begin : gen_no_stops
    assign stops_samples = 1'b0;
  end

  logic array_step_valid, array_step_ready, accumulator_step_valid, accumulator_step_ready;
  logic router_offered, router_taken;
  logic [1:0] dram_step_valid, dram_step_ready, local_access_ready;

  tcu_sampler #(
      .BLOCK          (SAMPLE_BLOCK_SIZE),
      .INVALID_SAMPLES(INVALID_SAMPLES)
  ) sampler (
      .clock(clk_i), .reset(rst_i),
      .interval  (sample_interval),
      .stops     (stops_samples),
      .program_counter,
      .handshakes({
        ready,
        valid,
        local_access_ready[0],
        local_valid[0],
        local_access_ready[1],
        local_valid[2] || local_valid[1],
        dram_step_ready[0],
        dram_step_valid[0],
        dram_step_ready[1],
        dram_step_valid[1],
        router_taken,
        router_offered,
        accumulator_step_ready,
        accumulator_step_valid,
        array_step_ready,
        array_step_valid
      }),
      .sample_tvalid,
      .sample_tready,
      .sample_tdata,
      .sample_tlast
  );

  assign sample_tkeep = '1;

  // Local memory. The host router, or one lane per bank, connects it to the banks of DRAM.
  logic local_write_valid, local_write_ready, local_read_valid, local_read_ready, local_writes;
  logic weights_valid, weights_ready;
  logic [VECTOR_BITS-1:0] local_write_data, local_read_data, weights_data;
  logic [1:0] dram_write_valid, dram_write_ready, dram_read_valid, dram_read_ready;
  logic [1:0][VECTOR_BITS-1:0] dram_write_data, dram_read_data;

  if (LOCAL_QUEUE_DEPTH > 0) begin : gen_lanes
    logic [3:0] access, access_writes, write_ready;
    logic unused;

    assign host_ready = 1'b1;
    assign local_access_ready = {local_ready[2:1] == '1, local_ready[0]};
    assign local_writes = (access & access_writes) != '0;
    assign {dram_read_ready, local_write_ready} = write_ready[2:0];
    assign unused = ^{host_valid, host_bank, write_ready[3]};

    tcu_local_lanes #(
        .VECTOR_BITS    (VECTOR_BITS),
        .DEPTH          (LOCAL_DEPTH),
        .STRIDE_BITS    (STRIDE0_BITS),
        .QUEUE_DEPTH    (LOCAL_QUEUE_DEPTH),
        .OVERLAPPED_DRAM(OVERLAPPED_DRAM)
    ) local_memory (
        .clock(clk_i), .reset(rst_i),
        .run_valid     (local_valid),
        .run_ready     (local_ready),
        .run_write     (local_write != '0),
        .run_descending(local_descending),
        .run_address   (local_address),
        .run_stride    (local_stride),
        .run_size      (size),
        .access,
        .access_writes,
        .write_valid   ({1'b0, dram_read_valid, local_write_valid}),
        .write_ready,
        .write_data    ({dram_read_data, local_write_data}),
        .read_valid    ({weights_valid, dram_write_valid, local_read_valid}),
        .read_ready    ({weights_ready, dram_write_ready, local_read_ready}),
        .read_data     ({weights_data, dram_write_data, local_read_data})
    );
  end else begin : gen_ports
    logic [1:0] port_ready, access;
    logic host_write_valid, host_write_ready, host_read_valid, host_read_ready;
    logic [VECTOR_BITS-1:0] host_write_data, host_read_data, host_dram_data;
    logic unused;

    assign local_ready = {1'b0, {2{port_ready[1]}}, port_ready[0]};
    assign local_writes = (access & local_write) != '0;
    assign weights_valid = 1'b0;
    assign weights_data = '0;
    assign dram_write_data = {2{host_dram_data}};
    assign unused = ^{local_valid[3], weights_ready};

    tcu_local_memory #(
        .VECTOR_BITS(VECTOR_BITS),
        .DEPTH      (LOCAL_DEPTH),
        .STRIDE_BITS(STRIDE0_BITS)
    ) local_memory (
        .clock(clk_i), .reset(rst_i),
        .run_valid     ({local_valid[2] || local_valid[1], local_valid[0]}),
        .run_ready     (port_ready),
        .run_write     (local_write),
        .run_descending({1'b0, local_descending}),
        .run_address   ({2{local_address}}),
        .run_stride    ({2{local_stride}}),
        .run_size      ({2{size}}),
        .access_ready  (local_access_ready),
        .access,
        .write_valid   ({host_write_valid, local_write_valid}),
        .write_ready   ({host_write_ready, local_write_ready}),
        .write_data    ({host_write_data, local_write_data}),
        .read_valid    ({host_read_valid, local_read_valid}),
        .read_ready    ({host_read_ready, local_read_ready}),
        .read_data     ({host_read_data, local_read_data})
    );

    tcu_host_router #(
        .VECTOR_BITS(VECTOR_BITS),
        .SIZE_BITS  (LOCAL_BITS)
    ) host_router (
        .clock(clk_i), .reset(rst_i),
        .route_valid      (host_valid),
        .route_ready      (host_ready),
        .route_bank       (host_bank),
        .route_write      (host_write),
        .route_size       (size),
        .local_read_valid (host_read_valid),
        .local_read_ready (host_read_ready),
        .local_read_data  (host_read_data),
        .local_write_valid(host_write_valid),
        .local_write_ready(host_write_ready),
        .local_write_data (host_write_data),
        .dram_write_valid,
        .dram_write_ready,
        .dram_write_data  (host_dram_data),
        .dram_read_valid,
        .dram_read_ready,
        .dram_read_data
    );
  end

  logic row_valid, row_ready, result_valid, result_ready, weights_load, accumulators_store;
  logic accumulator_write_valid, accumulator_write_ready, accumulator_read_valid, accumulator_read_ready;
  logic [VECTOR_BITS-1:0] row_data, result_data, accumulator_write_data, accumulator_read_data;

  tcu_router #(
      .VECTOR_BITS(VECTOR_BITS),
      .SIZE_BITS  (LOCAL_BITS),
      .QUEUE_DEPTH(2 * ARRAY_SIZE)
  ) router (
      .clock(clk_i), .reset(rst_i),
      .route_valid,
      .route_ready,
      .route,
      .route_size       (size),
      .offered          (router_offered),
      .taken            (router_taken),
      .local_read_valid (local_read_valid),
      .local_read_ready (local_read_ready),
      .local_read_data  (local_read_data),
      .local_write_valid(local_write_valid),
      .local_write_ready(local_write_ready),
      .local_write_data (local_write_data),
      .row_valid,
      .row_ready,
      .row_data,
      .result_valid,
      .result_ready,
      .result_data,
      .accumulator_write_valid,
      .accumulator_write_ready,
      .accumulator_write_data,
      .accumulator_read_valid,
      .accumulator_read_ready,
      .accumulator_read_data
  );

  tcu_array #(
      .ARRAY_SIZE  (ARRAY_SIZE),
      .SCALAR_BITS (SCALAR_BITS),
      .BINARY_POINT(BINARY_POINT),
      .SIZE_BITS   (LOCAL_BITS),
      .DOUBLE_WEIGHTS(DOUBLE_WEIGHTS),
      .ROWS_AHEAD  (PIPELINED_SIMD),
      .REGISTERED_ROWS(REGISTERED_ROWS),
      .NOOP_MOVES  (NOOP_MOVES)
  ) array (
      .clock(clk_i), .reset(rst_i),
      .run_valid (array_valid),
      .run_ready (array_ready),
      .run_rows  (array_rows),
      .run_size  (size),
      .step_valid(array_step_valid),
      .step_ready(array_step_ready),
      .load_valid,
      .load_ready,
      .weights_valid,
      .weights_ready,
      .weights_data,
      .row_valid,
      .row_ready,
      .row_data,
      .result_valid,
      .result_ready,
      .result_data,
      .loads     (weights_load)
  );

  // The accumulators and the commands for single vectors that they receive.
  logic command_valid, command_ready;
  tcu_pkg::command_t vector_command;
  logic [ACCUMULATOR_BITS-1:0] write_address, read_address;
  logic [2:0][REGISTER_BITS-1:0] vector_codes;

  tcu_accumulator_commands #(
      .ADDRESS_BITS (ACCUMULATOR_BITS),
      .STRIDE_BITS  (STRIDE1_BITS),
      .SIZE_BITS    (LOCAL_BITS),
      .REGISTER_BITS(REGISTER_BITS),
      .QUEUE_DEPTH  (2 * ARRAY_SIZE)
  ) commands (
      .clock(clk_i), .reset(rst_i),
      .run_valid       (accumulator_valid),
      .run_ready       (accumulator_ready),
      .run             (command),
      .run_address     (accumulator_address),
      .run_stride      (other_stride),
      .run_size        (size),
      .run_read_address(accumulator_read_address),
      .run_codes       (codes),
      .step_valid      (accumulator_step_valid),
      .step_ready      (accumulator_step_ready),
      .command_valid,
      .command_ready,
      .command         (vector_command),
      .write_address,
      .read_address,
      .codes           (vector_codes)
  );

  if (PIPELINED_SIMD) begin : gen_pipeline
    tcu_accumulator_pipeline #(
        .ARRAY_SIZE   (ARRAY_SIZE),
        .SCALAR_BITS  (SCALAR_BITS),
        .BINARY_POINT (BINARY_POINT),
        .DEPTH        (ACCUMULATOR_DEPTH),
        .REGISTERS    (SIMD_REGISTERS_DEPTH),
        .REGISTER_BITS(REGISTER_BITS),
        .READS_BY_FLAG(READS_BY_FLAG)
    ) accumulators (
        .clock(clk_i), .reset(rst_i),
        .command_valid,
        .command_ready,
        .command      (vector_command),
        .write_address,
        .read_address,
        .codes        (vector_codes),
        .write_valid  (accumulator_write_valid),
        .write_ready  (accumulator_write_ready),
        .write_data   (accumulator_write_data),
        .read_valid   (accumulator_read_valid),
        .read_ready   (accumulator_read_ready),
        .read_data    (accumulator_read_data),
        .stores       (accumulators_store)
    );
  end else begin : gen_stage
    tcu_accumulators #(
        .ARRAY_SIZE     (ARRAY_SIZE),
        .SCALAR_BITS    (SCALAR_BITS),
        .BINARY_POINT   (BINARY_POINT),
        .DEPTH          (ACCUMULATOR_DEPTH),
        .REGISTERS      (SIMD_REGISTERS_DEPTH),
        .REGISTER_BITS  (REGISTER_BITS),
        .LOOKUP_TABLES  (LOOKUP_TABLES),
        .LOOKUP_DEPTH   (LOOKUP_DEPTH),
        .LOSES_ADDITIONS(LOSES_ADDITIONS),
        .READS_BY_FLAG  (READS_BY_FLAG)
    ) accumulators (
        .clock(clk_i), .reset(rst_i),
        .command_valid,
        .command_ready,
        .command      (vector_command),
        .write_address,
        .read_address,
        .codes        (vector_codes),
        .write_valid  (accumulator_write_valid),
        .write_ready  (accumulator_write_ready),
        .write_data   (accumulator_write_data),
        .read_valid   (accumulator_read_valid),
        .read_ready   (accumulator_read_ready),
        .read_data    (accumulator_read_data),
        .stores       (accumulators_store)
    );
  end

  // DRAM.
  logic [1:0] failed;
  logic [1:0][AXI_BITS-1:0] w_data, r_data;
  logic [1:0][AXI_BITS/8-1:0] w_strobes;
  npu_pkg::axi_request_t request0, request1;
  npu_pkg::axi_response_t response0, response1;
  logic [1:0][$bits(request0)-1:0] requests;
  logic [1:0][$bits(response0)-1:0] responses;

  for (genvar bank = 0; bank < 2; bank++) begin : gen_bank
    localparam int unsigned ADDRESS_BITS = bank == 0 ? DRAM0_BITS : DRAM1_BITS;

    tcu_dram_port #(
        .ARRAY_SIZE       (ARRAY_SIZE),
        .SCALAR_BITS      (SCALAR_BITS),
        .SLOT_BYTES       (SLOT_BYTES),
        .ADDRESS_BITS     (ADDRESS_BITS),
        .STRIDE_BITS      (STRIDE1_BITS),
        .SIZE_BITS        (LOCAL_BITS),
        .AXI_BITS         (AXI_BITS),
        .AXI_ADDRESS_BITS (AXI_ADDRESS_BITS),
        .OFFSET_BITS      (OFFSET_BITS),
        .RUNS             (RUNS),
        .REMEMBERED       (OUTSTANDING_BURSTS > 0 ? OUTSTANDING_BURSTS : 2),
        .CROSSES_BY_A_BEAT(CROSSES_BY_A_BEAT),
        .MOVES_WRITES     (MOVES_WRITES)
    ) dram (
        .clock(clk_i), .reset(rst_i),
        .offset     (dram_offset[bank]),
        .cache      (dram_cache[bank]),
        .run_valid  (dram_valid[bank]),
        .run_ready  (dram_ready[bank]),
        .run_write  (host_write),
        .run_address(dram_address[ADDRESS_BITS-1:0]),
        .run_stride (other_stride),
        .run_size   (size),
        .step_valid (dram_step_valid[bank]),
        .step_ready (dram_step_ready[bank]),
        .write_valid(dram_write_valid[bank]),
        .write_ready(dram_write_ready[bank]),
        .write_data (dram_write_data[bank]),
        .read_valid (dram_read_valid[bank]),
        .read_ready (dram_read_ready[bank]),
        .read_data  (dram_read_data[bank]),
        .failed     (failed[bank]),
        .request    (requests[bank]),
        .w_data     (w_data[bank]),
        .w_strobes  (w_strobes[bank]),
        .response   (responses[bank]),
        .r_data     (r_data[bank])
    );
  end

  // Constant signals of both buses: whole words at incrementing addresses, normal access, not
  // locked, not privileged.
  localparam logic [2:0] WORD_SIZE = 3'($clog2(AXI_BITS / 8));
  localparam logic [1:0] INCREMENTING = 2'b01;

  assign request0 = requests[0];
  assign request1 = requests[1];
  assign {m_axi_dram1_awid, m_axi_dram0_awid} = '0;
  assign m_axi_dram0_awaddr = request0.aw.addr[AXI_ADDRESS_BITS-1:0];
  assign m_axi_dram1_awaddr = request1.aw.addr[AXI_ADDRESS_BITS-1:0];
  assign {m_axi_dram1_awlen, m_axi_dram0_awlen} = {request1.aw.len, request0.aw.len};
  assign {m_axi_dram1_awsize, m_axi_dram0_awsize} = {2{WORD_SIZE}};
  assign {m_axi_dram1_awburst, m_axi_dram0_awburst} = {2{INCREMENTING}};
  assign {m_axi_dram1_awlock, m_axi_dram0_awlock} = '0;
  assign {m_axi_dram1_awcache, m_axi_dram0_awcache} = {request1.aw.cache, request0.aw.cache};
  assign {m_axi_dram1_awprot, m_axi_dram0_awprot} = '0;
  assign {m_axi_dram1_awqos, m_axi_dram0_awqos} = '0;
  assign {m_axi_dram1_awvalid, m_axi_dram0_awvalid} = {request1.aw.valid, request0.aw.valid};
  assign {m_axi_dram1_wdata, m_axi_dram0_wdata} = w_data;
  assign {m_axi_dram1_wstrb, m_axi_dram0_wstrb} = w_strobes;
  assign {m_axi_dram1_wlast, m_axi_dram0_wlast} = {request1.w_last, request0.w_last};
  assign {m_axi_dram1_wvalid, m_axi_dram0_wvalid} = {request1.w_valid, request0.w_valid};
  assign {m_axi_dram1_bready, m_axi_dram0_bready} = {request1.b_ready, request0.b_ready};
  assign {m_axi_dram1_arid, m_axi_dram0_arid} = '0;
  assign m_axi_dram0_araddr = request0.ar.addr[AXI_ADDRESS_BITS-1:0];
  assign m_axi_dram1_araddr = request1.ar.addr[AXI_ADDRESS_BITS-1:0];
  assign {m_axi_dram1_arlen, m_axi_dram0_arlen} = {request1.ar.len, request0.ar.len};
  assign {m_axi_dram1_arsize, m_axi_dram0_arsize} = {2{WORD_SIZE}};
  assign {m_axi_dram1_arburst, m_axi_dram0_arburst} = {2{INCREMENTING}};
  assign {m_axi_dram1_arlock, m_axi_dram0_arlock} = '0;
  assign {m_axi_dram1_arcache, m_axi_dram0_arcache} = {request1.ar.cache, request0.ar.cache};
  assign {m_axi_dram1_arprot, m_axi_dram0_arprot} = '0;
  assign {m_axi_dram1_arqos, m_axi_dram0_arqos} = '0;
  assign {m_axi_dram1_arvalid, m_axi_dram0_arvalid} = {request1.ar.valid, request0.ar.valid};
  assign {m_axi_dram1_rready, m_axi_dram0_rready} = {request1.r_ready, request0.r_ready};

  assign responses = {response1, response0};
  assign r_data = {m_axi_dram1_rdata, m_axi_dram0_rdata};
  assign response0.aw_ready = m_axi_dram0_awready;
  assign response0.w_ready = m_axi_dram0_wready;
  assign response0.b_valid = m_axi_dram0_bvalid;
  assign response0.b_resp = m_axi_dram0_bresp;
  assign response0.ar_ready = m_axi_dram0_arready;
  assign response0.r_valid = m_axi_dram0_rvalid;
  assign response0.r_resp = m_axi_dram0_rresp;
  assign response1.aw_ready = m_axi_dram1_awready;
  assign response1.w_ready = m_axi_dram1_wready;
  assign response1.b_valid = m_axi_dram1_bvalid;
  assign response1.b_resp = m_axi_dram1_bresp;
  assign response1.ar_ready = m_axi_dram1_arready;
  assign response1.r_valid = m_axi_dram1_rvalid;
  assign response1.r_resp = m_axi_dram1_rresp;

  always_ff @(posedge clk_i) begin
    if (rst_i) bus_error <= 1'b0;
    else if (failed != '0) bus_error <= 1'b1;
  end

  // These signals are unused. All bursts of a bank have one id and are answered in order, and a
  // program needs no end signal. Address bits above the width of a bus are 0.
  logic unused;
  assign unused = ^{
    instruction_tlast,
    weights_load,
    accumulators_store,
    local_writes,
    requests,
    m_axi_dram0_bid,
    m_axi_dram0_rid,
    m_axi_dram0_rlast,
    m_axi_dram1_bid,
    m_axi_dram1_rid,
    m_axi_dram1_rlast
  };

endmodule
