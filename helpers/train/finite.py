# SPDX-License-Identifier: Apache-2.0
"""Ends a training run whose numbers break: gradients, the loss, and on a CPU logits that are not finite."""

from math import isfinite


class Finite:
    """Looks at the numbers of a run; the recorder passes the trainer's events on.

    On a GPU the head runs inside compiled kernels, which take no hooks, so logits are looked at on a CPU only. With
    float16 a scaler finds overflowing gradients itself and skips such a step: nothing to stop for.
    """

    def __init__(self):
        self._hook = None

    def begin(self, args, state, model) -> None:
        """Watch the logits from here on."""
        if args is not None and args.use_cpu:

            def check(module, inputs, logits):
                if not logits[:, -1].isfinite().all():
                    raise self._broken("a logit", state.global_step + 1, args, model)

            self._hook = model.get_output_embeddings().register_forward_hook(check)

    def end(self) -> None:
        """Stop watching."""
        if self._hook:
            self._hook.remove()

    def gradients(self, args, state, model) -> None:
        """Look at the gradients before they are used.

        Raises:
            FloatingPointError: one is not finite.
        """
        if model is not None and not args.fp16 and not _finite_gradients(model):
            raise self._broken("the gradient", state.global_step + 1, args, model)

    def loss(self, value: float, args, state, model) -> None:
        """Look at a logged loss.

        Raises:
            FloatingPointError: it is not finite.
        """
        if not isfinite(value):
            raise self._broken("the loss", state.global_step, args, model)

    def _broken(self, what: str, step: int, args, model) -> FloatingPointError:
        self.end()
        kinds = sorted({str(weight.dtype) for weight in model.parameters() if weight.requires_grad}) if model else []
        computed = "bfloat16" if args.bf16 else "float16" if args.fp16 else ""
        other = {"float16": ", or take bfloat16 or float32", "bfloat16": ", or take float32"}.get(computed, "")
        return FloatingPointError(
            f"step {step}: {what} is not a finite number (trained weights in "
            f"{' and '.join(kinds) or 'an unknown dtype'}, computed in {computed or 'the same'}). Nothing after this "
            f"step can be trusted: lower the learning rate{other}, and start again from the last checkpoint"
        )


def _finite_gradients(model) -> bool:
    import torch

    norms = [weight.grad.norm() for weight in model.parameters() if weight.grad is not None]
    return not norms or bool(torch.stack(norms).isfinite().all())
