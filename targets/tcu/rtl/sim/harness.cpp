// Runs a program on the circuit: instructions through the stream, both banks behind an AXI model.
//
// All files are plain bytes. The model: a burst read whose address was taken in cycle c gives its first
// beat in cycle c + latency at the earliest, bursts in order, a beat a cycle; a write is answered
// `response-latency` cycles after its last beat; addresses and written data are taken at once. With
// --stalls every handshake waits at random, in the manner of AXI: what is offered stays.
//
// Cycle 0 is that of the first beat of the instruction stream. `harness --help` lists the options.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vtcu_bench.h"
#include "verilated.h"
// FST needs headers of lz4 and zlib, VCD nothing.
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using Waves = VerilatedFstC;
#elif VM_TRACE
#include "verilated_vcd_c.h"
using Waves = VerilatedVcdC;
#endif

namespace {

using Bytes = std::vector<uint8_t>;

const char* const USAGE =
    "harness --program FILE --out FOLDER --instruction-bytes N --vector-bytes N\n"
    "        --dram0-vectors N --dram1-vectors N --local-vectors N --accumulator-vectors N\n"
    "        --scalar-bytes N --axi-bytes N --array-size N\n"
    "        [--dram0 FILE] [--dram1 FILE] [--latency N] [--response-latency N] [--stalls SEED]\n"
    "        [--stall-percent N] [--sample-ready-percent N] [--max-cycles N] [--dump-vectors N]\n"
    "        [--stream-bytes N] [--dump-written 1] [--waves FILE] [--waves-from CYCLE]\n"
    "\n"
    "Writes FOLDER/dram0, dram1 (the first --dump-vectors, and all\n"
    "that was written with --dump-written), local, accumulators, samples and run.json. Scalars of\n"
    "local and accumulators are sign-extended to --scalar-bytes. Ends with 0 when all instructions were accepted\n"
    "and nothing happens any more, 1 when an instruction is never accepted, 2 for what went wrong before.\n";

// The options, all of the form --name value.
class Options {
 public:
  Options(int count, char** words) {
    for (int i = 1; i + 1 < count; i += 2) values_[words[i]] = words[i + 1];
    if (count % 2 == 0) throw std::runtime_error(USAGE);
  }

  std::string text(const std::string& name, const std::string& otherwise = "") const {
    auto found = values_.find("--" + name);
    return found == values_.end() ? otherwise : found->second;
  }

  uint64_t number(const std::string& name) const {
    if (!values_.count("--" + name)) throw std::runtime_error("--" + name + " is missing\n\n" + USAGE);
    return number(name, 0);
  }

  uint64_t number(const std::string& name, uint64_t otherwise) const {
    auto value = text(name);
    if (value.empty()) return otherwise;
    size_t used = 0;
    uint64_t number = std::stoull(value, &used, 0);
    if (used != value.size()) throw std::runtime_error("--" + name + " " + value + ": no number");
    return number;
  }

 private:
  std::map<std::string, std::string> values_;
};

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

void write_file(const std::string& path, const void* bytes, size_t count) {
  std::ofstream file(path + ".part", std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  file.close();
  if (!file || std::rename((path + ".part").c_str(), path.c_str()) != 0)
    throw std::runtime_error("cannot write " + path);
}

// A port of any width holds its bits in this order: the host is little-endian.
template <typename Port>
void set(Port& port, const uint8_t* bytes, size_t count) {
  std::memset(&port, 0, sizeof(Port));
  std::memcpy(&port, bytes, std::min(count, sizeof(Port)));
}

template <typename Port>
const uint8_t* bytes_of(const Port& port) {
  return reinterpret_cast<const uint8_t*>(&port);
}

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
  bool ar_valid, ar_ready, r_valid, r_ready, r_last, aw_valid, aw_ready, w_valid, w_ready, w_last, b_valid, b_ready;
  uint32_t ar_address, aw_address;
  uint32_t ar_beats, aw_beats;
  const uint8_t* w_data;
};

// A bank of DRAM behind its AXI slave.
class Bank {
 public:
  Bank(uint64_t bytes, uint64_t beat_bytes, uint64_t latency, uint64_t response_latency, Stalls& stalls)
      : size_(bytes), beat_bytes_(beat_bytes), latency_(latency), response_latency_(response_latency), stalls_(stalls),
        memory_(static_cast<uint8_t*>(std::calloc(bytes, 1)), std::free) {
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
      reads_.push_back({cycle + latency_, wires.ar_address, wires.ar_beats});
    }
    if (wires.b_valid && wires.b_ready) {
      responding_ = false;
      responses_.pop_front();
      last_response = cycle;
    }
    if (wires.aw_valid && wires.aw_ready) {
      ++counts[2];
      writes_.push_back({cycle, wires.aw_address, wires.aw_beats});
    }
    if (wires.w_valid && wires.w_ready) {
      ++counts[3];
      last_write = cycle;
      words_.insert(words_.end(), wires.w_data, wires.w_data + beat_bytes_);
      lasts_.push_back(wires.w_last);
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

  // Beats whose address is known go to memory. Data may come before their address.
  void store(uint64_t cycle) {
    while (!writes_.empty() && !lasts_.empty()) {
      Burst& burst = writes_.front();
      bool is_last = burst.beats == 1;
      if (lasts_.front() != is_last) throw std::runtime_error("WLAST is not with the last beat of a burst");
      std::copy_n(words_.begin(), beat_bytes_, place(burst.address));
      written_ = std::max(written_, burst.address + beat_bytes_);
      words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(beat_bytes_));
      lasts_.pop_front();
      burst.address += beat_bytes_;
      --burst.beats;
      if (is_last) {
        writes_.pop_front();
        responses_.push_back(cycle + response_latency_);
      }
    }
  }

