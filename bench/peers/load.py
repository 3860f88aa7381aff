"""Loads all modules of a folder into pluggy, from their byte code if it is there."""

import importlib
import os
import sys

import pluggy

folder = sys.argv[1]
sys.path.insert(0, folder)
manager = pluggy.PluginManager("bench")
for name in sorted(os.listdir(folder)):
    if name.endswith(".py"):
        manager.register(importlib.import_module(name[:-3]))
print(len(manager.get_plugins()))
