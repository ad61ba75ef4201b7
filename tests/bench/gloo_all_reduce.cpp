// Gloo as a peer. Its newer ring algorithm is far slower than this one.
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <memory>
#include <vector>

#include "tests/bench/all_reduce_process.h"

namespace trainyard::bench {

std::function<void()> connect_gloo(std::int64_t rank, std::int64_t elements,
                                   const std::string& folder) {
  gloo::transport::tcp::attr address;
  address.hostname = "127.0.0.1";
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(address);
  const auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank), 2);
  gloo::rendezvous::FileStore store(folder);
  context->connectFullMesh(store, device);
  const auto data = std::make_shared<std::vector<float>>(static_cast<std::size_t>(elements), 1.0F);
  const auto algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
      context, std::vector<float*>{data->data()}, static_cast<int>(elements));
  return [data, algorithm] { algorithm->run(); };
}

}  // namespace trainyard::bench
