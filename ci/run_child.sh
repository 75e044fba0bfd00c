# SPDX-License-Identifier: MIT
# Sourced by the scripts that wait for a long command. A runner that cancels a job signals its script alone, so `run_child COMMAND …`
# forwards SIGINT, SIGTERM and SIGHUP to the command and waits for its end, whose status it returns. `signal` is the last one; empty: none.
signal=
child=
trap 'on_signal INT' INT
trap 'on_signal TERM' TERM
trap 'on_signal HUP' HUP

on_signal() {
  signal=$1
  has_returned_early=1
  [ -z "$child" ] || kill -s "$1" "$child" 2>/dev/null || true
}

run_child() {
  local status
  # In a process group of its own: a terminal's Ctrl-C must reach it once, because a second signal ends attune at once.
  set -m
  "$@" &
  child=$!
  set +m
  [ -z "$signal" ] || kill -s "$signal" "$child" 2>/dev/null || true  # It came before there was a child.
  while :; do
    has_returned_early=
    status=0
    wait "$child" || status=$?
    [ -n "$has_returned_early" ] || break
  done
  child=
  return "$status"
}
