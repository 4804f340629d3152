# npu run fir.pasm --target drra
# The filter of fir.s, without a cycle in it: y[n] = 2x[n] - x[n+1] + 3x[n+2] + 5x[n+3].
# Operations say what a port does, constraints when; the scheduler finds cycles, activations and waits.
.data input[0], 3, -1, 4, 1, -5, 9, 2, -6, 5, 3, -5, 8, 9, -7, 9, 3
.data input[1], 2, 3, -8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.data input[2], 2, -1, 3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
.expect output[0], 24, -28, 37, 44, -43, 23, 40, -33, 32, 80, -26, 31, 67, -4, 36, -27

epoch<fir> {
  rop<route_in> (row=0, col=0, slot=0, port=1) {
    route (sr=send, source=2, target=0b010000000)
  }
  rop<input_read> (row=0, col=0, slot=1, port=0) {
    dsu (init_addr=0)
    rep (iter=3)
  }
  rop<input_write> (row=0, col=0, slot=1, port=2) {
    dsu (init_addr=0)
    rep (iter=3)
  }
  rop<rows> (row=0, col=0, slot=2, port=3) {
    dsu (init_addr=0)
    rep (iter=3)
  }
  rop<routes> (row=1, col=0, slot=0, port=1) {
    route (sr=receive, source=1, target=0b0110)
    route (sr=send, source=3, target=0b010000000)
  }
  rop<links> (row=1, col=0, slot=0, port=0) {
    swb (channel=4, source=1, target=4)
    swb (channel=5, source=2, target=5)
    swb (channel=3, source=4, target=3)
  }
  rop<sums> (row=1, col=0, slot=4, port=0) {
    dpu (mode=mac)
  }
  rop<x_in> (row=1, col=0, slot=1, port=2) {
    dsu (init_addr=0)
    rep (iter=2)
  }
  rop<h_in> (row=1, col=0, slot=2, port=2) {
    dsu (init_addr=0)
  }
  # x[n] to x[n+3], sixteen times, from one further each time.
  rop<x> (row=1, col=0, slot=1, port=1) {
    dsu (init_addr=0)
    rep (iter=4)
    rep (iter=16)
  }
  # The four taps, the same each time.
  rop<h> (row=1, col=0, slot=2, port=1) {
    dsu (init_addr=0)
    rep (iter=4)
    rep (iter=16, step=0)
  }
  # A new sum in every fourth cycle.
  rop<restart> (row=1, col=0, slot=4, port=1) {
    evt ()
    rep (iter=16, step=0, delay=3)
  }
  rop<y> (row=1, col=0, slot=3, port=0) {
    dsu (init_addr=0)
    rep (iter=16, delay=3)
  }
  rop<row_out> (row=1, col=0, slot=3, port=3) {
    dsu (init_addr=0)
  }
  rop<route_out> (row=2, col=0, slot=0, port=1) {
    route (sr=receive, source=1, target=0b0100)
  }
  rop<row_in> (row=2, col=0, slot=2, port=2) {
    dsu (init_addr=0)
  }
  rop<output_read> (row=2, col=0, slot=1, port=3) {
    dsu (init_addr=0)
  }
  rop<output_write> (row=2, col=0, slot=1, port=1) {
    dsu (init_addr=0)
  }

  # A row is written in the cycle in which it is read, and read after it came.
  cstr("input_read == input_write")
  cstr("rows > input_write")
  cstr("route_in < rows")
  cstr("routes < rows")
  cstr("rows.e0[0] == x_in.e0[0]")
  cstr("rows.e0[2] == h_in")
  cstr("x > h_in")
  cstr("links < x")
  cstr("sums < x")
  cstr("x == h")
  cstr("x == restart")
  # The sum of the first four products is there a cycle after the last of them.
  cstr("y == x + 4")
  cstr("row_out > y.e0[15]")
  cstr("row_out == row_in")
  cstr("route_out < row_in")
  cstr("output_read > row_in")
  cstr("output_read == output_write")
}