  uint8_t* place(uint64_t address) {
    if (address + beat_bytes_ > size_)
      throw std::runtime_error("a beat at byte " + std::to_string(address) + " of a bank of " + std::to_string(size_));
    return memory_.get() + address;
  }

  uint64_t size_, beat_bytes_, latency_, response_latency_, written_ = 0;
  Stalls& stalls_;
  std::unique_ptr<uint8_t, void (*)(void*)> memory_;
  std::deque<Burst> reads_, writes_;
  std::deque<uint8_t> words_;
  std::deque<bool> lasts_;
  std::deque<uint64_t> responses_;
  bool reading_ = false, responding_ = false;
};

// The circuit, its program and its memories.
class Run {
 public:
  explicit Run(const Options& options)
      : options_(options), stalls_(options.number("stalls", 0), options.number("stall-percent", 30)),
        program_(read_file(options.text("program"))), axi_bytes_(options.number("axi-bytes")),
        stream_bytes_(options.number("stream-bytes", axi_bytes_)), latency_(options.number("latency", 1)),
        response_latency_(options.number("response-latency", latency_)),
        instructions_(program_.size() / options.number("instruction-bytes")) {
    for (int bank = 0; bank < 2; ++bank) {
      std::string name = "dram" + std::to_string(bank);
      uint64_t bytes = options.number(name + "-vectors") * options.number("vector-bytes");
      banks_.push_back(std::make_unique<Bank>(bytes, axi_bytes_, latency_, response_latency_, stalls_));
      if (!options.text(name).empty()) banks_.back()->load(read_file(options.text(name)));
    }
    if (latency_ < 1 || response_latency_ < 1) throw std::runtime_error("latencies are 1 or more");
    if (program_.size() % options.number("instruction-bytes") != 0)
      throw std::runtime_error("the program ends within an instruction");
#if VM_TRACE
    if (!options.text("waves").empty()) {
      Verilated::traceEverOn(true);
      top_.trace(&waves_, 99);
      waves_.open(options.text("waves").c_str());
    }
#else
    if (!options.text("waves").empty()) throw std::runtime_error("--waves: built without --trace-fst or --trace-vcd");
#endif
  }

  // Until nothing happens any more; whether all instructions were accepted.
  bool operator()() {
    restart();
    // Longer than any wait for memory, the array and its queues; random stalls make it longer.
    uint64_t slowest = 4 * (latency_ + response_latency_) + 16 * options_.number("array-size") + 1024;
    uint64_t quiet = slowest * (options_.number("stalls", 0) ? 8 : 1);
    uint64_t longest = options_.number("max-cycles", UINT64_MAX);
    for (cycle_ = 0; cycle_ - std::min(cycle_, happened_) < quiet && cycle_ < longest; ++cycle_) step();
#if VM_TRACE
    waves_.close();
#endif
    top_.final();
    return accepts_.size() >= instructions_;
  }

  void write(const std::string& folder) {
    uint64_t vectors = options_.number("dump-vectors", UINT64_MAX / options_.number("vector-bytes"));
    for (int bank = 0; bank < 2; ++bank) {
      uint64_t bytes = std::min(vectors * options_.number("vector-bytes"), banks_[bank]->size());
      if (options_.number("dump-written", 0)) bytes = std::max(bytes, whole_vectors(banks_[bank]->written()));
      write_file(folder + "/dram" + std::to_string(bank), banks_[bank]->bytes(), bytes);
    }
    write_memory(folder + "/local", options_.number("local-vectors"), top_.peek_local);
    write_memory(folder + "/accumulators", options_.number("accumulator-vectors"), top_.peek_accumulators);
    write_file(folder + "/samples", samples_.data(), 8 * samples_.size());
    std::string text = json();
    write_file(folder + "/run.json", text.data(), text.size());
  }

