// The unit with what the harness sees beside its ports: when things happen, and what memories hold.
//
// `holds` is high while the decoder has an instruction; `accepts`, `accumulator_writes`,
// `local_writes`, `weights_shift` are high in the cycle of each such event; `peek_` shows a vector
// of local memory, of the accumulators, of the lookup tables side by side, the register after that
// many, and what the configuration registers hold, in the order of their numbers; `axi_broken` the
// rules of AXI that are broken on each bank's bus (see npu_axi_checker). All parameters are tcu's.
module tcu_bench #(
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
    parameter bit INVALID_SAMPLES = 1'b0,
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
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
    output logic        sample_tlast,

    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram0_awaddr,
    output logic [         7:0] m_axi_dram0_awlen,
    output logic [         3:0] m_axi_dram0_awcache,
    output logic                m_axi_dram0_awvalid,
    input  logic                m_axi_dram0_awready,
    output logic [AXI_BITS-1:0] m_axi_dram0_wdata,
    output logic [AXI_BITS/8-1:0] m_axi_dram0_wstrb,
    output logic                m_axi_dram0_wlast,
    output logic                m_axi_dram0_wvalid,
    input  logic                m_axi_dram0_wready,
    input  logic [         1:0] m_axi_dram0_bresp,
    input  logic                m_axi_dram0_bvalid,
    output logic                m_axi_dram0_bready,
    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram0_araddr,
    output logic [         7:0] m_axi_dram0_arlen,
    output logic [         3:0] m_axi_dram0_arcache,
    output logic                m_axi_dram0_arvalid,
    input  logic                m_axi_dram0_arready,
    input  logic [AXI_BITS-1:0] m_axi_dram0_rdata,
    input  logic [         1:0] m_axi_dram0_rresp,
    input  logic                m_axi_dram0_rlast,
    input  logic                m_axi_dram0_rvalid,
    output logic                m_axi_dram0_rready,

    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram1_awaddr,
    output logic [         7:0] m_axi_dram1_awlen,
    output logic [         3:0] m_axi_dram1_awcache,
    output logic                m_axi_dram1_awvalid,
    input  logic                m_axi_dram1_awready,
    output logic [AXI_BITS-1:0] m_axi_dram1_wdata,
    output logic [AXI_BITS/8-1:0] m_axi_dram1_wstrb,
    output logic                m_axi_dram1_wlast,
    output logic                m_axi_dram1_wvalid,
    input  logic                m_axi_dram1_wready,
    input  logic [         1:0] m_axi_dram1_bresp,
    input  logic                m_axi_dram1_bvalid,
    output logic                m_axi_dram1_bready,
    output logic [AXI_ADDRESS_BITS-1:0] m_axi_dram1_araddr,
    output logic [         7:0] m_axi_dram1_arlen,
    output logic [         3:0] m_axi_dram1_arcache,
    output logic                m_axi_dram1_arvalid,
    input  logic                m_axi_dram1_arready,
    input  logic [AXI_BITS-1:0] m_axi_dram1_rdata,
    input  logic [         1:0] m_axi_dram1_rresp,
    input  logic                m_axi_dram1_rlast,
    input  logic                m_axi_dram1_rvalid,
    output logic                m_axi_dram1_rready,
    output logic [1:0][10:0]       axi_broken,
    output logic                   holds,
    output logic                   accepts,
    output logic                   accumulator_writes,
    output logic                   local_writes,
    output logic                   weights_shift,
    input  logic [           31:0] peek_address,
    output logic [VECTOR_BITS-1:0] peek_local,
    output logic [VECTOR_BITS-1:0] peek_accumulators,
    output logic [VECTOR_BITS-1:0] peek_register,
    output logic [LOOKUP_TABLES:0][VECTOR_BITS-1:0] peek_tables,
    output logic [7:0][31:0]       peek_configuration
);

  tcu #(
      .ARRAY_SIZE          (ARRAY_SIZE),
      .SCALAR_BITS         (SCALAR_BITS),
      .BINARY_POINT        (BINARY_POINT),
      .SLOT_BYTES          (SLOT_BYTES),
      .DRAM0_DEPTH         (DRAM0_DEPTH),
      .DRAM1_DEPTH         (DRAM1_DEPTH),
      .LOCAL_DEPTH         (LOCAL_DEPTH),
      .ACCUMULATOR_DEPTH   (ACCUMULATOR_DEPTH),
      .SIMD_REGISTERS_DEPTH(SIMD_REGISTERS_DEPTH),
      .LOOKUP_TABLES       (LOOKUP_TABLES),
      .LOOKUP_DEPTH        (LOOKUP_DEPTH),
      .STRIDE0_DEPTH       (STRIDE0_DEPTH),
      .STRIDE1_DEPTH       (STRIDE1_DEPTH),
      .NUMBER_OF_THREADS   (NUMBER_OF_THREADS),
      .AXI_BITS            (AXI_BITS),
      .INSTRUCTION_AXI_BITS(INSTRUCTION_AXI_BITS),
      .SAMPLE_BLOCK_SIZE   (SAMPLE_BLOCK_SIZE),
      .TIMEOUT             (TIMEOUT),
      .LOSES_ADDITIONS     (LOSES_ADDITIONS),
      .MOVES_WRITES        (MOVES_WRITES),
      .CROSSES_BY_A_BEAT   (CROSSES_BY_A_BEAT),
      .LOCAL_QUEUE_DEPTH   (LOCAL_QUEUE_DEPTH),
      .OVERLAPPED_DRAM     (OVERLAPPED_DRAM),
      .DOUBLE_WEIGHTS      (DOUBLE_WEIGHTS),
      .PIPELINED_SIMD      (PIPELINED_SIMD),
      .OUTSTANDING_BURSTS  (OUTSTANDING_BURSTS),
      .REGISTERED_ROWS     (REGISTERED_ROWS),
      .VALUE_IN_OPERAND1   (VALUE_IN_OPERAND1),
      .OFFSET_BITS         (OFFSET_BITS),
      .AXI_ADDRESS_BITS    (AXI_ADDRESS_BITS),
      .READS_BY_FLAG       (READS_BY_FLAG),
      .NOOP_MOVES          (NOOP_MOVES),
      .FIXED_TABLES        (FIXED_TABLES),
      .INVALID_SAMPLES     (INVALID_SAMPLES)
  ) unit (
      .clk_i, .rst_i, .timeout, .tracepoint, .bus_error,
      .instruction_tvalid, .instruction_tready, .instruction_tdata, .instruction_tkeep,
      .instruction_tlast,
      .sample_tvalid, .sample_tready, .sample_tdata, .sample_tkeep(), .sample_tlast,
      .m_axi_dram0_awaddr, .m_axi_dram0_awlen, .m_axi_dram0_awcache, .m_axi_dram0_awvalid,
      .m_axi_dram0_awready, .m_axi_dram0_wdata, .m_axi_dram0_wstrb, .m_axi_dram0_wlast,
      .m_axi_dram0_wvalid, .m_axi_dram0_wready, .m_axi_dram0_bresp, .m_axi_dram0_bvalid,
      .m_axi_dram0_bready, .m_axi_dram0_araddr, .m_axi_dram0_arlen, .m_axi_dram0_arcache,
      .m_axi_dram0_arvalid, .m_axi_dram0_arready, .m_axi_dram0_rdata, .m_axi_dram0_rresp,
      .m_axi_dram0_rlast, .m_axi_dram0_rvalid, .m_axi_dram0_rready, .m_axi_dram0_awid(),
      .m_axi_dram0_awsize(), .m_axi_dram0_awburst(), .m_axi_dram0_awlock(), .m_axi_dram0_awprot(),
      .m_axi_dram0_awqos(), .m_axi_dram0_arid(), .m_axi_dram0_arsize(), .m_axi_dram0_arburst(),
      .m_axi_dram0_arlock(), .m_axi_dram0_arprot(), .m_axi_dram0_arqos(), .m_axi_dram0_bid('0),
      .m_axi_dram0_rid('0),
      .m_axi_dram1_awaddr, .m_axi_dram1_awlen, .m_axi_dram1_awcache, .m_axi_dram1_awvalid,
      .m_axi_dram1_awready, .m_axi_dram1_wdata, .m_axi_dram1_wstrb, .m_axi_dram1_wlast,
      .m_axi_dram1_wvalid, .m_axi_dram1_wready, .m_axi_dram1_bresp, .m_axi_dram1_bvalid,
      .m_axi_dram1_bready, .m_axi_dram1_araddr, .m_axi_dram1_arlen, .m_axi_dram1_arcache,
      .m_axi_dram1_arvalid, .m_axi_dram1_arready, .m_axi_dram1_rdata, .m_axi_dram1_rresp,
      .m_axi_dram1_rlast, .m_axi_dram1_rvalid, .m_axi_dram1_rready, .m_axi_dram1_awid(),
      .m_axi_dram1_awsize(), .m_axi_dram1_awburst(), .m_axi_dram1_awlock(), .m_axi_dram1_awprot(),
      .m_axi_dram1_awqos(), .m_axi_dram1_arid(), .m_axi_dram1_arsize(), .m_axi_dram1_arburst(),
      .m_axi_dram1_arlock(), .m_axi_dram1_arprot(), .m_axi_dram1_arqos(), .m_axi_dram1_bid('0),
      .m_axi_dram1_rid('0)
  );

  // Bursts under way of a bank: those remembered, and one more. Bursts read are remembered whole,
  // and each has a part for every 4 KiB that it touches.
  localparam int unsigned REMEMBERED = OUTSTANDING_BURSTS > 0 ? OUTSTANDING_BURSTS : 2;
  localparam int unsigned LONGEST_BYTES = 256 * AXI_BITS / 8;
  localparam int unsigned PARTS = (LONGEST_BYTES > 4096 ? LONGEST_BYTES / 4096 : 1) + 1;
  localparam int unsigned MOST_READS = REMEMBERED * PARTS + 1;

  npu_axi_checker #(
      .DATA_BITS  (AXI_BITS),
      .ADDRESS_BITS(AXI_ADDRESS_BITS),
      .MOST_READS (MOST_READS),
      .MOST_WRITES(REMEMBERED + 1),
      .MAY_CROSS  (CROSSES_BY_A_BEAT)
  ) checker0 (
      .clock(clk_i), .reset(rst_i),
      .awvalid(unit.m_axi_dram0_awvalid),
      .awready(unit.m_axi_dram0_awready),
      .awaddr (unit.m_axi_dram0_awaddr),
      .awlen  (unit.m_axi_dram0_awlen),
      .awsize (unit.m_axi_dram0_awsize),
      .awburst(unit.m_axi_dram0_awburst),
      .awcache(unit.m_axi_dram0_awcache),
      .wvalid (unit.m_axi_dram0_wvalid),
      .wready (unit.m_axi_dram0_wready),
      .wdata  (unit.m_axi_dram0_wdata),
      .wstrb  (unit.m_axi_dram0_wstrb),
      .wlast  (unit.m_axi_dram0_wlast),
      .bvalid (unit.m_axi_dram0_bvalid),
      .bready (unit.m_axi_dram0_bready),
      .bresp  (unit.m_axi_dram0_bresp),
      .arvalid(unit.m_axi_dram0_arvalid),
      .arready(unit.m_axi_dram0_arready),
      .araddr (unit.m_axi_dram0_araddr),
      .arlen  (unit.m_axi_dram0_arlen),
      .arsize (unit.m_axi_dram0_arsize),
      .arburst(unit.m_axi_dram0_arburst),
      .arcache(unit.m_axi_dram0_arcache),
      .rvalid (unit.m_axi_dram0_rvalid),
      .rready (unit.m_axi_dram0_rready),
      .rdata  (unit.m_axi_dram0_rdata),
      .rresp  (unit.m_axi_dram0_rresp),
      .rlast  (unit.m_axi_dram0_rlast),
      .broken (axi_broken[0])
  );

  npu_axi_checker #(
      .DATA_BITS  (AXI_BITS),
      .ADDRESS_BITS(AXI_ADDRESS_BITS),
      .MOST_READS (MOST_READS),
      .MOST_WRITES(REMEMBERED + 1),
      .MAY_CROSS  (CROSSES_BY_A_BEAT)
  ) checker1 (
      .clock(clk_i), .reset(rst_i),
      .awvalid(unit.m_axi_dram1_awvalid),
      .awready(unit.m_axi_dram1_awready),
      .awaddr (unit.m_axi_dram1_awaddr),
      .awlen  (unit.m_axi_dram1_awlen),
      .awsize (unit.m_axi_dram1_awsize),
      .awburst(unit.m_axi_dram1_awburst),
      .awcache(unit.m_axi_dram1_awcache),
      .wvalid (unit.m_axi_dram1_wvalid),
      .wready (unit.m_axi_dram1_wready),
      .wdata  (unit.m_axi_dram1_wdata),
      .wstrb  (unit.m_axi_dram1_wstrb),
      .wlast  (unit.m_axi_dram1_wlast),
      .bvalid (unit.m_axi_dram1_bvalid),
      .bready (unit.m_axi_dram1_bready),
      .bresp  (unit.m_axi_dram1_bresp),
      .arvalid(unit.m_axi_dram1_arvalid),
      .arready(unit.m_axi_dram1_arready),
      .araddr (unit.m_axi_dram1_araddr),
      .arlen  (unit.m_axi_dram1_arlen),
      .arsize (unit.m_axi_dram1_arsize),
      .arburst(unit.m_axi_dram1_arburst),
      .arcache(unit.m_axi_dram1_arcache),
      .rvalid (unit.m_axi_dram1_rvalid),
      .rready (unit.m_axi_dram1_rready),
      .rdata  (unit.m_axi_dram1_rdata),
      .rresp  (unit.m_axi_dram1_rresp),
      .rlast  (unit.m_axi_dram1_rlast),
      .broken (axi_broken[1])
  );

  assign holds = unit.valid;
  assign accepts = unit.valid && unit.ready;
  assign accumulator_writes = unit.accumulators_store;
  assign local_writes = unit.local_writes;
  assign weights_shift = unit.weights_load;

  if (LOCAL_QUEUE_DEPTH > 0) begin : gen_lanes
    assign peek_local = unit.gen_lanes.local_memory.ram.memory[peek_address[$clog2(LOCAL_DEPTH)-1:0]];
  end else begin : gen_ports
    assign peek_local = unit.gen_ports.local_memory.ram.memory[peek_address[$clog2(LOCAL_DEPTH)-1:0]];
  end

  logic [SIMD_REGISTERS_DEPTH:0][VECTOR_BITS-1:0] registers;

  if (PIPELINED_SIMD) begin : gen_pipeline
    assign peek_accumulators =
        unit.gen_pipeline.accumulators.ram.memory[peek_address[$clog2(ACCUMULATOR_DEPTH)-1:0]];
    assign registers = unit.gen_pipeline.accumulators.registers;
  end else begin : gen_stage
    assign peek_accumulators =
        unit.gen_stage.accumulators.ram.memory[peek_address[$clog2(ACCUMULATOR_DEPTH)-1:0]];
    assign registers = unit.gen_stage.accumulators.alus.registers;
  end

  always_comb begin
    peek_register = '0;
    for (int unsigned i = 1; i <= SIMD_REGISTERS_DEPTH; i++) if (peek_address + 1 == i) peek_register = registers[i];
  end

  if (LOOKUP_TABLES > 0) begin : gen_tables
    for (genvar t = 0; t <= LOOKUP_TABLES; t++) begin : gen_table
      assign peek_tables[t] =
          unit.gen_stage.accumulators.alus.gen_lookup.lookup.gen_table[t].ram.memory[peek_address[$clog2(
              LOOKUP_DEPTH > 1 ? LOOKUP_DEPTH : 2
          )-1:0]];
    end
  end else begin : gen_no_tables
    assign peek_tables = '0;
  end

  assign peek_configuration = {
    32'(unit.configuration.sample_interval),
    32'(unit.configuration.program_counter),
    32'(unit.configuration.traced),
    32'(unit.configuration.longest),
    32'(unit.configuration.dram_cache[1]),
    32'(unit.configuration.dram_offset[1]),
    32'(unit.configuration.dram_cache[0]),
    32'(unit.configuration.dram_offset[0])
  };

endmodule
