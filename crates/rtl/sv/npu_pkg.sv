// Types of the buses and functions for widths that the library's modules share.
package npu_pkg;

  // An AXI4 address channel. A burst has `len` + 1 words. Addresses have the width of the widest
  // bus.
  typedef struct packed {
    logic        valid;
    logic [63:0] addr;
    logic [7:0]  len;
    logic [3:0]  cache;
  } axi_address_t;

  // Outputs of a master and the responses to them, without the data, whose widths are parameters.
  typedef struct packed {
    axi_address_t aw;
    axi_address_t ar;
    logic         w_valid;
    logic         w_last;
    logic         b_ready;
    logic         r_ready;
  } axi_request_t;

  typedef struct packed {
    logic       aw_ready;
    logic       w_ready;
    logic       b_valid;
    logic [1:0] b_resp;
    logic       ar_ready;
    logic       r_valid;
    logic [1:0] r_resp;
  } axi_response_t;

  function automatic integer larger(input integer a, input integer b);
    larger = a > b ? a : b;
  endfunction

  function automatic integer smaller(input integer a, input integer b);
    smaller = a < b ? a : b;
  endfunction

  // Width of an index of `count` items. One item needs 1 bit because a signal has at least one.
  function automatic integer index_bits(input integer count);
    index_bits = count > 1 ? $clog2(count) : 1;
  endfunction

endpackage
