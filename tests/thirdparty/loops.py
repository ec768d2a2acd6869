"""Greedy decoding, written plainly around models of the transformers package, with small random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor, nn

LIMIT = 12
"""How many tokens a decoder produces at most."""


class Continue(nn.Module):
    """A decoder that continues a prompt, [1, n] token numbers, with its cache; returns the tokens up to the last."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, prompt: Tensor) -> list[int]:
        tokens: list[int] = []
        out = self.model(prompt, use_cache=True)
        token = out.logits[:, -1].argmax(-1, keepdim=True)
        while token.item() != self.model.config.eos_token_id and len(tokens) < LIMIT:
            tokens.append(token.item())
            out = self.model(token, past_key_values=out.past_key_values, use_cache=True)
            token = out.logits[:, -1].argmax(-1, keepdim=True)
        return tokens


class Transcribe(nn.Module):
    """An encoder and a decoder with a cache that starts empty; ``source`` is whatever the encoder takes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> list[int]:
        config = self.model.config
        encoded = self.model.get_encoder()(source)
        token = torch.full((1, 1), config.decoder_start_token_id)
        tokens, cache = [], None
        for _ in range(LIMIT):
            out = self.model(encoder_outputs=encoded, decoder_input_ids=token, past_key_values=cache, use_cache=True)
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            if token.item() == config.eos_token_id:
                break
            cache = out.past_key_values
            tokens.append(token.item())
        return tokens


def _gpt2() -> nn.Module:
    config = transformers.GPT2Config(
        vocab_size=24, n_positions=48, n_embd=32, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2,
        initializer_range=0.5,
    )  # fmt: skip
    return Continue(transformers.GPT2LMHeadModel(config))


def _t5() -> nn.Module:
    config = transformers.T5Config(
        vocab_size=24, d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2, eos_token_id=1, pad_token_id=0,
        decoder_start_token_id=0, initializer_factor=3.0,
    )  # fmt: skip
    return Transcribe(transformers.T5ForConditionalGeneration(config))


def _whisper() -> nn.Module:
    config = transformers.WhisperConfig(
        vocab_size=24, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8, max_source_positions=12,
        max_target_positions=32, eos_token_id=2, bos_token_id=0, pad_token_id=1, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None, init_std=0.5,
    )  # fmt: skip
    return Transcribe(transformers.WhisperForConditionalGeneration(config))


# With seeds that give decoders which end at different times.
_MAKERS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "gpt2": (_gpt2, 1), "t5": (_t5, 0), "whisper": (_whisper, 0)
}  # fmt: skip
NAMES = tuple(_MAKERS)


def model(name: str) -> nn.Module:
    """The decoding loop ``name``, the same one in every call."""
    make, seed = _MAKERS[name]
    torch.manual_seed(seed)
    return make().eval().requires_grad_(False)


def inputs(name: str, seed: int, count: int = 6) -> list[tuple[Any, ...]]:
    """Prompts of 1 to 9 tokens, [1, n] int64; for ``whisper`` spectra, [1, 8, 24] float32."""
    generator = torch.Generator().manual_seed(seed)
    if name == "whisper":
        return [(torch.randn(1, 8, 24, generator=generator),) for _ in range(count)]
    lengths = torch.randint(1, 10, (count,), generator=generator).tolist()
    return [(torch.randint(3, 24, (1, n), generator=generator),) for n in lengths]
