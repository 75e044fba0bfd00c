# SPDX-License-Identifier: MIT
"""What ranks of a process group serve with, and its changes, which all make together (docs/adr/0024)."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.distributed as distributed

from attune._attune import apply_changes, hold_changes, release_changes, report_changes


class RankGroup:
    """The ranks of a process group. Their changes wait for exchange() from hold() until end()."""

    def __init__(self, group: Any) -> None:
        """group: a ProcessGroup, or True for the default one. Raises ValueError if this process is not one of its ranks."""
        if not distributed.is_available() or not distributed.is_initialized():
            raise ValueError("group= needs a process group, call torch.distributed.init_process_group() first")
        self._group: Any = None if group is True else group
        if distributed.get_rank(self._group) < 0:
            raise ValueError("this process is no rank of the group that group= names")
        self._said: set[str] = set()

    def is_of(self, group: Any) -> bool:
        return self._group is (None if group is True else group)

    def hold(self) -> None:
        hold_changes()

    def end(self) -> None:
        """Does nothing before hold()."""
        release_changes()

    def exchange(self) -> bool:
        """A collective. Applies what all ranks have; returns whether anything changed."""
        state, has_news, text = report_changes()
        if not self._is_anything_new(state, has_news):
            return False
        texts: list[Any] = [None] * distributed.get_world_size(self._group)
        distributed.all_gather_object(texts, text, group=self._group)
        has_changed, differences = apply_changes(texts)
        for sentence in differences:
            if sentence not in self._said:
                self._said.add(sentence)
                warnings.warn(f"attune: ranks do not agree: {sentence}", RuntimeWarning, stacklevel=3)
        return has_changed

    def _is_anything_new(self, state: int, has_news: bool) -> bool:
        """Whether any rank has news, or their states differ: on all of them the same answer."""
        device = "cpu"
        if distributed.get_backend(self._group) == "nccl":
            device = f"cuda:{torch.cuda.current_device()}"
        own = torch.tensor([state, int(has_news)], dtype=torch.int64, device=device)
        all_ranks = [torch.empty_like(own) for _ in range(distributed.get_world_size(self._group))]
        distributed.all_gather(all_ranks, own, group=self._group)
        ranks = torch.stack(all_ranks).tolist()
        return any(news or other != ranks[0][0] for other, news in ranks)
