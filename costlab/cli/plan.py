"""``costlab plan``: will it fit, how fast, how many devices, what does it cost."""

from __future__ import annotations

import argparse

from costlab.cli import plan_serving, plan_training, plan_tuning
from costlab.cli.common import Subparsers, add_command, add_words, parsed
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import parse_count

JOBS = ("train", "serve", "finetune", "lora", "qlora", "distill", "dpo", "rlhf")


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "plan",
        run,
        help=_("whether a model fits a cluster, how fast, and what it costs"),
        examples=[
            "costlab plan gpt3-175b --gpus 1024xA100-80 --tokens 300B",
            "costlab plan --model gpt3-13b --device h100-sxm --gpus 64 --price 2.5",
            "costlab plan --model config.json --gpus 8xH100-SXM --tokens 20B",
            "costlab plan llama-3-8b --gpus 1xRTX-4090 --job serve --tpot 50ms",
            "costlab plan gpt3-175b lstm-175b mamba-175b --gpus 1024xA100-80",
            "costlab plan gpt3-13b --gpus 64xA100-80,128xA100-80,64xH100-SXM --price 1.5,1.5,2.5",
            "costlab plan llama-3-8b --job serve --gpus 1xH100-SXM,1xL40S --price 3,1.1",
            "costlab plan --fits 24GiB",
            "costlab plan llama-2-7b --gpus 1xA100-80 --job qlora --micro 4",
        ],
    )
    add_words(parser, "MODEL", _("a bundled model or a config.json"))
    parser.add_argument("--model", metavar="MODEL", help=_("the model, instead of a word"))
    parser.add_argument("--device", metavar="NAME", help=_("a device profile or .toml file"))
    parser.add_argument(
        "--gpus",
        default="8",
        metavar="COUNT[xNAME]",
        help=_("devices, or several clusters: 64xA,8xB"),
    )
    parser.add_argument(
        "--tokens", default="300B", metavar="COUNT", help=_("tokens of training (default: 300B)")
    )
    parser.add_argument("--batch", metavar="COUNT", help=_("sequences a step (default: 4M tokens)"))
    parser.add_argument(
        "--length", metavar="N", help=_("tokens of a sequence (default: 2048, or all it can)")
    )
    parser.add_argument("--per-node", metavar="COUNT", help=_("devices of a node"))
    parser.add_argument("--link", metavar="RATE", help=_("between devices of a node: 300GB/s"))
    parser.add_argument("--network", metavar="RATE", help=_("of a device to others: 200Gb/s"))
    parser.add_argument("--memory", metavar="BYTES", help=_("memory a device may use: 70GiB"))
    parser.add_argument(
        "--software",
        metavar="NAME",
        help=_("whose measured constants: megatron, megatron-flash, megatron-b200, fsdp"),
    )
    parser.add_argument(
        "--write-config",
        metavar="DIR",
        help=_("put the best plan's settings for Megatron-LM and DeepSpeed there"),
    )
    parser.add_argument("--show", default="5", metavar="N", help=_("plans listed (default: 5)"))
    parser.add_argument("--job", choices=JOBS, default="train", help=_("what is to be done"))
    plan_serving.add_arguments(parser)
    plan_tuning.add_arguments(parser)
    parser.add_argument("--price", metavar="AMOUNT", help=_("of a device hour, or one per cluster"))
    parser.add_argument("--carbon", type=float, metavar="GRAMS", help=_("CO2 of a kWh"))


def run(args: argparse.Namespace) -> int:
    """Answer the job."""
    if args.fits:
        return plan_serving.show_fits(args)
    models = [args.model] if args.model else args.words
    machines = [_cluster(word, args.device) for word in args.gpus.split(",")]
    if not models or not all(device for _count, device in machines):
        raise InputError(
            _("a plan needs a model and a device"),
            given=" ".join((*models, args.gpus)),
            advice="costlab plan gpt3-175b --gpus 1024xA100-80",
        )
    if args.job == "train":
        return plan_training.show(args, models, machines)
    if args.write_config:
        raise InputError(
            _("--write-config is for training"),
            given=f"--job {args.job}",
            advice=_("leave one of them out"),
        )
    serves = args.job == "serve"
    if len(models) > 1 or (len(machines) > 1 and not serves):
        raise InputError(
            _("several models are compared for training only, several clusters for serving too"),
            given=" ".join((*models, args.gpus)),
        )
    if len(machines) > 1:
        return plan_serving.show_services(args, models[0], machines)
    gpus, device = machines[0]
    if serves:
        return plan_serving.show_service(args, models[0], device, gpus)
    return plan_tuning.show_tuning(args, models[0], device, gpus)


def _cluster(word: str, device: str | None) -> tuple[int, str]:
    count, _x, name = word.partition("x")
    if count and not count[0].isdigit():
        raise InputError(
            _("cannot read --gpus"), given=word, allowed=_("COUNTxNAME, such as {example}").format(
                example=f"8x{word}"),
        )  # fmt: skip
    return parsed(parse_count, "--gpus", count), device or name
