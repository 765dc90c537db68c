"""Checkpoints of other programs: one file per format, each reading and, where it makes sense, writing.

transformers   `VitsModel` folders, and the training folders of finetune-hf-vits
original       `G_*.pth`, `D_*.pth`, config.json and vocab.txt of VITS and MMS
coqui          `*.pth` of Coqui TTS
piper          `*.ckpt` of piper's training
voice          the training part of a voice package of ours
"""
