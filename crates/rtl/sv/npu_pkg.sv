// What the library's modules share: buses, and numbers that widths are made of.
package npu_pkg;

  // A channel of addresses of AXI4, of a burst of `len` words and one more. Addresses are as wide
  // as the widest bus has them.
  typedef struct packed {
    logic        valid;
    logic [63:0] addr;
    logic [7:0]  len;
    logic [3:0]  cache;
  } axi_address_t;

  // What a master drives, and what it is answered, but for the data, whose widths are parameters.
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

  // The width of indices of so many things: 1 bit for one thing, as a signal needs.
  function automatic integer index_bits(input integer count);
    index_bits = count > 1 ? $clog2(count) : 1;
  endfunction

endpackage
