# npu run matmul.pasm --target drra
# C = A B as in matmul.s: three levels of `rep` are three loops.
.data input[0], 1, 2, 3, 4, -1, 0, 2, 5, 7, -3, 1, 1, 0, 6, -2, 8
.data input[1], 2, 0, -1, 3, 1, 4, 2, -2, 5, 1, 0, 6, -3, 2, 7, 1
.expect output[0], 7, 19, 31, 21, -7, 12, 36, 14, 13, -9, -6, 34, -28, 38, 68, -16

epoch<matmul> {
  rop<route_in> (row=0, col=0, slot=0, port=1) {
    route (sr=send, source=2, target=0b010000000)
  }
  rop<input_read> (row=0, col=0, slot=1, port=0) {
    dsu (init_addr=0)
    rep (iter=2)
  }
  rop<input_write> (row=0, col=0, slot=1, port=2) {
    dsu (init_addr=0)
    rep (iter=2)
  }
  rop<rows> (row=0, col=0, slot=2, port=3) {
    dsu (init_addr=0)
    rep (iter=2)
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
  rop<a_in> (row=1, col=0, slot=1, port=2) {
    dsu (init_addr=0)
  }
  rop<b_in> (row=1, col=0, slot=2, port=2) {
    dsu (init_addr=0)
  }
  # Of A, word 4 i + k; of B, word 4 k + j: first k, the terms, then j, the columns, then i, the rows.
  rop<a> (row=1, col=0, slot=1, port=1) {
    dsu (init_addr=0)
    rep (iter=4, step=1)
    rep (iter=4, step=0)
    rep (iter=4, step=4)
  }
  rop<b> (row=1, col=0, slot=2, port=1) {
    dsu (init_addr=0)
    rep (iter=4, step=4)
    rep (iter=4, step=1)
    rep (iter=4, step=0)
  }
  rop<restart> (row=1, col=0, slot=4, port=1) {
    evt ()
    rep (iter=16, step=0, delay=3)
  }
  rop<c> (row=1, col=0, slot=3, port=0) {
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
  cstr("rows.e0[0] == a_in")
  cstr("rows.e0[1] == b_in")
  cstr("a > b_in")
  cstr("links < a")
  cstr("sums < a")
  cstr("a == b")
  cstr("a == restart")
  cstr("c == a + 4")
  cstr("row_out > c.e0[15]")
  cstr("row_out == row_in")
  cstr("route_out < row_in")
  cstr("output_read > row_in")
  cstr("output_read == output_write")
}
