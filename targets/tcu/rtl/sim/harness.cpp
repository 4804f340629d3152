// Runs a program on the circuit: instructions through the stream, both banks behind an AXI model.
//
// All files are plain bytes. The model: a burst read whose address was taken in cycle c gives its
// first beat in cycle c + latency at the earliest, bursts in order, a beat a cycle; a write is
// answered `response-latency` cycles after its last beat; addresses and written data are taken at
// once. With --stalls every handshake waits at random, in the manner of AXI: what is offered stays.
//
// Cycle 0 is that of the first beat of the instruction stream. `harness --help` lists the options.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vtcu_bench.h"
#include "axi.h"
#include "bank.h"
#include "files.h"
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
      banks_.push_back(std::make_unique<Bank>(bytes, options.number(name + "-origin", 0), axi_bytes_, latency_, response_latency_, stalls_));
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
    if (!options.text("waves").empty()) throw std::runtime_error("--waves: built without --trace-fst or --trace");
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
    write_memory(folder + "/registers", options_.number("registers", 0), top_.peek_register);
    write_memory(folder + "/tables", options_.number("table-vectors", 0), top_.peek_tables, options_.number("tables", 1));
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
    top_.rst_i = 1;
    const Wires none[2] = {};
    for (int i = 0; i < 3; ++i) {
      top_.clk_i = 0;
      top_.eval();
      top_.clk_i = 1;
      top_.eval();
      if (top_.axi_broken) break_off("in reset", none);
    }
    top_.rst_i = 0;
  }

  // A cycle: inputs, what follows from them, what was handed over, the edge.
  void step() {
    top_.clk_i = 0;
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
    top_.clk_i = 1;
    top_.eval();
    dump(1);
    if (top_.axi_broken) break_off("in cycle " + std::to_string(cycle_), wires);
  }

  // Ends the simulation, as a rule of AXI is broken.
  [[noreturn]] void break_off(const std::string& when, const Wires* wires) const {
    bool second = (top_.axi_broken & ((1 << RULE_COUNT) - 1)) == 0;
    throw std::runtime_error(broken_rule(top_.axi_broken >> (second ? RULE_COUNT : 0), second, when, wires[second]));
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
    wires.ar_cache = top_.m_axi_dram##B##_arcache;                        \
    wires.r_ready = top_.m_axi_dram##B##_rready;                          \
    wires.aw_valid = top_.m_axi_dram##B##_awvalid;                        \
    wires.aw_address = top_.m_axi_dram##B##_awaddr;                       \
    wires.aw_beats = top_.m_axi_dram##B##_awlen + 1;                      \
    wires.aw_cache = top_.m_axi_dram##B##_awcache;                        \
    wires.w_valid = top_.m_axi_dram##B##_wvalid;                          \
    wires.w_data = bytes_of(top_.m_axi_dram##B##_wdata);                  \
    wires.w_strobes = bytes_of(top_.m_axi_dram##B##_wstrb);               \
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
    if (top_.holds && top_.timeout && timeouts_++ == 0) first_timeout_ = cycle_;
    if (top_.holds && top_.tracepoint && tracepoints_++ == 0) first_tracepoint_ = cycle_;
    for (int bank = 0; bank < 2; ++bank) {
      if (wires[bank].ar_valid && wires[bank].ar_ready) caches_[bank][0] |= 1U << wires[bank].ar_cache;
      if (wires[bank].aw_valid && wires[bank].aw_ready) caches_[bank][1] |= 1U << wires[bank].aw_cache;
    }
    if (top_.sample_tvalid && top_.sample_tready) {
      if (top_.sample_tlast) block_ends_.push_back(samples_.size());
      samples_.push_back(top_.sample_tdata);
      sampled_.push_back(cycle_);
    }
    if (top_.accepts || top_.accumulator_writes || top_.local_writes || top_.weights_shift || happened)
      happened_ = cycle_;
  }

  void dump([[maybe_unused]] int edge) {
#if VM_TRACE
    if (waves_.isOpen() && cycle_ >= options_.number("waves-from", 0)) waves_.dump(2 * cycle_ + edge);
#endif
  }

  // Vectors as the circuit shows them, one or more beside each other, scalar by scalar in whole
  // bytes.
  template <typename Port>
  void write_memory(const std::string& path, uint64_t vectors, Port& port, uint64_t beside = 1) {
    uint64_t lanes = beside * options_.number("array-size"), bytes = options_.number("scalar-bytes");
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

  static std::string list(const std::vector<uint64_t>& numbers) {
    std::string text = "[";
    for (size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
    return text + "]";
  }

  std::string json() const {
    uint64_t last_write = std::max(banks_[0]->last_write, banks_[1]->last_write);
    uint64_t last_response = std::max(banks_[0]->last_response, banks_[1]->last_response);
    uint64_t accepted = accepts_.empty() ? 0 : accepts_.back() + 1;
    uint64_t total = std::max({last_accumulator_write_, last_local_write_, last_write, last_weights_, accepted});
    auto pair = [](const std::string& name, uint64_t value) { return "\"" + name + "\": " + std::to_string(value); };
    std::string text = "{" + pair("total", total) + ", " + pair("instructions", instructions_) + ", " +
                       pair("accepted", accepts_.size()) + ", " + pair("simulated", cycle_) + ",\n \"last\": {" +
                       pair("acc_write", last_accumulator_write_) + ", " +
                       pair("local_write", last_local_write_) + ", " + pair("axi_write", last_write) + ", " +
                       pair("weight_load", last_weights_) + ", " + pair("write_response", last_response) +
                       "},\n " + pair("bus_error", top_.bus_error) + ", \"timeout\": {" +
                       pair("cycles", timeouts_) + ", " + pair("first", first_timeout_) + "}, \"tracepoint\": {" +
                       pair("cycles", tracepoints_) + ", " + pair("first", first_tracepoint_) + "},\n \"axi\": [";
    for (int bank = 0; bank < 2; ++bank) {
      text += bank ? ", [" : "[";
      for (int i = 0; i < 4; ++i) text += (i ? ", " : "") + std::to_string(banks_[bank]->counts[i]);
      text += "]";
    }
    std::vector<uint64_t> configuration;
    for (int i = 0; i < 8; ++i) {
      uint32_t value = 0;
      std::memcpy(&value, bytes_of(top_.peek_configuration) + 4 * i, 4);
      configuration.push_back(value);
    }
    // A sample is there a cycle after the one that it shows.
    auto is_held = [&](uint64_t cycle) { return !accepts_.empty() && cycle <= accepts_.back() + 1; };
    text += "],\n " + pair("sampled", std::count_if(sampled_.begin(), sampled_.end(), is_held)) +
            ", \"block_ends\": " + list(block_ends_) + ",\n \"configuration\": " + list(configuration) +
            ", \"caches\": [" + list(caches_[0]) + ", " + list(caches_[1]) + "]";
    return text + ",\n \"accept\": " + list(accepts_) + "}\n";
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
  // When samples were handed over, and which of them ended a block.
  std::vector<uint64_t> sampled_, block_ends_;
  // For each bank the cache codes of bursts read and of bursts written, a bit for each code.
  std::vector<uint64_t> caches_[2] = {{0, 0}, {0, 0}};
  uint64_t last_accumulator_write_ = 0, last_local_write_ = 0, last_weights_ = 0;
  // Cycles in which a flag was high while the decoder had an instruction, and the first of them.
  uint64_t timeouts_ = 0, first_timeout_ = 0, tracepoints_ = 0, first_tracepoint_ = 0;
};

}  // namespace

namespace {

bool run(const Options& options) {
  if (uint64_t seed = options.number("random-start", 0)) {
    Verilated::randReset(2);
    Verilated::randSeed(static_cast<int>(seed));
  }
  auto run = std::make_unique<Run>(options);
  bool accepted = (*run)();
  run->write(options.text("out"));
  return accepted;
}

// A run a line; whether all were accepted.
bool run_all(const Options& options) {
  std::ifstream lines(options.text("runs"));
  if (!lines) throw std::runtime_error("cannot read " + options.text("runs"));
  bool accepted = true;
  for (std::string line; std::getline(lines, line);) accepted = run(options.with(line)) && accepted;
  return accepted;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 2 && std::string(words[1]) == "--help") return std::fputs(USAGE, stdout) < 0 ? 2 : 0;
    Options options(count, words);
    return (options.text("runs").empty() ? run(options) : run_all(options)) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
