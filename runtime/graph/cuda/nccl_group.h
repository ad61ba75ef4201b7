// Several GPUs of this process between which NCCL copies. Only nvcc reads this.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/cuda/nccl_library.h"

namespace trainyard::runtime {

class NcclGroup {
 public:
  struct Member {
    int ordinal = 0;
    cudaStream_t stream = nullptr;
    bool operator==(const Member&) const = default;
  };
  // Each GPU is there once. Null where there is no NCCL, or it does not start; `how` says why, or
  // which it is.
  static std::shared_ptr<NcclGroup> open(const std::vector<Member>& members, std::string& how);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

  // What the first member has at places[0] to those of all others, by each one's stream. "", or
  // what went wrong.
  std::string broadcast(std::span<float* const> places, std::size_t count);

  // Until the event, on any thread. Where a GPU has failed, the others would wait in the broadcast
  // for it for ever: they are let go then, and what they have is of no value. "", or what went
  // wrong.
  std::string wait(cudaEvent_t event);

  // Before the first of the members' streams goes.
  void close();

 private:
  NcclGroup(const NcclLibrary& library, const std::vector<Member>& members);
  std::string start();
  [[nodiscard]] std::string words(const char* call, int result) const;
  std::string look();
  void let_go();

  const NcclLibrary library_;
  const std::vector<Member> members_;
  std::mutex mutex_;                      // of all below
  std::vector<NcclLibrary::Comm> comms_;  // by member; none: it is closed
  std::vector<cudaEvent_t> done_;         // by member: its newest broadcast
  std::string failure_;
};

}  // namespace trainyard::runtime
