// A real child process whose stderr is read line by line: every wait is on the kernel, with a
// deadline.
#pragma once

#include <string>

namespace trainyard::runtime::test {

class Child {
 public:
  // Starts `program` with one argument.
  Child(const std::string& program, const std::string& argument);
  // Kills what still runs.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  // The next line of stderr that contains `text`; "" when the child ended or the deadline passed
  // without one.
  std::string wait_for_line(const std::string& text);

  void signal(int number) const;

  // Reads stderr to its end and gives the exit code, or -signal. -1000 after the deadline (the
  // child is killed then).
  int wait();

  // Everything read from stderr so far.
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  bool read_some();  // false at the end of stderr and at the deadline

  int pid_ = -1;
  int stderr_ = -1;
  std::string output_;
  std::size_t searched_ = 0;
};

}  // namespace trainyard::runtime::test
