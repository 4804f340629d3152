m4epoch<mac_4x8> {
  rop<input_ra_0> (row=0, col=0, slot=1, port=0) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }
  rop<input_wa_0> (row=0, col=0, slot=1, port=2) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }
  rop<feed_a_0> (row=0, col=0, slot=2, port=3) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }
  rop<write_a_0> (row=1, col=0, slot=1, port=2) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }
  rop<input_r_0> (row=0, col=0, slot=1, port=0) {
    dsu (init_addr=1)
    rep (iter=2, step=1, delay=15)
  }
  rop<input_w_0> (row=0, col=0, slot=1, port=2) {
    dsu (init_addr=0)
    rep (iter=2, step=0, delay=15)
  }
  rop<feed_0> (row=0, col=0, slot=2, port=3) {
    dsu (init_addr=0)
    rep (iter=2, step=0, delay=15)
  }
  rop<write_b_0> (row=1, col=0, slot=2, port=2) {
    dsu (init_addr=0)
    rep (iter=2, step=0, delay=15)
  }
  rop<read_a_0> (row=1, col=0, slot=1, port=1) {
    dsu (init_addr=0)
    rep (iter=8, step=1, delay=0)
    rep (iter=4, step=0, delay=0)
  }
  rop<read_b_0> (row=1, col=0, slot=2, port=1) {
    dsu (init_addr=0)
    rep (iter=16, step=1, delay=0)
    rep (iter=2, step=0, delay=0)
  }
  rop<route_in_0> (row=0, col=0, slot=0, port=1) {
    route (sr=send, source=2, target=128)
  }
  rop<route_mid_0> (row=1, col=0, slot=0, port=1) {
    route (sr=receive, source=1, target=6)
    route (sr=send, source=3, target=128)
  }
  rop<route_out_0> (row=2, col=0, slot=0, port=1) {
    route (sr=receive, source=1, target=4)
  }
  rop<links_0> (row=1, col=0, slot=0, port=0) {
    swb (channel=4, source=1, target=4)
    swb (channel=5, source=2, target=5)
    swb (channel=3, source=4, target=3)
  }
  rop<compute_0> (row=1, col=0, slot=4, port=0) {
    dpu (mode=mac, immediate=0)
  }
  rop<reset_0> (row=1, col=0, slot=4, port=1) {
    evt
    rep (iter=4, step=0, delay=7)
  }
  rop<keep_0> (row=1, col=0, slot=3, port=0) {
    dsu (init_addr=0)
    rep (iter=4, step=1, delay=7)
  }
  rop<read_0> (row=1, col=0, slot=3, port=3) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }
  rop<store_0> (row=2, col=0, slot=2, port=2) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }
  rop<output_r_0> (row=2, col=0, slot=1, port=3) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }
  rop<output_w_0> (row=2, col=0, slot=1, port=1) {
    dsu (init_addr=0)
    rep (iter=1, step=0, delay=0)
  }

  cstr("input_wa_0 == input_ra_0")
  cstr("feed_a_0 == input_ra_0 + 1")
  cstr("write_a_0 == feed_a_0")
  cstr("route_in_0 <= feed_a_0")
  cstr("input_ra_0 < input_r_0")
  cstr("input_w_0 == input_r_0")
  cstr("feed_0 == input_r_0 + 1")
  cstr("write_b_0 == feed_0")
  cstr("read_a_0 == write_b_0 + 1")
  cstr("read_b_0 == read_a_0")
  cstr("route_in_0 <= feed_0")
  cstr("route_mid_0 <= write_a_0")
  cstr("route_out_0 <= store_0")
  cstr("links_0 <= read_a_0")
  cstr("compute_0 <= read_a_0")
  cstr("reset_0 == read_a_0")
  cstr("keep_0 + 0 == read_a_0 + 8")
  cstr("read_0 + 0 == read_a_0 + 33")
  cstr("store_0 == read_0")
  cstr("output_r_0 == store_0 + 1")
  cstr("output_w_0 == output_r_0")
}
