// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu_conv/direct_plan.h"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "solver/module/openmp_team.h"
#include "solver/shared_library.h"

namespace attune::jit_cpu_conv {
namespace {

class DirectPlan final : public Plan {
 public:
  DirectPlan(const ConvShape& shape, const DirectSpec& spec, int threads, const std::filesystem::path& kernel)
      : shape_(shape),
        spec_(spec),
        threads_(threads),
        library_(kernel),
        kernel_(library_.function<DirectKernel>("direct")),
        phases_(shape.stride[2]),
        tiles_((shape.map[2] + spec.columns() - 1) / spec.columns()) {
    // A tile reads whole vectors, beyond the last column, too.
    const int64_t reach = (shape.filter[2] - 1) * shape.dilation[2];
    width_ = tiles_ * spec.columns() + reach / phases_ + 1;
    height_ = (shape.map[1] - 1) * shape.stride[1] + (shape.filter[1] - 1) * shape.dilation[1] + 1;
    for (int64_t y = 0; y < shape.filter[1]; ++y) {
      for (int64_t x = 0; x < shape.filter[2]; ++x) {
        const int64_t column = x * shape.dilation[2];
        offsets_.push_back((y * shape.dilation[1] * phases_ + column % phases_) * width_ + column / phases_);
      }
    }
    traits_.workspace_bytes = static_cast<uint64_t>(shape.n * shape.image_channels * plane()) * sizeof(float);
    traits_.states = Requirement::deterministic;  // One chain of sums for each element, whatever the team.
    traits_.host_bytes = sizeof *this + offsets_.capacity() * sizeof(long);
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const auto* image = static_cast<const float*>(launch.operands[shape_.image_operand]);
    const auto* weights = static_cast<const float*>(launch.operands[shape_.weights_operand]);
    auto* map = static_cast<float*>(launch.operands[shape_.map_operand]);
    auto* padded = static_cast<float*>(launch.workspace);
    const OpenmpTeam team(threads_);
    if (team.size() == 1) {
      pad(image, padded, 0, 1);
      compute(padded, weights, map, 0, 1);
      return;
    }
#pragma omp parallel num_threads(threads_)
    {
      pad(image, padded, omp_get_thread_num(), omp_get_num_threads());
#pragma omp barrier
      compute(padded, weights, map, omp_get_thread_num(), omp_get_num_threads());
    }
  }

 private:
  int64_t plane() const { return height_ * phases_ * width_; }

  /// Copies a thread's part of the channels, with their padding, rows split into phases.
  void pad(const float* image, float* padded, int64_t thread, int64_t threads) const {
    const int64_t planes = shape_.n * shape_.image_channels, height = shape_.image[1], width = shape_.image[2];
    for (int64_t one = planes * thread / threads; one < planes * (thread + 1) / threads; ++one) {
      const float* const from = image + one * height * width;
      float* to = padded + one * plane();
      for (int64_t y = 0; y < height_; ++y) {
        const int64_t row = y - shape_.pad[1];
        for (int64_t phase = 0; phase < phases_; ++phase, to += width_) {
          for (int64_t x = 0; x < width_; ++x) {
            const int64_t column = x * phases_ + phase - shape_.pad[2];
            const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
            to[x] = is_inside ? from[row * width + column] : 0.0f;
          }
        }
      }
    }
  }

  /// Computes a thread's part of the output's rows.
  void compute(const float* padded, const float* weights, float* map, int64_t thread, int64_t threads) const {
    const int64_t rows = shape_.map[1], columns = shape_.map[2], of_group = shape_.group_map_channels();
    const int64_t all = shape_.n * shape_.groups * rows, inputs = shape_.group_image_channels();
    DirectArguments arguments{};
    arguments.plane = plane();
    arguments.offsets = offsets_.data();
    arguments.taps = shape_.taps();
    arguments.inputs = inputs;
    arguments.output_plane = rows * columns;
    for (int64_t one = all * thread / threads; one < all * (thread + 1) / threads; ++one) {
      const int64_t row = one % rows, group = one / rows % shape_.groups, n = one / rows / shape_.groups;
      const float* const input =
          padded + (n * shape_.image_channels + group * inputs) * plane() + row * shape_.stride[1] * phases_ * width_;
      for (int64_t tile = 0; tile < tiles_; ++tile) {
        const int64_t column = tile * spec_.columns();
        arguments.input = input + column;
        arguments.columns = std::min<int64_t>(spec_.columns(), columns - column);
        for (int64_t first = 0; first < of_group; first += spec_.channels) {
          // The last block is moved inwards and writes what no other does.
          const int64_t channel = group * of_group + std::min<int64_t>(first, of_group - spec_.channels);
          arguments.first_channel = group * of_group + first - channel;
          arguments.weights = weights + channel * inputs * shape_.taps();
          arguments.output = map + ((n * shape_.map_channels + channel) * rows + row) * columns + column;
          kernel_(&arguments);
        }
      }
    }
  }

  ConvShape shape_;
  DirectSpec spec_;
  int threads_;
  SharedLibrary library_;
  DirectKernel kernel_;
  int64_t phases_, tiles_, width_ = 0, height_ = 0;
  std::vector<long> offsets_;
  PlanTraits traits_;
};

}  // namespace

std::unique_ptr<Plan> make_direct_plan(const ConvShape& shape, const DirectSpec& spec, int threads,
                                       const std::filesystem::path& kernel) {
  return std::make_unique<DirectPlan>(shape, spec, threads, kernel);
}

}  // namespace attune::jit_cpu_conv
