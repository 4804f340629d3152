// What npu_axi_checker tells, in words.
#pragma once

#include <cstdint>
#include <string>

#include "bank.h"

// The rules, a bit each.
inline const char* const RULES[] = {
    "VALID is high in a reset",
    "a signal of the master is not known",
    "a burst crosses 4 KiB",
    "a burst is not of whole aligned words at incrementing addresses",
    "the master changes or takes back what was not taken yet",
    "memory changes or takes back what was not taken yet",
    "more bursts read are under way than the circuit says",
    "RLAST is not with the last word of a burst, or there is no burst",
    "more bursts written are under way than the circuit says",
    "WLAST is not with the last word of a burst",
    "a response to no burst",
};

constexpr int RULE_COUNT = sizeof(RULES) / sizeof(RULES[0]);

// The first of the rules that are broken, where and when, and what is on the wires.
inline std::string broken_rule(uint32_t broken, int bank, const std::string& when, const Wires& wires) {
  int rule = 0;
  while (rule + 1 < RULE_COUNT && !(broken >> rule & 1)) ++rule;
  std::string text = "AXI on the bus of DRAM" + std::to_string(bank) + " " + when + ": " + RULES[rule];
  auto burst = [&](const char* name, uint64_t address, uint32_t beats) {
    text += std::string("; ") + name + " of " + std::to_string(beats) + " beats at byte " + std::to_string(address);
  };
  if (wires.ar_valid) burst("a read", wires.ar_address, wires.ar_beats);
  if (wires.aw_valid) burst("a write", wires.aw_address, wires.aw_beats);
  return text;
}
