# npu run butterfly.pasm --target drra
# The last stage of a Fourier transform of the eight words 12 -7 3 9 -4 6 0 5: four butterflies,
# X[k] = E[k] + w O[k] and X[k+4] = E[k] - w O[k], where w = exp(-j pi k / 4).
# As butterfly.s: every part of a result is a sum of four products with constants.
# Each butterfly's E and O, real and imaginary.
.data rf.1.0.1[0:16], 11, 0, 13, 0, 16, -3, -13, -4, 5, 0, -15, 0, 16, 3, -13, 4
# A row for each butterfly: the factors of X[k] and X[k+4], real and imaginary, 32 times as large.
.data rf.1.0.2[0:16], 32, 0, 32, 0, 0, 32, 0, 32, 32, 0, -32, 0, 0, 32, 0, -32
.data rf.1.0.2[16:32], 32, 0, 23, 23, 0, 32, -23, 23, 32, 0, -23, -23, 0, 32, 23, -23
.data rf.1.0.2[32:48], 32, 0, 0, 32, 0, 32, -32, 0, 32, 0, 0, -32, 0, 32, 32, 0
.data rf.1.0.2[48:64], 32, 0, -23, 23, 0, 32, -23, -23, 32, 0, 23, -23, 0, 32, 23, 23
# X[k] and X[k+4] of k = 0 to 3, 32 times as large.
.expect rf.1.0.3[0:16], 768, 0, -64, 0, 121, 111, 903, -303, 160, 480, 160, -480, 903, 303, 121, -111

epoch<butterfly> {
  rop<links> (row=1, col=0, slot=0, port=0) {
    swb (channel=4, source=1, target=4)
    swb (channel=5, source=2, target=5)
    swb (channel=3, source=4, target=3)
  }
  rop<sums> (row=1, col=0, slot=4, port=0) {
    dpu (mode=mac)
  }
  # The four parts of E and O, once for each part of the results, for each butterfly.
  rop<parts> (row=1, col=0, slot=1, port=1) {
    dsu (init_addr=0)
    rep (iter=4, step=1)
    rep (iter=4, step=0)
    rep (iter=4, step=4)
  }
  rop<factors> (row=1, col=0, slot=2, port=1) {
    dsu (init_addr=0)
    rep (iter=64)
  }
  rop<restart> (row=1, col=0, slot=4, port=1) {
    evt ()
    rep (iter=16, step=0, delay=3)
  }
  rop<results> (row=1, col=0, slot=3, port=0) {
    dsu (init_addr=0)
    rep (iter=16, delay=3)
  }

  cstr("links < parts")
  cstr("sums < parts")
  cstr("parts == factors")
  cstr("parts == restart")
  cstr("results == parts + 4")
}
