// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "core/turn.h"
#include "measure/announcer.h"

namespace attune {

/// The slot that is responsible for what happens now, and since when.
struct Announcement {
  Slot slot = 0;
  Milliseconds limit{0};
  uint64_t began_ns = 0;   ///< On the monotonic clock, which all processes of a machine share.
  bool answering = false;  ///< True when no candidate runs: data on the channel come from the worker itself.
};

/// A page of memory that a worker writes and its supervisor reads. The worker maps it read-only except while it writes,
/// and keeps no descriptor of it: neither a candidate that overwrites memory nor one that writes to every descriptor
/// can change its content. The supervisor creates it; its size is sealed.
class AnnouncementPage {
 public:
  /// Creates an empty page. Throws device.
  AnnouncementPage();
  ~AnnouncementPage();
  AnnouncementPage(const AnnouncementPage&) = delete;
  AnnouncementPage& operator=(const AnnouncementPage&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  /// Returns the last announcement; slot 0 if there was none.
  Announcement read();
  void clear();

 private:
  int descriptor_ = -1;
  Announcement last_;  ///< Last one read completely; returned while the worker writes.
};

/// The worker's side of the page. It also watches the channel: if a candidate wrote to it or closed it, the process
/// ends (exit status 1) before the next announcement, while the page still names the faulty candidate.
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
  /// Ends the process with this as its last output.
  void end_worker(const std::string& why) noexcept override;
  /// Marks the following bytes on the channel as an answer, until the next announcement. The last announced candidate
  /// stays responsible: a heap that it damaged may crash now.
  void answer() { write({slot_, {}, 0, true}); }

 private:
  void write(const Announcement& announcement);
  void check_channel() const;
  void allow_writing(bool allowed) noexcept;

  void* page_;
  int channel_;
  /// Memory protection key of the page, which a thread changes for itself without a system call; -1: not available.
  int key_;
  Slot slot_ = 0;
  uint32_t count_ = 0;
};

}  // namespace attune
