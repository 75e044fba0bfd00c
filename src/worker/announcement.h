// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "core/turn.h"
#include "measure/announcer.h"

namespace attune {

/// Whose doing it is now, and since when.
struct Announcement {
  Slot slot = 0;
  Milliseconds limit{0};
  uint64_t began_ns = 0;   ///< On the monotonic clock, which the processes of a machine share.
  bool answering = false;  ///< No candidate runs any more: what comes over the channel is the worker's own.
};

/// A page of memory in which a worker announces and its supervisor reads. The worker has it mapped, read-only but for
/// the moment of writing, and keeps no descriptor of it: neither a candidate that scribbles over memory nor one that
/// writes to every descriptor can change what it says. The supervisor makes it; its size is sealed.
class AnnouncementPage {
 public:
  /// A new page that says nothing. Throws device.
  AnnouncementPage();
  ~AnnouncementPage();
  AnnouncementPage(const AnnouncementPage&) = delete;
  AnnouncementPage& operator=(const AnnouncementPage&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  /// What was announced last; of slot 0 when nothing was.
  Announcement read();
  void clear();

 private:
  int descriptor_ = -1;
  Announcement last_;  ///< Read whole; stands in while the worker writes.
};

/// The worker's end. It also watches the channel: a candidate that wrote to it or closed it is found out before the
/// next is announced, and the process ended (exit status 1) while the page still names the culprit.
class PageAnnouncer final : public Announcer {
 public:
  /// Maps the page and closes its descriptor. Throws device.
  PageAnnouncer(int page, int channel);
  ~PageAnnouncer() override;
  PageAnnouncer(const PageAnnouncer&) = delete;
  PageAnnouncer& operator=(const PageAnnouncer&) = delete;

  void announce(Slot slot, Milliseconds limit) override {
    slot_ = slot;
    write({slot, limit, 0, false});
  }
  /// From now on what is written to the channel is an answer, until the next announcement. Who was announced last is
  /// still to blame: a heap that a candidate damaged may fall apart now.
  void answer() { write({slot_, {}, 0, true}); }

 private:
  void write(const Announcement& announcement);
  void check_channel() const;
  void allow_writing(bool allowed) noexcept;

  void* page_;
  int channel_;
  int key_;  ///< Of the page's protection, which a thread changes for itself without a system call; -1: none here.
  Slot slot_ = 0;
  uint32_t count_ = 0;
};

}  // namespace attune
