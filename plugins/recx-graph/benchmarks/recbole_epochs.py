"""RecBole's LightGCN, an epoch for each line on standard input; run by ``run.py`` with the Python that has RecBole.

Usage: recbole_epochs.py FOLDER SETTINGS, where FOLDER/events/events.inter has the events and SETTINGS are JSON. A line
``epoch`` is answered by the seconds and the mean loss of an epoch, ``save`` by writing the last vectors to
FOLDER/vectors.npz.
"""

import json
import os
import sys
import time

import numpy as np
import torch
from recbole.config import Config
from recbole.data.utils import create_dataset, get_dataloader
from recbole.sampler import Sampler
from recbole.utils import get_model, get_trainer, init_seed


def by_number(data, field, vectors):
    """Return the vectors in the order of the numbers that the tokens are."""
    known = [(int(token), row) for token, row in data.field2token_id[field].items() if token != "[PAD]"]
    return np.array([vectors[row] for _, row in sorted(known)])


def main():
    folder, settings = sys.argv[1], json.loads(sys.argv.pop())
    os.chdir(folder)  # RecBole writes a log beside
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    usual = {
        "data_path": folder,
        "load_col": {"inter": ["user_id", "item_id"]},
        "eval_args": {"split": {"RS": [1.0, 0.0, 0.0]}, "order": "RO", "group_by": None, "mode": "full"},
        "use_gpu": False,
        "require_pow": True,  # squared norms, as in the paper
        "show_progress": False,
        "save_dataset": False,
        "state": "ERROR",
    }
    sys.argv = sys.argv[:1]
    config = Config(model="LightGCN", dataset="events", config_dict={**settings, **usual})
    init_seed(config["seed"], True)
    data = create_dataset(config)
    train = data.build()[0]
    model = get_model("LightGCN")(config, train)
    trainer = get_trainer(config["MODEL_TYPE"], "LightGCN")(config, model)
    sampler = Sampler(["train"], [train], "uniform", 1.0).set_phase("train")
    loader = get_dataloader(config, "train")(config, train, sampler, shuffle=True)
    epoch = 0
    print(json.dumps({"steps": len(loader)}), flush=True)
    for line in sys.stdin:
        if line.strip() == "save":
            model.eval()
            with torch.no_grad():
                users, items = (found.numpy() for found in model.forward())
            found = {"users": by_number(data, "user_id", users), "items": by_number(data, "item_id", items)}
            np.savez("vectors.npz", **found)
            print("{}", flush=True)
            continue
        started = time.perf_counter()
        loss = trainer._train_epoch(loader, epoch)
        seconds, epoch = time.perf_counter() - started, epoch + 1
        print(json.dumps({"seconds": seconds, "loss": float(np.sum(loss)) / len(loader)}), flush=True)


main()
