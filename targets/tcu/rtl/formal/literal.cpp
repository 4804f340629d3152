// Holds `literal_bench.sv` against records of the standard input: operation, left, right, addend,
// result, each 32 bits, little-endian. Says how many there were and what the first one is that
// differs.
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

#include "Vliteral_bench.h"

int main() {
  Vliteral_bench bench;
  std::array<int32_t, 5> record;
  uint64_t count = 0, different = 0;
  while (std::fread(record.data(), sizeof(int32_t), record.size(), stdin) == record.size()) {
    bench.op = record[0];
    bench.left = record[1];
    bench.right = record[2];
    bench.addend = record[3];
    bench.eval();
    if (static_cast<int32_t>(bench.out) != record[4] && !different++)
      std::printf("operation %" PRId32 " of %" PRId32 ", %" PRId32 ", %" PRId32 " is %" PRId32 ", not %" PRId32 "\n",
                  record[0], record[1], record[2], record[3], static_cast<int32_t>(bench.out), record[4]);
    ++count;
  }
  std::printf("%" PRIu64 " records, %" PRIu64 " differ\n", count, different);
  return different != 0 || count == 0;
}
