# npu run transpose.pasm --target drra
# The transposition of transpose.s: both ports start in the same cycle.
.data rf.1.0.1[0:16], -20, -13, -6, 1, 8, 15, 22, 29, 36, 43, -14, -7, 0, 7, 14, 21
.data rf.1.0.1[16:32], 28, 35, 42, -15, -8, -1, 6, 13, 20, 27, 34, 41, -16, -9, -2, 5
.data rf.1.0.1[32:48], 12, 19, 26, 33, 40, -17, -10, -3, 4, 11, 18, 25, 32, 39, -18, -11
.data rf.1.0.1[48:64], -4, 3, 10, 17, 24, 31, 38, -19, -12, -5, 2, 9, 16, 23, 30, 37
.expect rf.1.0.2[0:16], -20, 36, 28, 20, 12, 4, -4, -12, -13, 43, 35, 27, 19, 11, 3, -5
.expect rf.1.0.2[16:32], -6, -14, 42, 34, 26, 18, 10, 2, 1, -7, -15, 41, 33, 25, 17, 9
.expect rf.1.0.2[32:48], 8, 0, -8, -16, 40, 32, 24, 16, 15, 7, -1, -9, -17, 39, 31, 23
.expect rf.1.0.2[48:64], 22, 14, 6, -2, -10, -18, 38, 30, 29, 21, 13, 5, -3, -11, -19, 37

epoch<transpose> {
  rop<link> (row=1, col=0, slot=0, port=0) {
    swb (channel=2, source=1, target=2)
  }
  # Down a column, then the next column.
  rop<columns> (row=1, col=0, slot=1, port=1) {
    dsu (init_addr=0)
    rep (iter=8, step=8)
    rep (iter=8, step=1)
  }
  rop<rows> (row=1, col=0, slot=2, port=0) {
    dsu (init_addr=0)
    rep (iter=64)
  }

  cstr("link < columns")
  cstr("columns == rows")
}
