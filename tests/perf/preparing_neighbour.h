// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "measure/forwarding_executor.h"
#include "worker/sharing/shared_device.h"

namespace attune::experiments {

/// Another worker of the device that an experiment measures on, as `tune --workers 2` has: it prepares and verifies
/// candidates of two problems whenever nobody samples, until this object is destroyed.
class PreparingNeighbour {
 public:
  /// `program`: the `attune` of this build, whose worker is started; returns when it is up, or has failed.
  PreparingNeighbour(const std::filesystem::path& program, const std::string& device,
                     std::shared_ptr<SharedDevice> shared);
  ~PreparingNeighbour();
  PreparingNeighbour(const PreparingNeighbour&) = delete;
  PreparingNeighbour& operator=(const PreparingNeighbour&) = delete;

 private:
  void prepare_until_the_end(const std::filesystem::path& program, const std::string& device,
                             std::shared_ptr<SharedDevice> shared);

  std::atomic<bool> ends_ = false;
  std::atomic<size_t> num_admitted_ = 0;
  std::latch is_up_{1};
  std::thread thread_;
};

/// The experiment's own executor, which does its requests in its turns.
class SharingExecutor final : public ForwardingExecutor {
 public:
  SharingExecutor(std::unique_ptr<Executor> inner, std::shared_ptr<SharedDevice> shared)
      : ForwardingExecutor(*inner), owned_(std::move(inner)), user_(std::move(shared)) {}
  /// Waits for its turn.
  void begin(Request request) override;
  std::optional<Answer> take() override;

 private:
  std::unique_ptr<Executor> owned_;
  DeviceUser user_;
};

}  // namespace attune::experiments
