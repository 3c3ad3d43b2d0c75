#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace minikv {

// Command line flags: --name=value, --name value, --name and --noname for switches.
class Flags {
 public:
  void Define(const std::string& name, std::string* target) { flags_[name] = {Kind::kString, target}; }
  void Define(const std::string& name, int64_t* target) { flags_[name] = {Kind::kInteger, target}; }
  void Define(const std::string& name, bool* target) { flags_[name] = {Kind::kSwitch, target}; }

  // An empty string, or what is wrong. Unknown flags are wrong unless listed in --undefok.
  std::string Parse(int argc, char** argv);

 private:
  enum class Kind { kString, kInteger, kSwitch };
  struct Flag {
    Kind kind;
    void* target;
  };

  static bool Set(const Flag& flag, const std::string& value);

  std::map<std::string, Flag> flags_;
};

}  // namespace minikv
