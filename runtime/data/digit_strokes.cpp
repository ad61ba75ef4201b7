#include "runtime/data/digit_strokes.h"

#include <array>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr Curve line(Point from, Point to) {
  return {from, {(from.x + to.x) / 2, (from.y + to.y) / 2}, to};
}

// Round shapes are made of quarter arcs: the bend is the corner.
constexpr std::array zero_round{Curve{{0.5F, 0.0F}, {0.95F, 0.0F}, {0.95F, 0.5F}},
                                Curve{{0.95F, 0.5F}, {0.95F, 1.0F}, {0.5F, 1.0F}},
                                Curve{{0.5F, 1.0F}, {0.05F, 1.0F}, {0.05F, 0.5F}},
                                Curve{{0.05F, 0.5F}, {0.05F, 0.0F}, {0.5F, 0.0F}}};
constexpr std::array zero_narrow{Curve{{0.5F, 0.0F}, {0.8F, 0.05F}, {0.78F, 0.5F}},
                                 Curve{{0.78F, 0.5F}, {0.75F, 1.0F}, {0.48F, 1.0F}},
                                 Curve{{0.48F, 1.0F}, {0.2F, 0.95F}, {0.22F, 0.5F}},
                                 Curve{{0.22F, 0.5F}, {0.25F, 0.0F}, {0.5F, 0.0F}}};

constexpr std::array one_plain{line({0.5F, 0.0F}, {0.5F, 1.0F})};
constexpr std::array one_flag{line({0.25F, 0.25F}, {0.55F, 0.0F}),
                              line({0.55F, 0.0F}, {0.55F, 1.0F})};
constexpr std::array one_foot{line({0.3F, 0.2F}, {0.52F, 0.0F}), line({0.52F, 0.0F}, {0.5F, 1.0F}),
                              line({0.25F, 1.0F}, {0.75F, 1.0F})};

constexpr std::array two_straight{Curve{{0.1F, 0.25F}, {0.15F, 0.0F}, {0.5F, 0.0F}},
                                  Curve{{0.5F, 0.0F}, {0.9F, 0.0F}, {0.85F, 0.32F}},
                                  Curve{{0.85F, 0.32F}, {0.75F, 0.6F}, {0.1F, 1.0F}},
                                  line({0.1F, 1.0F}, {0.9F, 1.0F})};
constexpr std::array two_loop{Curve{{0.15F, 0.2F}, {0.3F, -0.05F}, {0.6F, 0.02F}},
                              Curve{{0.6F, 0.02F}, {0.95F, 0.15F}, {0.7F, 0.5F}},
                              Curve{{0.7F, 0.5F}, {0.5F, 0.8F}, {0.2F, 0.95F}},
                              Curve{{0.2F, 0.95F}, {0.05F, 0.75F}, {0.4F, 0.85F}},
                              Curve{{0.4F, 0.85F}, {0.7F, 1.05F}, {0.95F, 0.9F}}};

constexpr std::array three_round{Curve{{0.15F, 0.12F}, {0.35F, -0.05F}, {0.6F, 0.03F}},
                                 Curve{{0.6F, 0.03F}, {0.95F, 0.2F}, {0.4F, 0.47F}},
                                 Curve{{0.4F, 0.47F}, {1.0F, 0.5F}, {0.82F, 0.8F}},
                                 Curve{{0.82F, 0.8F}, {0.6F, 1.1F}, {0.1F, 0.88F}}};
constexpr std::array three_flat{line({0.15F, 0.02F}, {0.85F, 0.02F}),
                                line({0.85F, 0.02F}, {0.45F, 0.42F}),
                                Curve{{0.45F, 0.42F}, {0.95F, 0.45F}, {0.85F, 0.75F}},
                                Curve{{0.85F, 0.75F}, {0.65F, 1.1F}, {0.1F, 0.9F}}};

constexpr std::array four_open{line({0.2F, 0.0F}, {0.12F, 0.55F}),
                               line({0.12F, 0.55F}, {0.9F, 0.55F}),
                               line({0.75F, 0.1F}, {0.72F, 1.0F})};
constexpr std::array four_closed{line({0.65F, 0.0F}, {0.08F, 0.65F}),
                                 line({0.08F, 0.65F}, {0.95F, 0.65F}),
                                 line({0.65F, 0.0F}, {0.65F, 1.0F})};

constexpr std::array five_square{line({0.85F, 0.0F}, {0.25F, 0.0F}),
                                 line({0.25F, 0.0F}, {0.2F, 0.42F}),
                                 Curve{{0.2F, 0.42F}, {0.85F, 0.3F}, {0.85F, 0.68F}},
                                 Curve{{0.85F, 0.68F}, {0.8F, 1.1F}, {0.12F, 0.92F}}};
constexpr std::array five_slack{Curve{{0.9F, 0.03F}, {0.55F, 0.1F}, {0.32F, 0.05F}},
                                Curve{{0.32F, 0.05F}, {0.22F, 0.3F}, {0.28F, 0.45F}},
                                Curve{{0.28F, 0.45F}, {0.75F, 0.42F}, {0.72F, 0.72F}},
                                Curve{{0.72F, 0.72F}, {0.6F, 1.05F}, {0.15F, 0.95F}}};

