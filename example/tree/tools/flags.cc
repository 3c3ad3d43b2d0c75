#include "tools/flags.h"

#include <cstdlib>
#include <set>

namespace minikv {

bool Flags::Set(const Flag& flag, const std::string& value) {
  char* end = nullptr;
  switch (flag.kind) {
    case Kind::kString:
      *static_cast<std::string*>(flag.target) = value;
      return true;
    case Kind::kInteger:
      *static_cast<int64_t*>(flag.target) = strtoll(value.c_str(), &end, 10);
      return !value.empty() && *end == '\0';
    case Kind::kSwitch:
      *static_cast<bool*>(flag.target) = value == "1" || value == "true";
      return value == "0" || value == "1" || value == "true" || value == "false";
  }
  return false;
}

std::string Flags::Parse(int argc, char** argv) {
  std::string allowed;
  Define("undefok", &allowed);
  std::set<std::string> unknowns;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t start = argument.find_first_not_of('-');
    if (start == 0 || start > 2) return "unexpected argument '" + argument + "'";
    const size_t equals = argument.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string name = argument.substr(start, has_value ? equals - start : equals);
    std::string value = has_value ? argument.substr(equals + 1) : "true";
    auto found = flags_.find(name);
    if (found == flags_.end() && !has_value && name.compare(0, 2, "no") == 0) {
      found = flags_.find(name.substr(2));
      if (found != flags_.end() && found->second.kind != Kind::kSwitch) found = flags_.end();
      value = "false";
    }
    if (found == flags_.end()) {
      unknowns.insert(name);
      continue;
    }
    if (!has_value && found->second.kind != Kind::kSwitch) {
      if (++i == argc) return "flag '--" + name + "' is missing its argument";
      value = argv[i];
    }
    if (!Set(found->second, value)) {
      return "illegal value '" + value + "' specified for flag '" + name + "'";
    }
  }
  const std::string list = "," + allowed + ",";
  for (const std::string& name : unknowns) {
    if (list.find("," + name + ",") == std::string::npos) return "unknown command line flag '" + name + "'";
  }
  return std::string();
}

}  // namespace minikv