 private:
  uint64_t whole_vectors(uint64_t bytes) const {
    uint64_t vector = options_.number("vector-bytes");
    return (bytes + vector - 1) / vector * vector;
  }

  void restart() {
    top_.reset = 1;
    for (int i = 0; i < 3; ++i) {
      top_.clock = 0;
      top_.eval();
      top_.clock = 1;
      top_.eval();
    }
    top_.reset = 0;
  }

  // A cycle: inputs, what follows from them, what was handed over, the edge.
  void step() {
    top_.clock = 0;
    Wires wires[2];
    banks_[0]->offer(cycle_, wires[0]);
    banks_[1]->offer(cycle_, wires[1]);
    drive0(wires[0]);
    drive1(wires[1]);
    drive_stream();
    top_.sample_tready = options_.number("sample-ready-percent", 100) == 100 || !stalls_();
    top_.eval();
    dump(0);
    sense0(wires[0]);
    sense1(wires[1]);
    banks_[0]->step(cycle_, wires[0]);
    banks_[1]->step(cycle_, wires[1]);
    note(wires);
    top_.clock = 1;
    top_.eval();
    dump(1);
  }

#define BANK_WIRES(B)                                                     \
  void drive##B(const Wires& wires) {                                     \
    top_.m_axi_dram##B##_arready = wires.ar_ready;                        \
    top_.m_axi_dram##B##_awready = wires.aw_ready;                        \
    top_.m_axi_dram##B##_wready = wires.w_ready;                          \
    top_.m_axi_dram##B##_rvalid = wires.r_valid;                          \
    top_.m_axi_dram##B##_rlast = wires.r_last;                            \
    top_.m_axi_dram##B##_rresp = 0;                                       \
    top_.m_axi_dram##B##_bvalid = wires.b_valid;                          \
    top_.m_axi_dram##B##_bresp = 0;                                       \
    if (wires.r_valid) set(top_.m_axi_dram##B##_rdata, banks_[B]->read_data(), axi_bytes_); \
  }                                                                       \
  void sense##B(Wires& wires) {                                           \
    wires.ar_valid = top_.m_axi_dram##B##_arvalid;                        \
    wires.ar_address = top_.m_axi_dram##B##_araddr;                       \
    wires.ar_beats = top_.m_axi_dram##B##_arlen + 1;                      \
    wires.r_ready = top_.m_axi_dram##B##_rready;                          \
    wires.aw_valid = top_.m_axi_dram##B##_awvalid;                        \
    wires.aw_address = top_.m_axi_dram##B##_awaddr;                       \
    wires.aw_beats = top_.m_axi_dram##B##_awlen + 1;                      \
    wires.w_valid = top_.m_axi_dram##B##_wvalid;                          \
    wires.w_last = top_.m_axi_dram##B##_wlast;                            \
    wires.w_data = bytes_of(top_.m_axi_dram##B##_wdata);                  \
    wires.b_ready = top_.m_axi_dram##B##_bready;                          \
  }
  BANK_WIRES(0)
  BANK_WIRES(1)
#undef BANK_WIRES

  void drive_stream() {
    uint64_t left = program_.size() - streamed_;
    if (!streaming_) streaming_ = left > 0 && (streamed_ == 0 || !stalls_());
    top_.instruction_tvalid = streaming_;
    if (!streaming_) return;
    uint64_t bytes = std::min(left, stream_bytes_);
    set(top_.instruction_tdata, &program_[streamed_], bytes);
    Bytes keep(stream_bytes_ / 8 + 1);
    for (uint64_t i = 0; i < bytes; ++i) keep[i / 8] |= static_cast<uint8_t>(1U << (i % 8));
    set(top_.instruction_tkeep, keep.data(), keep.size());
    top_.instruction_tlast = bytes == left;
  }

  // What has happened in this cycle.
  void note(const Wires* wires) {
    bool happened = wires[0].r_valid || wires[1].r_valid || (wires[0].w_valid && wires[0].w_ready) ||
                    (wires[1].w_valid && wires[1].w_ready);
    if (streaming_ && top_.instruction_tready) {
      streaming_ = false;
      streamed_ += std::min<uint64_t>(program_.size() - streamed_, stream_bytes_);
    }
    if (top_.accepts) accepts_.push_back(cycle_);
    if (top_.accumulator_writes) last_accumulator_write_ = cycle_;
    if (top_.local_writes) last_local_write_ = cycle_;
    if (top_.weights_shift) last_weights_ = cycle_;
    if (top_.timeout && first_timeout_ == 0) first_timeout_ = cycle_;
    if (top_.timeout) ++timeouts_;
    if (top_.tracepoint) ++tracepoints_;
    if (top_.sample_tvalid && top_.sample_tready) samples_.push_back(top_.sample_tdata);
    if (top_.accepts || top_.accumulator_writes || top_.local_writes || top_.weights_shift || happened)
      happened_ = cycle_;
  }

