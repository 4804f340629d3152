// A bank of DRAM behind an AXI4 slave: latencies, bursts in order, and waits at random.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include "files.h"

// Whether something waits in a cycle.
class Stalls {
 public:
  Stalls(uint64_t seed, uint64_t percent) : random_(seed), percent_(seed ? percent : 0) {}
  bool operator()() { return percent_ && random_() % 100 < percent_; }

 private:
  std::mt19937_64 random_;
  uint64_t percent_;
};

// The wires of a bank.
struct Wires {
  bool ar_valid, ar_ready, r_valid, r_ready, r_last, aw_valid, aw_ready, w_valid, w_ready, b_valid, b_ready;
  uint64_t ar_address, aw_address;
  uint32_t ar_beats, aw_beats;
  uint32_t ar_cache, aw_cache;
  const uint8_t* w_data;
  // A bit for each byte that is written.
  const uint8_t* w_strobes;
};

// A bank of DRAM behind its AXI slave.
class Bank {
 public:
  // Addresses on the bus from `origin` on are those of its bytes.
  Bank(uint64_t bytes, uint64_t origin, uint64_t beat_bytes, uint64_t latency, uint64_t response_latency, Stalls& stalls)
      : size_(bytes), origin_(origin), room_((bytes + beat_bytes - 1) / beat_bytes * beat_bytes), beat_bytes_(beat_bytes), latency_(latency), response_latency_(response_latency), stalls_(stalls),
        memory_(static_cast<uint8_t*>(std::calloc(room_, 1)), std::free) {
    if (!memory_) throw std::runtime_error("no memory for " + std::to_string(bytes) + " bytes");
  }

  void load(const Bytes& bytes) {
    if (bytes.size() > size_) throw std::runtime_error("a file is larger than its bank");
    std::memcpy(memory_.get(), bytes.data(), bytes.size());
  }

  const uint8_t* bytes() const { return memory_.get(); }
  // The end of the last byte that was written.
  uint64_t written() const { return written_; }
  uint64_t size() const { return size_; }

  // What the slave offers in a cycle.
  void offer(uint64_t cycle, Wires& wires) {
    wires.ar_ready = !stalls_();
    wires.aw_ready = !stalls_();
    wires.w_ready = !stalls_();
    if (!reading_) reading_ = !reads_.empty() && cycle >= reads_.front().from && !stalls_();
    wires.r_valid = reading_;
    wires.r_last = reading_ && reads_.front().beats == 1;
    if (!responding_) responding_ = !responses_.empty() && cycle >= responses_.front() && !stalls_();
    wires.b_valid = responding_;
  }

  const uint8_t* read_data() { return reading_ ? place(reads_.front().address) : memory_.get(); }

  // What has been handed over in it.
  void step(uint64_t cycle, const Wires& wires) {
    if (wires.r_valid && wires.r_ready) {
      ++counts[1];
      reading_ = false;
      reads_.front().address += beat_bytes_;
      if (--reads_.front().beats == 0) reads_.pop_front();
    }
    if (wires.ar_valid && wires.ar_ready) {
      ++counts[0];
      reads_.push_back({cycle + latency_, wires.ar_address - origin_, wires.ar_beats});
    }
    if (wires.b_valid && wires.b_ready) {
      responding_ = false;
      responses_.pop_front();
      last_response = cycle;
    }
    if (wires.aw_valid && wires.aw_ready) {
      ++counts[2];
      writes_.push_back({cycle, wires.aw_address - origin_, wires.aw_beats});
    }
    if (wires.w_valid && wires.w_ready) {
      ++counts[3];
      last_write = cycle;
      words_.insert(words_.end(), wires.w_data, wires.w_data + beat_bytes_);
      for (uint64_t i = 0; i < beat_bytes_; ++i) strobes_.push_back(wires.w_strobes[i / 8] >> (i % 8) & 1);
    }
    store(cycle);
  }

  // Bursts read, beats read, bursts written, beats written.
  uint64_t counts[4] = {};
  uint64_t last_write = 0, last_response = 0;

 private:
  struct Burst {
    uint64_t from;
    uint64_t address;
    uint32_t beats;
  };

  // Beats whose address is known go to memory. Data may come before their address. That WLAST is
  // with the last of a burst is the checker's to see.
  void store(uint64_t cycle) {
    while (!writes_.empty() && !words_.empty()) {
      Burst& burst = writes_.front();
      bool is_last = burst.beats == 1;
      uint8_t* word = place(burst.address);
      for (uint64_t i = 0; i < beat_bytes_; ++i, words_.pop_front(), strobes_.pop_front()) {
        if (!strobes_.front()) continue;
        word[i] = words_.front();
        written_ = std::max(written_, burst.address + i + 1);
      }
      burst.address += beat_bytes_;
      --burst.beats;
      if (is_last) {
        writes_.pop_front();
        responses_.push_back(cycle + response_latency_);
      }
    }
  }

  uint8_t* place(uint64_t address) {
    if (address > room_ || address + beat_bytes_ > room_)
      throw std::runtime_error("a beat at byte " + std::to_string(address) + " of a bank of " + std::to_string(size_));
    return memory_.get() + address;
  }

  // Bytes of the bank, where it begins on the bus, and the bytes of its words.
  uint64_t size_, origin_, room_, beat_bytes_, latency_, response_latency_, written_ = 0;
  Stalls& stalls_;
  std::unique_ptr<uint8_t, void (*)(void*)> memory_;
  std::deque<Burst> reads_, writes_;
  std::deque<uint8_t> words_;
  std::deque<bool> strobes_;
  std::deque<uint64_t> responses_;
  bool reading_ = false, responding_ = false;
};
