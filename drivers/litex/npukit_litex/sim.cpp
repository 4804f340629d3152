// Runs a SoC of npukit_litex in Verilator: clock and reset, and the UART on standard output.
//
//     Vsim [CYCLES]
//
// Ends when the firmware prints a line that begins with "done" (status 0) or "error" (status 1), or after so many cycles
// (status 2).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "Vsim.h"
#include "verilated.h"

int main(int count, char** words) {
  uint64_t most = count > 1 ? std::strtoull(words[1], nullptr, 10) : UINT64_MAX;
  Vsim top;
  std::string line;
  top.serial_source_ready = 1;
  for (uint64_t cycle = 0; cycle < most; ++cycle) {
    top.sys_rst = cycle < 10;
    top.sys_clk = 0;
    top.eval();
    bool came = top.serial_source_valid && !top.sys_rst;
    char one = static_cast<char>(top.serial_source_data);
    top.sys_clk = 1;
    top.eval();
    if (!came) continue;
    std::putchar(one);
    line += one;
    if (one != '\n') continue;
    std::fflush(stdout);
    if (line.rfind("done", 0) == 0 || line.rfind("error", 0) == 0) {
      std::printf("simulated %llu\n", static_cast<unsigned long long>(cycle));
      return line[0] == 'e';
    }
    line.clear();
  }
  std::printf("error the simulation did not end within %llu cycles\n", static_cast<unsigned long long>(most));
  return 2;
}
