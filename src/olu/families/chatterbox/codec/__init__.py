"""The frozen networks of Chatterbox, under the published names of their parameters.

`tokens.py` turns sound into codes (S3 tokenizer), `voice.py` into speaker vectors (voice encoder); `s3gen.py` holds the
tokenizer and what makes sound of codes, as the file of that name does.
"""
