"""Fields of a config file, with an account of which were used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _

WITHOUT_COST = frozenset({
    "_name_or_path", "activation_dropout", "architectures", "attention_dropout", "attn_pdrop",
    "aux_loss_alpha", "bos_token_id", "classifier_dropout", "decoder_start_token_id", "dropout",
    "dropout_rate", "dtype", "embd_pdrop", "embedding_dropout", "eos_token_id", "finetuning_task",
    "hidden_dropout", "hidden_dropout_prob", "id2label", "initializer_factor", "initializer_range",
    "label2id", "layer_norm_eps", "layer_norm_epsilon", "mask_token_id", "max_window_layers",
    "model_type", "norm_topk_prob", "output_router_logits", "pad_token_id", "pretraining_tp",
    "resid_pdrop", "rms_norm_eps", "rope_scaling", "rope_theta", "rope_parameters",
    "rope_local_base_freq", "rotary_pct", "rotary_emb_base", "router_aux_loss_coef",
    "attention_probs_dropout_prob", "scale_attn_weights", "scoring_func", "seq_aux",
    "summary_activation", "task_specific_params", "torch_dtype", "transformers_version",
    "use_cache", "type_vocab_init", "unk_token_id", "attn_logit_softcapping",
    "final_logit_softcapping", "query_pre_attn_scalar", "relative_attention_max_distance",
    "relative_attention_num_buckets", "router_jitter_noise", "routed_scaling_factor",
    "topk_method", "topk_group", "n_group", "time_step_floor", "time_step_max", "time_step_min",
    "time_step_init_scheme", "time_step_scale", "rescale_prenorm_residual", "residual_in_fp32",
    "use_mamba_kernels", "position_embedding_type", "apply_residual_connection_post_layernorm",
    "forced_eos_token_id", "forced_bos_token_id", "scale_embedding", "num_hidden_layers_decoder",
    "gradient_checkpointing", "ep_size", "moe_layer_freq", "time_step_limit", "hidden_dropout_p",
})  # fmt: skip
"""Fields that change no parameter, product or state."""


class Fields:
    """Values of a config by any of several names; remembers which were read."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values, self._where, self._used = values, where, set[str]()

    def _find(self, names: tuple[str, ...]) -> Any:
        self._used |= set(names)
        return next((self._values[n] for n in names if self._values.get(n) is not None), None)

    def size(self, *names: str, default: int | None = None) -> int:
        """A positive whole number.

        Raises:
            InputError: if it is missing and has no default, or is no positive whole number.
        """
        found = self._find(names)
        if found is None:
            found = default
        if found is None:
            raise InputError(
                _("a size is missing in the config"),
                given=self._where,
                advice=_("add {names}").format(names=_(" or ").join(names)),
            )
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            raise InputError(
                _("a size of the config is no whole number"),
                given=f"{self._where}: {names[0]} = {found!r}",
                allowed=_("a positive whole number"),
            )
        return found

    def flag(self, *names: str, default: bool) -> bool:
        """A yes or no."""
        found = self._find(names)
        return default if found is None else bool(found)

    def text(self, *names: str, default: str = "") -> str:
        """A word."""
        found = self._find(names)
        return default if found is None else str(found)

    def items(self, *names: str) -> tuple[Any, ...]:
        """A list, empty if it is missing."""
        found = self._find(names)
        return tuple(found) if isinstance(found, list) else ()

    @property
    def unused(self) -> tuple[str, ...]:
        """Fields that were not read and may say something about cost."""
        rest = set(self._values) - self._used - WITHOUT_COST
        return tuple(sorted(name for name in rest if not name.startswith("_")))
