#include "runtime/data/bpe.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "runtime/data/characters.h"
#include "schemas/base/utf8.h"

namespace trainyard::runtime {
namespace {

enum class Kind { space, letter, number, other };

Kind kind_of(char32_t character) {
  if (is_space(character)) return Kind::space;
  if (is_letter(character)) return Kind::letter;
  return is_number(character) ? Kind::number : Kind::other;
}

struct Run {
  Kind kind = Kind::other;
  std::size_t last = 0;  // where its last character begins
  std::size_t end = 0;
};

// Characters of one kind from `at`, where there is one.
Run run_from(std::string_view text, std::size_t at) {
  Run run{.last = at, .end = at};
  run.kind = kind_of(next_character(text, run.end));
  while (run.end < text.size()) {
    std::size_t behind = run.end;
    if (kind_of(next_character(text, behind)) != run.kind) break;
    run.last = run.end;
    run.end = behind;
  }
  return run;
}

// Length of 's, 't, 're and so on; 0 where there is none.
std::size_t contraction(std::string_view text) {
  for (const std::string_view each : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(each)) return each.size();
  }
  return 0;
}

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

// A token of a piece, in a list in the order of the text.
struct Link {
  std::int32_t id = 0;
  std::size_t before = nowhere;
  std::size_t behind = nowhere;
  bool is_gone = false;  // merged into the one before it
};

// A pair that may be merged; it is stale where one of its tokens is no longer what it was.
struct Candidate {
  Merge merge;
  std::size_t place = 0;  // of the left token
  std::int32_t left = 0;
  std::int32_t right = 0;

  // Of the queue's order: the lowest rank comes first, then the leftmost.
  bool operator<(const Candidate& other) const {
    return std::tie(merge.rank, place) > std::tie(other.merge.rank, other.place);
  }
};

}  // namespace

std::size_t piece_end(std::string_view text, std::size_t at) {
  if (const std::size_t length = contraction(text.substr(at)); length > 0) return at + length;
  const Run run = run_from(text, at);
  if (run.kind != Kind::space) return run.end;
  const bool is_blank_before_more = run.last == at && text[at] == ' ' && run.end < text.size();
  if (is_blank_before_more) return run_from(text, run.end).end;
  // The last space of several belongs to what follows.
  return run.end == text.size() || run.last == at ? run.end : run.last;
}

std::vector<std::int32_t> BpeTokenizer::merged(std::string_view piece) const {
  std::vector<Link> links(piece.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    links[i] = {.id = tables_.bytes[static_cast<unsigned char>(piece[i])],
                .before = i == 0 ? nowhere : i - 1,
                .behind = i + 1 == links.size() ? nowhere : i + 1};
  }
  std::priority_queue<Candidate> candidates;
  const auto consider = [&](std::size_t place) {
    if (place == nowhere || links[place].behind == nowhere) return;
    const std::int32_t left = links[place].id;
    const std::int32_t right = links[links[place].behind].id;
    const auto found = tables_.merges.find(pair_key(left, right));
    if (found != tables_.merges.end()) candidates.push({found->second, place, left, right});
  };
  for (std::size_t i = 0; i < links.size(); ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Link& left = links[best.place];
    if (left.is_gone || left.id != best.left || left.behind == nowhere) continue;
    Link& right = links[left.behind];
    if (right.id != best.right) continue;
    right.is_gone = true;
    left.id = best.merge.id;
    left.behind = right.behind;
    if (left.behind != nowhere) links[left.behind].before = best.place;
    consider(left.before);
    consider(best.place);
  }
  std::vector<std::int32_t> ids;
  for (const Link& link : links) {
    if (!link.is_gone) ids.push_back(link.id);
  }
  return ids;
}

void BpeTokenizer::append(std::string_view text, std::size_t most,
                          std::vector<std::int32_t>& ids) const {
  for (std::size_t at = 0; at < text.size() && most > 0;) {
    const std::size_t end = piece_end(text, at);
    const std::vector<std::int32_t> piece = merged(text.substr(at, end - at));
    const std::size_t taken = std::min(most, piece.size());
    ids.insert(ids.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(taken));
    most -= taken;
    at = end;
  }
}

}  // namespace trainyard::runtime
