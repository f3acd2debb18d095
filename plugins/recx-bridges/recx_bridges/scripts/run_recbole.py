"""General and sequential models of RecBole (MIT) by recx's files."""

import os

import numpy as np
import pandas as pd
import torch
from recbole.config import Config
from recbole.data.dataset import SequentialDataset
from recbole.data.interaction import Interaction
from recbole.data.utils import create_dataset, get_dataloader
from recbole.sampler import RepeatableSampler, Sampler
from recbole.utils import ModelType, get_model, get_trainer, init_seed
from recx_files import Task

NAME = "events"


def events_of(task):
    """Return the events of the fit with tokens of RecBole; the order stands in for times where there are none."""
    history = task.history()
    time = history.get("time", np.arange(len(history["user"])))
    columns = {"user_id:token": history["user"], "item_id:token": history["item"], "timestamp:float": time / 1000}
    return pd.DataFrame(columns)


def configured(task):
    """Return RecBole's configuration and data set of the events that the fit wrote, all of them for training."""
    usual = {
        "data_path": str(task.model_folder),
        "checkpoint_dir": str(task.model_folder),
        "load_col": {"inter": ["user_id", "item_id", "timestamp"]},
        "eval_args": {"split": {"RS": [1.0, 0.0, 0.0]}, "order": "TO", "group_by": None, "mode": "full"},
        "use_gpu": False,
        "seed": task.seed,
        "reproducibility": True,
        "show_progress": False,
        "save_dataset": False,
        "state": "INFO",
    }
    os.chdir(task.model_folder)  # RecBole writes a log beside
    config = Config(model=task.model, dataset=NAME, config_dict={**task.settings, **usual})
    init_seed(config["seed"], config["reproducibility"])
    return config, create_dataset(config)


def sampler_of(config, data):
    """Return what draws the negative items of training, as RecBole's own data_preparation makes it."""
    arguments = config["train_neg_sample_args"]
    if arguments["distribution"] == "none":
        return None
    kind = RepeatableSampler if config["MODEL_TYPE"] == ModelType.SEQUENTIAL else Sampler
    made = (
        kind(["train"], data, arguments["distribution"], arguments["alpha"])
        if kind is RepeatableSampler
        else kind(["train"], [data], arguments["distribution"], arguments["alpha"])
    )
    return made.set_phase("train")


def main():
    task = Task.of_command_line()
    torch.set_num_threads(task.threads)
    file = task.model_folder / "model.pt"
    if task.task == "fit":
        (task.model_folder / NAME).mkdir()
        events_of(task).to_csv(task.model_folder / NAME / f"{NAME}.inter", sep="\t", index=False)
    config, data = configured(task)
    train = data.build()[0]
    model = get_model(config["model"])(config, train).to("cpu")
    if task.task == "fit":
        trainer = get_trainer(config["MODEL_TYPE"], config["model"])(config, model)
        loader = get_dataloader(config, "train")(config, train, sampler_of(config, train), shuffle=config["shuffle"])
        for epoch in range(config["epochs"]):
            loss = trainer._train_epoch(loader, epoch)
            print(f"epoch {epoch + 1}/{config['epochs']}, loss {np.sum(loss):.4f}", flush=True)
        torch.save(model.state_dict(), file)
        return
    model.load_state_dict(torch.load(file, weights_only=True))
    model.eval()
    users, items = inner_numbers(data, "user_id", task.n_users), inner_numbers(data, "item_id", task.n_items)
    sequential = isinstance(data, SequentialDataset)
    history = task.history()
    borders = np.searchsorted(history["user"], np.arange(task.n_users + 1))
    known = (np.diff(borders) > 0) if sequential else users > 0
    longest = config["MAX_ITEM_LIST_LENGTH"]

    def asked(some):
        if not sequential:
            return {"user_id": torch.tensor(users[some])}
        table, lengths = np.zeros((len(some), longest), dtype=np.int64), np.zeros(len(some), dtype=np.int64)
        for row, one in enumerate(some):
            clicked = items[history["item"][borders[one] : borders[one + 1]]]
            clicked = clicked[clicked > 0][-longest:]
            table[row, : len(clicked)], lengths[row] = clicked, max(1, len(clicked))
        lists = {"item_id_list": torch.tensor(table), "item_length": torch.tensor(lengths)}
        return {"user_id": torch.tensor(users[some]), **lists}

    def scores(some):
        table = np.full((len(some), task.n_items), np.nan)
        there = np.flatnonzero(items)
        for start in range(0, len(some), 256):
            part = some[start : start + 256]
            with torch.no_grad():
                try:
                    found = model.full_sort_predict(Interaction(asked(part)))
                except NotImplementedError:
                    raise SystemExit(f"{task.model} of RecBole cannot score all items at once") from None
            table[start : start + len(part), there] = found.view(len(part), -1).numpy()[:, items[there]]
        return table

    task.answer(scores, known)


def inner_numbers(data, field, n):
    """Return RecBole's number of each user or item [n]; 0 for one without an event at the fit."""
    found = np.zeros(n, dtype=np.int64)
    for token, number in data.field2token_id[field].items():
        if token != "[PAD]":
            found[int(token)] = number
    return found


main()
