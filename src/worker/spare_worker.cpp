// SPDX-License-Identifier: MIT
#include "worker/spare_worker.h"

#include <algorithm>
#include <variant>

namespace attune {
namespace {

bool agree(const Contender& a, const Contender& b) {
  return a.solver == b.solver && a.version == b.version && a.versions == b.versions && a.support == b.support &&
         a.default_config == b.default_config && a.recommended == b.recommended && a.invariant == b.invariant &&
         a.parts == b.parts;
}

}  // namespace

SpareWorker::SpareWorker(const WorkerOptions& options, const request::Hello& hello)
    : start_(options.start), process_(std::make_unique<WorkerProcess>(options)) {
  ask(Step::starting, hello, start_);
}

void SpareWorker::ask(Step step, const WorkerRequest& request, Milliseconds longest) {
  step_ = step;
  asked_ = request;
  process_->ask(request, longest);
}

void SpareWorker::look() {
  if (!is_busy()) return;
  auto event = process_->take();
  if (!event) return;
  auto* const reply = std::get_if<Reply>(&*event);
  if (reply == nullptr || !fits(asked_, *reply) || std::holds_alternative<reply::Failure>(*reply))
    step_ = Step::failed;
  else
    settle(*reply);
}

void SpareWorker::settle(Reply& reply) {
  auto* const opened = std::get_if<OpenAnswer>(&reply);
  step_ = Step::idle;
  if (opened == nullptr || !opened->refused.empty() || opened->busy) return;
  if (!request_->candidates) listing_ = Listing{request_->problem, std::move(*opened)};
  ask(Step::closing, request::Close{request_->id}, start_);
}

void SpareWorker::open(request::Open request, Milliseconds longest) {
  request_ = std::move(request);
  ask(Step::opening, *request_, longest);
}

bool complete(OpenAnswer& limited, Listing& listing) {
  auto& whole = listing.answer.contenders;
  if (!std::ranges::equal(limited.contenders, whole, agree)) return false;
  for (size_t i = 0; i < whole.size(); ++i) limited.contenders[i].space = std::move(whole[i].space);
  return true;
}

}  // namespace attune
