#include "tests/attack/mutated_message.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace trainyard::attack {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::size_t MutatedMessage::below(std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(engine_);
}

std::int64_t MutatedMessage::hostile_number() {
  static const std::array<std::int64_t, 12> numbers{0,         -1,        1,         2,
                                                    65536,     1 << 20,   1LL << 32, 1LL << 62,
                                                    INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN};
  return numbers[below(numbers.size())];
}

double MutatedMessage::hostile_double() {
  using Limits = std::numeric_limits<double>;
  static const std::array<double, 8> numbers{0,
                                             -1,
                                             1.5,
                                             1e300,
                                             Limits::denorm_min(),
                                             Limits::infinity(),
                                             -Limits::infinity(),
                                             Limits::quiet_NaN()};
  return numbers[below(numbers.size())];
}

std::string MutatedMessage::hostile_text() {
  switch (below(6)) {
    case 0: return "";
    case 1: return std::string(1 << 20, 'x');
    case 2: return "../../etc/passwd";
    case 3: return std::string("a\0\xff\n", 4);
    case 4: return "honest";
    default: return std::to_string(engine_());
  }
}

void MutatedMessage::spoil(Message& message) {
  for (std::size_t changes = 1 + below(5); changes > 0; --changes) change(message);
}

void MutatedMessage::change(Message& message) {
  const auto& descriptor = *message.GetDescriptor();
  if (descriptor.field_count() == 0) return;
  const FieldDescriptor& field = *descriptor.field(
      static_cast<int>(below(static_cast<std::size_t>(descriptor.field_count()))));
  if (field.is_repeated()) return add(message, field);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && below(4) != 0) {
    return change(*message.GetReflection()->MutableMessage(&message, &field));
  }
  set(message, field);
}

void MutatedMessage::set(Message& message, const FieldDescriptor& field) {
  const Reflection& values = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return values.SetInt32(&message, &field, static_cast<std::int32_t>(hostile_number()));
    case FieldDescriptor::CPPTYPE_INT64: return values.SetInt64(&message, &field, hostile_number());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return values.SetDouble(&message, &field, hostile_double());
    case FieldDescriptor::CPPTYPE_BOOL: return values.SetBool(&message, &field, below(2) == 0);
    case FieldDescriptor::CPPTYPE_STRING: return values.SetString(&message, &field, hostile_text());
    default: return values.ClearField(&message, &field);
  }
}

// A few elements, or very many.
void MutatedMessage::add(Message& message, const FieldDescriptor& field) {
  const Reflection& values = *message.GetReflection();
  const bool many = below(8) == 0;
  for (std::size_t count = many ? 50'000 : 1 + below(4); count > 0; --count) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        Message& element = *values.AddMessage(&message, &field);
        const int changes = many ? 0 : element.GetDescriptor()->field_count();
        for (int i = 0; i < changes; ++i) change(element);
        break;
      }
      case FieldDescriptor::CPPTYPE_STRING:
        values.AddString(&message, &field, many ? "x" : hostile_text());
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        values.AddInt32(&message, &field, static_cast<std::int32_t>(hostile_number()));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        values.AddInt64(&message, &field, hostile_number());
        break;
      default: return;
    }
  }
}

}  // namespace trainyard::attack
