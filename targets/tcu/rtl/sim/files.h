// The harness's options and files.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using Bytes = std::vector<uint8_t>;

inline const char* const USAGE =
    "harness --program FILE --out FOLDER --instruction-bytes N --vector-bytes N\n"
    "        --dram0-vectors N --dram1-vectors N --local-vectors N --accumulator-vectors N\n"
    "        --scalar-bytes N --axi-bytes N --array-size N\n"
    "        [--dram0 FILE] [--dram1 FILE] [--latency N] [--response-latency N] [--stalls SEED]\n"
    "        [--stall-percent N] [--sample-ready-percent N] [--max-cycles N] [--dump-vectors N]\n"
    "        [--stream-bytes N] [--dump-written 1] [--waves FILE] [--waves-from CYCLE] [--random-start SEED]\n"
    "        [--registers N] [--tables N --table-vectors N] [--dram0-origin BYTE] [--dram1-origin BYTE]\n"
    "harness OPTIONS --runs FILE\n"
    "\n"
    "The second form makes a run of each line of FILE, whose options stand for those before.\n"
    "\n"
    "Writes FOLDER/dram0, dram1 (the first --dump-vectors, and all that was written with --dump-written), local,\n"
    "accumulators, registers of the ALUs (from 1 on), lookup tables (vectors of all of them side by side), samples\n"
    "and run.json. Scalars of memories on the chip are sign-extended to --scalar-bytes. Ends with 0 when all instructions\n"
    "were accepted and nothing happens any more, 1 when an instruction is never accepted, 2 for what went wrong before, a\n"
    "broken rule of AXI too. A bank begins at its origin on its bus, or at 0.\n"
    "With --random-start registers and memories hold anything before the reset.\n";

// The options, all of the form --name value.
class Options {
 public:
  Options(int count, char** words) {
    for (int i = 1; i + 1 < count; i += 2) values_[words[i]] = words[i + 1];
    if (count % 2 == 0) throw std::runtime_error(USAGE);
  }

  // The same with those of a line in place of them.
  Options with(const std::string& line) const {
    Options changed = *this;
    std::istringstream words(line);
    for (std::string name, value; words >> name;) {
      if (!(words >> value)) throw std::runtime_error(name + " has no value");
      changed.values_[name] = value;
    }
    return changed;
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

inline Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

inline void write_file(const std::string& path, const void* bytes, size_t count) {
  std::ofstream file(path + ".part", std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  file.close();
  if (!file || std::rename((path + ".part").c_str(), path.c_str()) != 0)
    throw std::runtime_error("cannot write " + path);
}
