// Protobuf messages as a hostile or broken peer sends them: every field may be anything that its
// type can hold.
#pragma once

#include <google/protobuf/message.h>

#include <random>

namespace trainyard::attack {

class MutatedMessage {
 public:
  explicit MutatedMessage(std::uint64_t seed) : engine_(seed) {}

  // One to five changes, anywhere in the message.
  void spoil(google::protobuf::Message& message);

 private:
  std::size_t below(std::size_t count);
  void change(google::protobuf::Message& message);
  void set(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);
  void add(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);
  std::int64_t hostile_number();
  double hostile_double();
  std::string hostile_text();

  std::mt19937_64 engine_;
};

}  // namespace trainyard::attack