  void dump([[maybe_unused]] int edge) {
#if VM_TRACE
    if (waves_.isOpen() && cycle_ >= options_.number("waves-from", 0)) waves_.dump(2 * cycle_ + edge);
#endif
  }

  // Vectors as the circuit shows them, scalar by scalar in whole bytes.
  template <typename Port>
  void write_memory(const std::string& path, uint64_t vectors, Port& port) {
    uint64_t lanes = options_.number("array-size"), bytes = options_.number("scalar-bytes");
    uint64_t bits = options_.number("scalar-bits", 8 * bytes);
    Bytes out;
    for (uint64_t vector = 0; vector < vectors; ++vector) {
      top_.peek_address = static_cast<uint32_t>(vector);
      top_.eval();
      for (uint64_t lane = 0; lane < lanes; ++lane) append(out, bytes_of(port), lane * bits, bits, bytes);
    }
    write_file(path, out.data(), out.size());
  }

  static void append(Bytes& out, const uint8_t* from, uint64_t first, uint64_t bits, uint64_t bytes) {
    uint64_t value = 0;
    for (uint64_t i = 0; i < bits; ++i)
      value |= static_cast<uint64_t>(from[(first + i) / 8] >> ((first + i) % 8) & 1) << i;
    if (bits < 64 && (value >> (bits - 1) & 1)) value |= ~UINT64_C(0) << bits;
    for (uint64_t i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }

  std::string json() const {
    uint64_t last_write = std::max(banks_[0]->last_write, banks_[1]->last_write);
    uint64_t last_response = std::max(banks_[0]->last_response, banks_[1]->last_response);
    uint64_t accepted = accepts_.empty() ? 0 : accepts_.back() + 1;
    uint64_t total = std::max({last_accumulator_write_, last_local_write_, last_write, last_weights_, accepted});
    auto pair = [](const char* name, uint64_t value) { return std::string("\"") + name + "\": " + std::to_string(value); };
    std::string text = "{" + pair("total", total) + ", " + pair("instructions", instructions_) + ", " +
                       pair("accepted", accepts_.size()) + ", " + pair("simulated", cycle_) + ",\n \"last\": {" +
                       pair("acc_write", last_accumulator_write_) + ", " + pair("local_write", last_local_write_) + ", " +
                       pair("axi_write", last_write) + ", " + pair("weight_load", last_weights_) + ", " +
                       pair("write_response", last_response) + "},\n " + pair("bus_error", top_.bus_error) +
                       ", \"timeout\": {" + pair("cycles", timeouts_) + ", " + pair("first", first_timeout_) + "}, " +
                       pair("tracepoint_cycles", tracepoints_) + ",\n \"axi\": [";
    for (int bank = 0; bank < 2; ++bank) {
      text += bank ? ", [" : "[";
      for (int i = 0; i < 4; ++i) text += (i ? ", " : "") + std::to_string(banks_[bank]->counts[i]);
      text += "]";
    }
    text += "],\n \"accept\": [";
    for (size_t i = 0; i < accepts_.size(); ++i) text += (i ? ", " : "") + std::to_string(accepts_[i]);
    return text + "]}\n";
  }

  const Options& options_;
  Stalls stalls_;
  Vtcu_bench top_;
#if VM_TRACE
  Waves waves_;
#endif
  Bytes program_;
  uint64_t axi_bytes_, stream_bytes_, latency_, response_latency_, instructions_;
  std::vector<std::unique_ptr<Bank>> banks_;
  uint64_t cycle_ = 0, happened_ = 0, streamed_ = 0;
  bool streaming_ = false;
  std::vector<uint64_t> accepts_, samples_;
  uint64_t last_accumulator_write_ = 0, last_local_write_ = 0, last_weights_ = 0;
  uint64_t timeouts_ = 0, first_timeout_ = 0, tracepoints_ = 0;
};

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 2 && std::string(words[1]) == "--help") return std::fputs(USAGE, stdout) < 0 ? 2 : 0;
    Options options(count, words);
    auto run = std::make_unique<Run>(options);
    bool accepted = (*run)();
    run->write(options.text("out"));
    return accepted ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
