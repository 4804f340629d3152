# npu run prefix_sum.pasm --target drra
# The running sum of prefix_sum.s.
.data rf.1.0.1[0:16], 5, -3, 8, 0, 7, -2, 1, 1, -9, 4, 6, -6, 2, 10, -1, 3
.data rf.1.0.1[16:32], -8, 8, 2, 2, 5, -4, 0, 9, -7, 1, 3, -5, 6, 12, -2, 4
.data rf.1.0.2[0], 1
.expect rf.1.0.3[0:16], 5, 2, 10, 10, 17, 15, 16, 17, 8, 12, 18, 12, 14, 24, 23, 26
.expect rf.1.0.3[16:32], 18, 26, 28, 30, 35, 31, 31, 40, 33, 34, 37, 32, 38, 50, 48, 52

epoch<prefix_sum> {
  rop<links> (row=1, col=0, slot=0, port=0) {
    swb (channel=4, source=1, target=4)
    swb (channel=5, source=2, target=5)
    swb (channel=3, source=4, target=3)
  }
  rop<sum> (row=1, col=0, slot=4, port=0) {
    dpu (mode=mac)
  }
  rop<x> (row=1, col=0, slot=1, port=1) {
    dsu (init_addr=0)
    rep (iter=32)
  }
  rop<one> (row=1, col=0, slot=2, port=1) {
    dsu (init_addr=0)
    rep (iter=32, step=0)
  }
  rop<restart> (row=1, col=0, slot=4, port=1) {
    evt ()
  }
  rop<y> (row=1, col=0, slot=3, port=0) {
    dsu (init_addr=0)
    rep (iter=32)
  }

  cstr("links < x")
  cstr("sum < x")
  cstr("x == one")
  cstr("x == restart")
  # Results are a cycle behind.
  cstr("y == x + 1")
}
