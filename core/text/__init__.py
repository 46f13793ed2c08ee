"""What the runtime itself says to a model, in English and Chinese."""

from .words import CHINESE, ENGLISH, Language, WordError, Words, fill, words_for

__all__ = ["CHINESE", "ENGLISH", "Language", "WordError", "Words", "fill", "words_for"]
