// Job specs as fingers, programs and enemies spoil them: by a seed, so that each can be made again.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace trainyard::attack {

class MutatedJson {
 public:
  explicit MutatedJson(std::uint64_t seed) : engine_(seed) {}

  // One to four changes to one of the documents: a value becomes another one, a field goes, comes
  // twice or gets another name, bytes are flipped, cut off or doubled.
  std::string next(const std::vector<nlohmann::json>& documents);

 private:
  std::size_t below(std::size_t count);
  void change_a_value(nlohmann::json& document);
  void spoil_bytes(std::string& text);
  nlohmann::json hostile_value();

  std::mt19937_64 engine_;
};

}  // namespace trainyard::attack
