// SPDX-License-Identifier: MIT
// The events of a journal for all windows of a browser together, because it has six connections to a server: a shared worker, or
// in the page itself where a browser has none.
"use strict";

/** One stream, open while a window is seen, and what the windows are told of it. */
class WindowEvents {
  /** `prefix`: what the addresses of the journal begin with. */
  constructor(prefix) {
    this.address = `${prefix}/events`;
    this.windows = new Map();  // Whether it is seen, by a window's port.
    this.stream = null;
    this.newest = 0;  // The entry behind which the stream goes on; 0: none is known.
    this.state = "not connected";
    this.hasBeenOpen = false;
  }

  /** A window says with each message whether it is seen, or that it is gone, and `after`: the newest entry that it may show. */
  add(port) {
    port.onmessage = ({ data }) => {
      if (data.isGone) this.windows.delete(port);
      else this.windows.set(port, data.isSeen);
      if (data.isSeen && !this.stream) this.newest = Math.max(this.newest, data.after);
      if (data.isSeen) port.postMessage({ state: this.state, newest: this.newest > data.after ? this.newest : 0 });
      this.listenIfSeen();
    };
  }

  tell(message) {
    for (const [port, isSeen] of this.windows) if (isSeen) port.postMessage(message);
  }

  say(state) {
    this.state = state;
    this.tell({ state });
  }

  listenIfSeen() {
    const isSeen = [...this.windows.values()].includes(true);
    if (isSeen && !this.stream) this.listen();
    if (isSeen || !this.stream) return;
    this.end();
  }

  end() {
    this.stream.close();
    this.stream = null;
    this.state = "not connected";
  }

  listen() {
    const stream = new EventSource(this.newest ? `${this.address}?after=${this.newest}` : this.address);
    this.stream = stream;
    stream.onopen = () => {
      this.say("live");
      if (this.hasBeenOpen) this.tell({ isBack: true });  // The journal may have been replaced meanwhile: its ids are others.
      this.hasBeenOpen = true;
    };
    stream.onerror = () => {
      this.say("not connected");
      if (stream.readyState !== EventSource.CLOSED) return;  // A browser itself comes back when it was cut off, not when it was refused.
      this.stream = null;
      setTimeout(() => this.listenIfSeen(), 5000);
    };
    stream.addEventListener("replaced", () => {
      this.end();
      this.newest = 0;
      this.tell({ isReplaced: true });
    });
    stream.onmessage = (event) => {
      this.newest = Number(event.lastEventId);
      this.tell({ newest: this.newest });
    };
  }
}

if (typeof SharedWorkerGlobalScope !== "undefined") {
  const events = new WindowEvents(self.name);  // Each journal has a worker of its own, by its name.
  self.onconnect = (event) => events.add(event.ports[0]);
}