constexpr std::array six_round{Curve{{0.75F, 0.02F}, {0.1F, 0.15F}, {0.12F, 0.68F}},
                               Curve{{0.12F, 0.68F}, {0.15F, 1.0F}, {0.5F, 1.0F}},
                               Curve{{0.5F, 1.0F}, {0.88F, 1.0F}, {0.85F, 0.7F}},
                               Curve{{0.85F, 0.7F}, {0.8F, 0.4F}, {0.14F, 0.62F}}};
constexpr std::array six_narrow{Curve{{0.55F, 0.0F}, {0.25F, 0.3F}, {0.22F, 0.7F}},
                                Curve{{0.22F, 0.7F}, {0.25F, 1.0F}, {0.5F, 0.98F}},
                                Curve{{0.5F, 0.98F}, {0.78F, 0.9F}, {0.7F, 0.68F}},
                                Curve{{0.7F, 0.68F}, {0.55F, 0.5F}, {0.24F, 0.78F}}};

constexpr std::array seven_plain{line({0.1F, 0.02F}, {0.9F, 0.02F}),
                                 Curve{{0.9F, 0.02F}, {0.6F, 0.45F}, {0.4F, 1.0F}}};
constexpr std::array seven_bar{line({0.12F, 0.05F}, {0.88F, 0.0F}),
                               line({0.88F, 0.0F}, {0.45F, 1.0F}),
                               line({0.35F, 0.5F}, {0.88F, 0.48F})};

constexpr std::array eight_rings{Curve{{0.5F, 0.0F}, {0.85F, 0.0F}, {0.82F, 0.24F}},
                                 Curve{{0.82F, 0.24F}, {0.8F, 0.47F}, {0.5F, 0.47F}},
                                 Curve{{0.5F, 0.47F}, {0.2F, 0.47F}, {0.18F, 0.24F}},
                                 Curve{{0.18F, 0.24F}, {0.15F, 0.0F}, {0.5F, 0.0F}},
                                 Curve{{0.5F, 0.47F}, {0.92F, 0.47F}, {0.9F, 0.74F}},
                                 Curve{{0.9F, 0.74F}, {0.88F, 1.0F}, {0.5F, 1.0F}},
                                 Curve{{0.5F, 1.0F}, {0.12F, 1.0F}, {0.1F, 0.74F}},
                                 Curve{{0.1F, 0.74F}, {0.08F, 0.47F}, {0.5F, 0.47F}}};
constexpr std::array eight_crossed{Curve{{0.8F, 0.15F}, {0.5F, -0.12F}, {0.22F, 0.15F}},
                                   Curve{{0.22F, 0.15F}, {0.1F, 0.35F}, {0.5F, 0.5F}},
                                   Curve{{0.5F, 0.5F}, {0.95F, 0.7F}, {0.72F, 0.92F}},
                                   Curve{{0.72F, 0.92F}, {0.4F, 1.1F}, {0.2F, 0.85F}},
                                   Curve{{0.2F, 0.85F}, {0.15F, 0.65F}, {0.5F, 0.5F}},
                                   Curve{{0.5F, 0.5F}, {0.85F, 0.35F}, {0.8F, 0.15F}}};

constexpr std::array nine_straight{Curve{{0.82F, 0.3F}, {0.8F, 0.0F}, {0.48F, 0.0F}},
                                   Curve{{0.48F, 0.0F}, {0.12F, 0.02F}, {0.14F, 0.3F}},
                                   Curve{{0.14F, 0.3F}, {0.2F, 0.6F}, {0.82F, 0.35F}},
                                   line({0.82F, 0.3F}, {0.75F, 1.0F})};
constexpr std::array nine_hook{Curve{{0.85F, 0.28F}, {0.8F, 0.0F}, {0.5F, 0.0F}},
                               Curve{{0.5F, 0.0F}, {0.15F, 0.0F}, {0.18F, 0.3F}},
                               Curve{{0.18F, 0.3F}, {0.25F, 0.58F}, {0.85F, 0.32F}},
                               Curve{{0.85F, 0.28F}, {0.95F, 0.95F}, {0.2F, 0.97F}}};

constexpr std::array<Glyph, 2> zeros{zero_round, zero_narrow};
constexpr std::array<Glyph, 3> ones{one_plain, one_flag, one_foot};
constexpr std::array<Glyph, 2> twos{two_straight, two_loop};
constexpr std::array<Glyph, 2> threes{three_round, three_flat};
constexpr std::array<Glyph, 2> fours{four_open, four_closed};
constexpr std::array<Glyph, 2> fives{five_square, five_slack};
constexpr std::array<Glyph, 2> sixes{six_round, six_narrow};
constexpr std::array<Glyph, 2> sevens{seven_plain, seven_bar};
constexpr std::array<Glyph, 2> eights{eight_rings, eight_crossed};
constexpr std::array<Glyph, 2> nines{nine_straight, nine_hook};

constexpr std::array<std::span<const Glyph>, 10> all_glyphs{zeros, ones,  twos,   threes, fours,
                                                            fives, sixes, sevens, eights, nines};

}  // namespace

std::span<const Glyph> glyphs_of(std::size_t digit) {
  ENSURE(digit < all_glyphs.size());
  return all_glyphs[digit];
}

}  // namespace trainyard::runtime
