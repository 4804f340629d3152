// The configuration registers, the program counter, and the flags derived from them.
//
// `timeout` becomes high in the cycle in which the decoder has held an instruction for the number
// of cycles in the register. `tracepoint` is high while the program counter equals its register.
//
// Source: the specification's 9.8.
module tcu_configuration #(
    parameter logic [15:0] TIMEOUT = 16'd100,
    parameter int unsigned OFFSET_BITS = 16
) (
    input  logic                        clock,
    input  logic                        reset,
    input  logic                        holds,
    input  logic                        accepts,
    input  logic                        configures,
    input  tcu_pkg::register_e          number,
    input  logic [31:0]                 value,
    output logic [1:0][OFFSET_BITS-1:0] dram_offset,
    output logic [1:0][3:0]             dram_cache,
    output logic [15:0]                 sample_interval,
    output logic [31:0]                 program_counter,
    output logic                        timeout,
    output logic                        tracepoint
);

  logic [15:0] longest, waited;
  logic [31:0] traced;

  assign timeout = holds && waited >= longest;
  assign tracepoint = program_counter == traced;

  always_ff @(posedge clock) begin
    if (reset) begin
      dram_offset     <= '0;
      dram_cache      <= '0;
      sample_interval <= '0;
      longest         <= TIMEOUT;
      traced          <= '1;
      program_counter <= '0;
      waited          <= '0;
    end else begin
      if (!holds || accepts) waited <= '0;
      else if (waited != '1) waited <= waited + 1'b1;
      if (accepts) program_counter <= program_counter + 1'b1;
      if (accepts && configures) begin
        case (number)
          tcu_pkg::REGISTER_DRAM0_OFFSET:    dram_offset[0] <= value[OFFSET_BITS-1:0];
          tcu_pkg::REGISTER_DRAM0_CACHE:     dram_cache[0] <= value[3:0];
          tcu_pkg::REGISTER_DRAM1_OFFSET:    dram_offset[1] <= value[OFFSET_BITS-1:0];
          tcu_pkg::REGISTER_DRAM1_CACHE:     dram_cache[1] <= value[3:0];
          tcu_pkg::REGISTER_TIMEOUT:         longest <= value[15:0];
          tcu_pkg::REGISTER_TRACEPOINT:      traced <= value;
          tcu_pkg::REGISTER_PROGRAM_COUNTER: program_counter <= value;
          tcu_pkg::REGISTER_SAMPLE_INTERVAL: sample_interval <= value[15:0];
          default: ;
        endcase
      end
    end
  end

endmodule
