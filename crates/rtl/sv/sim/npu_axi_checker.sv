// Checks an AXI4 master and the memory that answers it, and reports the rules that they break.
//
// `broken` has one bit per rule, in the order of RULES in `axi.h`. A bit is high in the cycle after
// the master or the memory broke the rule. Identifiers are not checked: all transfers of a bank
// have the same one, so responses come in order. A burst is in progress from the cycle in which its
// address is accepted until its last word or response is accepted. MAY_CROSS permits a burst of the
// released circuit that exceeds a 4 KiB boundary by its last beat.
//
// Source: the AXI4 protocol: handshakes and reset (A3.1, A3.2), bursts (A3.4), order of transfers
// (A5.3).
module npu_axi_checker #(
    parameter int unsigned DATA_BITS = 128,
    parameter int unsigned ADDRESS_BITS = 32,
    parameter int unsigned MOST_READS = 7,
    parameter int unsigned MOST_WRITES = 3,
    parameter bit MAY_CROSS = 1'b0
) (
    input logic clock,
    input logic reset,

    input logic                 awvalid,
    input logic                 awready,
    input logic [ADDRESS_BITS-1:0] awaddr,
    input logic [          7:0] awlen,
    input logic [          2:0] awsize,
    input logic [          1:0] awburst,
    input logic [          3:0] awcache,
    input logic                 wvalid,
    input logic                 wready,
    input logic [DATA_BITS-1:0] wdata,
    input logic [DATA_BITS/8-1:0] wstrb,
    input logic                 wlast,
    input logic                 bvalid,
    input logic                 bready,
    input logic [          1:0] bresp,
    input logic                 arvalid,
    input logic                 arready,
    input logic [ADDRESS_BITS-1:0] araddr,
    input logic [          7:0] arlen,
    input logic [          2:0] arsize,
    input logic [          1:0] arburst,
    input logic [          3:0] arcache,
    input logic                 rvalid,
    input logic                 rready,
    input logic [DATA_BITS-1:0] rdata,
    input logic [          1:0] rresp,
    input logic                 rlast,

    output logic [10:0] broken
);

`ifdef SYNTHESIS
  assign broken = '0;
`else
  localparam int unsigned BYTES = DATA_BITS / 8;
  localparam int unsigned REACH = 4096 + (MAY_CROSS ? BYTES : 0);

  // The channels: write address, write data, read address, write response, read data.
  logic [4:0] valid, ready, waited, changed;
  logic [ADDRESS_BITS+16:0] aw, ar, aw_before, ar_before;
  logic [DATA_BITS+BYTES:0] w, w_before;
  logic [DATA_BITS+2:0] r, r_before;
  logic [1:0] b_before;
  logic aw_takes, w_takes, ar_takes, b_takes, r_takes;

  assign valid = {rvalid, bvalid, arvalid, wvalid, awvalid};
  assign ready = {rready, bready, arready, wready, awready};
  assign {r_takes, b_takes, ar_takes, w_takes, aw_takes} = valid & ready;
  assign aw = {awaddr, awlen, awsize, awburst, awcache};
  assign ar = {araddr, arlen, arsize, arburst, arcache};
  assign w = {wlast, wstrb, wdata};
  assign r = {rlast, rresp, rdata};

  // An item that was offered but not accepted must be offered again, unchanged.
  assign changed = waited & {
    !rvalid || r != r_before,
    !bvalid || bresp != b_before,
    !arvalid || ar != ar_before,
    !wvalid || w != w_before,
    !awvalid || aw != aw_before
  };

  function automatic logic crosses(input logic [11:0] offset, input logic [7:0] length);
    crosses = 32'(offset) + (32'(length) + 1) * BYTES > REACH;
  endfunction

  // Whether a burst is not made of whole words at incrementing addresses.
  function automatic logic is_odd(input logic [ADDRESS_BITS-1:0] address, input logic [2:0] size, input logic [1:0] burst);
    is_odd = size != 3'($clog2(BYTES)) || burst != 2'b01 || address % ADDRESS_BITS'(BYTES) != '0;
  endfunction

  logic was_reset = 1'b0;
  // Lengths of read and write bursts whose address was accepted, oldest first, and of write bursts
  // whose last word was accepted. Words may precede their address.
  logic [7:0] reads[$], writes[$], written[$];
  // Words of the current bursts, write bursts without a response, and those of them that are
  // complete.
  int unsigned words_read = 0, words_written = 0, unanswered = 0, complete = 0;

  task automatic follow_reads(output logic many, output logic last);
    last = 1'b0;
    if (ar_takes) reads.push_back(arlen);
    many = reads.size() > MOST_READS;
    if (r_takes) begin
      last = reads.size() == 0 || rlast != (words_read == 32'(reads[0]));
      words_read = rlast ? 0 : words_read + 1;
      if (rlast && reads.size() != 0) void'(reads.pop_front());
    end
  endtask

  task automatic follow_writes(output logic many, output logic last, output logic response);
    logic [7:0] longest;

    if (aw_takes) begin
      writes.push_back(awlen);
      unanswered = unanswered + 1;
    end
    many = unanswered > MOST_WRITES;
    response = b_takes && complete == 0;
    if (b_takes) begin
      unanswered = unanswered == 0 ? 0 : unanswered - 1;
      complete = complete == 0 ? 0 : complete - 1;
    end
    longest = writes.size() != 0 && written.size() == 0 ? writes[0] : 8'd255;
    last = w_takes && !wlast && words_written >= 32'(longest);
    if (w_takes) begin
      if (wlast) written.push_back(8'(words_written));
      words_written = wlast ? 0 : words_written + 1;
    end
    if (writes.size() != 0 && written.size() != 0) begin
      if (writes[0] != written[0]) last = 1'b1;
      void'(writes.pop_front());
      void'(written.pop_front());
      complete = complete + 1;
    end
  endtask

  task automatic forget();
    reads.delete();
    writes.delete();
    written.delete();
    words_read = 0;
    words_written = 0;
    unanswered = 0;
    complete = 0;
  endtask

  always @(posedge clock) begin
    logic many_reads, last_read, many_writes, last_written, response;

    {many_reads, last_read, many_writes, last_written, response} = '0;
    if (reset) forget();
    else begin
      follow_reads(many_reads, last_read);
      follow_writes(many_writes, last_written, response);
    end
    broken <= {
      response,
      last_written,
      many_writes,
      last_read,
      many_reads,
      !reset && changed[4:3] != '0,
      !reset && changed[2:0] != '0,
      !reset && ((awvalid && is_odd(awaddr, awsize, awburst)) || (arvalid && is_odd(araddr, arsize, arburst))),
      !reset && ((awvalid && crosses(awaddr[11:0], awlen)) || (arvalid && crosses(araddr[11:0], arlen))),
      (^valid[2:0]) === 1'bx || (awvalid && (^aw) === 1'bx) || (arvalid && (^ar) === 1'bx) || (wvalid && (^{wlast, wstrb}) === 1'bx),
      reset && was_reset && valid[2:0] != '0
    };
    was_reset <= reset;
    waited <= reset ? '0 : valid & ~ready;
    {aw_before, w_before, ar_before, b_before, r_before} <= {aw, w, ar, bresp, r};
  end
`endif

endmodule
