// Drives npu_axi_checker: what is legal breaks no rule, and what breaks a rule breaks that alone.
//
// Built for words of 64 bits with at most five bursts read and three written under way.
#include <cstdio>
#include <functional>

#include "Vnpu_axi_checker.h"

namespace {

using Bus = Vnpu_axi_checker;

// The rules that were broken, and a bit that is none of them.
unsigned seen;
const unsigned OTHER = 1U << 20;

void edge(Bus& bus) {
  bus.clock = 0;
  bus.eval();
  bus.clock = 1;
  bus.eval();
}

// Nothing is offered, everything would be taken.
void quiet(Bus& bus) {
  bus.awvalid = bus.wvalid = bus.arvalid = bus.rvalid = bus.bvalid = 0;
  bus.awready = bus.wready = bus.arready = bus.rready = bus.bready = 1;
  bus.awsize = bus.arsize = 3;
  bus.awburst = bus.arburst = 1;
  bus.awaddr = bus.araddr = bus.awlen = bus.arlen = bus.awcache = bus.arcache = 0;
  bus.wlast = bus.rlast = bus.bresp = bus.rresp = 0;
  bus.wdata = bus.rdata = 0;
  bus.wstrb = 0xff;
}

// A cycle, and nothing is offered in the next.
void tick(Bus& bus) {
  edge(bus);
  seen |= bus.broken;
  quiet(bus);
}

void aw(Bus& bus, unsigned address, unsigned length) {
  bus.awvalid = 1;
  bus.awaddr = address;
  bus.awlen = length;
}

void ar(Bus& bus, unsigned address, unsigned length) {
  bus.arvalid = 1;
  bus.araddr = address;
  bus.arlen = length;
}

void w(Bus& bus, bool last) {
  bus.wvalid = 1;
  bus.wlast = last;
}

void r(Bus& bus, bool last) {
  bus.rvalid = 1;
  bus.rlast = last;
}

void b(Bus& bus) { bus.bvalid = 1; }

struct Case {
  const char* name;
  unsigned broken;
  std::function<void(Bus&)> run;
};

// Bits are in the order of RULES in `sim/axi.h`. That a signal is not known nobody can say here:
// there are two states.
const Case CASES[] = {
    {"legal", 0, [](Bus& bus) { aw(bus, 4088 - 8, 1); tick(bus); w(bus, 0); tick(bus); w(bus, 1); tick(bus); b(bus); tick(bus); ar(bus, 0, 2); tick(bus); r(bus, 0); tick(bus); r(bus, 0); tick(bus); r(bus, 1); tick(bus); }},
    {"legal, data first", 0, [](Bus& bus) { w(bus, 0); tick(bus); w(bus, 1); tick(bus); w(bus, 1); tick(bus); aw(bus, 0, 1); tick(bus); aw(bus, 0, 0); tick(bus); b(bus); tick(bus); b(bus); tick(bus); }},
    {"legal, same cycle", 0, [](Bus& bus) { aw(bus, 0, 0); w(bus, 1); tick(bus); b(bus); tick(bus); }},
    {"legal, waits", 0, [](Bus& bus) { for (int i = 0; i < 3; ++i) { ar(bus, 8, 0); bus.arready = 0; tick(bus); } ar(bus, 8, 0); tick(bus); r(bus, 1); bus.rready = 0; tick(bus); r(bus, 1); tick(bus); }},
    {"reset", 1 << 0, [](Bus& bus) { bus.reset = 1; tick(bus); bus.reset = 1; bus.wvalid = 1; tick(bus); bus.reset = 0; tick(bus); }},
    {"crosses read", 1 << 2, [](Bus& bus) { ar(bus, 4088, 1); tick(bus); r(bus, 0); tick(bus); r(bus, 1); tick(bus); }},
    {"crosses write", 1 << 2, [](Bus& bus) { aw(bus, 4096 - 16, 2); tick(bus); }},
    {"size", 1 << 3, [](Bus& bus) { ar(bus, 0, 0); bus.arsize = 2; tick(bus); }},
    {"burst", 1 << 3, [](Bus& bus) { aw(bus, 0, 0); bus.awburst = 0; tick(bus); }},
    {"unaligned", 1 << 3, [](Bus& bus) { aw(bus, 4, 0); tick(bus); }},
    {"AR taken back", 1 << 4, [](Bus& bus) { ar(bus, 0, 0); bus.arready = 0; tick(bus); tick(bus); }},
    {"AW address changes", 1 << 4, [](Bus& bus) { aw(bus, 0, 0); bus.awready = 0; tick(bus); aw(bus, 8, 0); tick(bus); }},
    {"AW cache changes", 1 << 4, [](Bus& bus) { aw(bus, 0, 0); bus.awready = 0; tick(bus); aw(bus, 0, 0); bus.awcache = 1; tick(bus); }},
    {"W data changes", 1 << 4, [](Bus& bus) { w(bus, 1); bus.wready = 0; tick(bus); w(bus, 1); bus.wdata = 1; tick(bus); }},
    {"W strobes change", 1 << 4, [](Bus& bus) { w(bus, 1); bus.wready = 0; tick(bus); w(bus, 1); bus.wstrb = 1; tick(bus); }},
    {"W last changes", 1 << 4, [](Bus& bus) { w(bus, 0); bus.wready = 0; tick(bus); w(bus, 1); tick(bus); }},
    {"R taken back", 1 << 5, [](Bus& bus) { ar(bus, 0, 0); tick(bus); r(bus, 1); bus.rready = 0; tick(bus); tick(bus); }},
    {"R data changes", 1 << 5, [](Bus& bus) { ar(bus, 0, 0); tick(bus); r(bus, 1); bus.rready = 0; tick(bus); r(bus, 1); bus.rdata = 5; tick(bus); }},
    {"B taken back", 1 << 5, [](Bus& bus) { aw(bus, 0, 0); w(bus, 1); tick(bus); b(bus); bus.bready = 0; tick(bus); tick(bus); }},
    {"many reads", 1 << 6, [](Bus& bus) { for (int i = 0; i < 5; ++i) { ar(bus, 0, 0); tick(bus); } if (seen) seen = OTHER; ar(bus, 0, 0); tick(bus); }},
    {"RLAST early", 1 << 7, [](Bus& bus) { ar(bus, 0, 1); tick(bus); r(bus, 1); tick(bus); }},
    {"RLAST late", 1 << 7, [](Bus& bus) { ar(bus, 0, 0); tick(bus); r(bus, 0); tick(bus); }},
    {"R of nothing", 1 << 7, [](Bus& bus) { r(bus, 1); tick(bus); }},
    {"many writes", 1 << 8, [](Bus& bus) { for (int i = 0; i < 3; ++i) { aw(bus, 0, 0); w(bus, 1); tick(bus); } if (seen) seen = OTHER; aw(bus, 0, 0); tick(bus); }},
    {"WLAST early", 1 << 9, [](Bus& bus) { aw(bus, 0, 1); tick(bus); w(bus, 1); tick(bus); }},
    {"WLAST late", 1 << 9, [](Bus& bus) { aw(bus, 0, 0); tick(bus); w(bus, 0); tick(bus); }},
    {"WLAST early, data first", 1 << 9, [](Bus& bus) { w(bus, 1); tick(bus); aw(bus, 0, 1); tick(bus); }},
    {"WLAST never", 1 << 9, [](Bus& bus) { for (int i = 0; i < 256; ++i) { w(bus, 0); tick(bus); } }},
    {"B of nothing", 1 << 10, [](Bus& bus) { b(bus); tick(bus); }},
    {"B before the last word", 1 << 10, [](Bus& bus) { aw(bus, 0, 1); tick(bus); w(bus, 0); tick(bus); b(bus); tick(bus); }},
    {"B twice", 1 << 10, [](Bus& bus) { aw(bus, 0, 0); w(bus, 1); tick(bus); b(bus); tick(bus); b(bus); tick(bus); }},
};

}  // namespace

int main() {
  int failed = 0;
  for (const Case& one : CASES) {
    Bus bus;
    quiet(bus);
    bus.reset = 1;
    edge(bus);
    edge(bus);
    bus.reset = 0;
    seen = 0;
    one.run(bus);
    tick(bus);
    if (seen == one.broken) continue;
    ++failed;
    std::printf("%s: rules %x are broken, not %x\n", one.name, seen, one.broken);
  }
  std::printf("%zu cases on the checker, %d failed\n", sizeof(CASES) / sizeof(CASES[0]), failed);
  return failed != 0;
}
