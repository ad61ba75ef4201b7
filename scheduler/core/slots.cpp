#include "scheduler/core/slots.h"

namespace trainyard::scheduler {
namespace {

constexpr int slots_named_max = 8;

std::string quoted(const std::string& text) { return '"' + text + '"'; }

std::string of_stranger(const GpuProcess& process) {
  const std::string memory =
      process.memory_mb ? " (" + grouped(*process.memory_mb) + " MiB)" : std::string();
  return "is used by process " + std::to_string(process.pid) + memory + ", which is not ours";
}

// Why a task cannot have it; "" where it can. What stays so is said before what may pass.
std::string lack_of(const GpuInfo& card, const GpuWish& wish) {
  const std::string name = card.name.empty() ? "a GPU without a name" : card.name;
  if (!has_name(card, wish.name)) return name + " has no " + quoted(wish.name) + " in its name";
  if (card.memory_mb >= wish.memory_mb) return "";
  const std::string has = card.memory_mb == 0 ? " does not tell its memory, "
                                              : " has " + grouped(card.memory_mb) + " MB, ";
  return name + has + grouped(wish.memory_mb) + " are wanted";
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string wish_in_words(const GpuWish& wish) {
  std::string words;
  if (!wish.name.empty()) words = "with " + quoted(wish.name) + " in its name";
  if (wish.memory_mb > 0) {
    words += (words.empty() ? "with " : " and ") + grouped(wish.memory_mb) + " MB or more";
  }
  return words;
}

std::string slots_in_words(const Host& host, const GpuWish& wish, const HolderOf& holder_of) {
  std::string words;
  int named = 0;
  int more = 0;
  for (const GpuInfo& card : host.slots) {
    std::string why = lack_of(card, wish);
    const std::string holder = holder_of(card.index);
    if (why.empty() && !holder.empty()) why = holder + " has it";
    const GpuProcess* const stranger = stranger_on(host.readings, card.index);
    if (why.empty() && stranger != nullptr) why = of_stranger(*stranger);
    if (why.empty()) continue;
    if (++named > slots_named_max) {
      ++more;
      continue;
    }
    const bool is_first = words.empty();
    words += is_first ? "slot " : "; slot ";
    words += std::to_string(card.index);
    if (is_first) words += " of " + quoted(host.agent.text);
    words += ": " + why;
  }
  if (more > 0) words += "; and " + std::to_string(more) + " slots more";
  return words;
}

}  // namespace trainyard::scheduler
