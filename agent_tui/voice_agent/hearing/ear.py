"""When to decode what is heard: pure, and based only on a voice detector's result for each piece of sound."""

from __future__ import annotations

from typing import Final, Literal

RATE: Final = 16_000  # samples a second, mono int16
_BYTES_PER_SECOND: Final = RATE * 2
LEAD_SECONDS: Final = 0.5  # kept from before the detector was sure of a voice
INTERIM_SECONDS: Final = 1.0  # between interim words
EARLIER_SECONDS: Final = 0.2  # the first ones come this much earlier
SILENCE_SECONDS: Final = 0.2  # after which the text is decoded, in case this is the end
EARLY_SECONDS: Final = 0.05  # before the end of the turn, words are passed on
LONGEST_SECONDS: Final = 24.0  # after this the next short pause is an end: decoders take 30 s at most
HARD_END_SECONDS: Final = 28.0  # if there is no pause at all
PAUSE_SECONDS: Final = 0.1  # a pause this short is enough to cut a longer utterance

Act = Literal["nothing", "interim", "final", "over"]


class Ear:
    """One utterance after the other: from the first voice to a silence of ``end_seconds``.

    ``interim``: decode for the screen; ``final``: decode, it may be the end; ``over``: the silence has
    lasted, and the result of the last ``final`` decode is what was said. Speech that continues in between
    makes that decode void: ``version`` counts how often that happened. ``is_open``: there is a current
    utterance; ``is_speaking``: a voice is heard right now; ``speech_seconds``: how much of it is voice.
    """

    def __init__(self, end_seconds: float) -> None:
        self._end_seconds = max(end_seconds - EARLY_SECONDS, SILENCE_SECONDS)
        self._lead = bytearray()
        self._pcm = bytearray()
        self._voiced_bytes = 0  # how much there was at the last voice
        self._asked_bytes = 0  # how much there was at the last request for words
        self.speech_seconds = 0.0
        self.is_open = False
        self.is_speaking = False
        self._has_final = False
        self.version = 0

    @property
    def pcm(self) -> bytes:
        """Return the utterance so far."""
        return bytes(self._pcm)

    @property
    def silence_seconds(self) -> float:
        """Return how long nothing has been said."""
        return (len(self._pcm) - self._voiced_bytes) / _BYTES_PER_SECOND

    def start(self) -> None:
        """Note that the detector is sure of a voice; the sound before it belongs to the utterance."""
        if not self.is_open:
            self.is_open = True
            self._pcm[:] = self._lead
            self._asked_bytes = len(self._pcm) - int(EARLIER_SECONDS * _BYTES_PER_SECOND)
            self.speech_seconds = 0.0
        self._voice()

    def hear(self, pcm: bytes, *, is_voice: bool, ends_by_silence: bool = True) -> Act:
        """Take the next piece of sound; return what to do now. Without ``ends_by_silence`` the person says
        when the turn is over (``flush``), and may think as long as they like.
        """
        if not self.is_open:
            self._lead += pcm
            del self._lead[: max(0, len(self._lead) - int(LEAD_SECONDS * _BYTES_PER_SECOND))]
            return "nothing"
        self._pcm += pcm
        if len(self._pcm) > HARD_END_SECONDS * _BYTES_PER_SECOND:
            return "over"
        if is_voice:
            self.speech_seconds += len(pcm) / _BYTES_PER_SECOND
            self._voice()
            return self._while_speaking()
        self.is_speaking = False
        silence = self.silence_seconds
        length = len(self._pcm) / _BYTES_PER_SECOND
        if not self._has_final and (silence >= SILENCE_SECONDS or self._is_cut(length, silence)):
            self._has_final = True
            return "final"
        is_over = ends_by_silence and silence >= self._end_seconds
        if self._has_final and (is_over or length > LONGEST_SECONDS):
            return "over"
        return "nothing"

    def ask_again(self) -> None:
        """Undo the last ``interim``: it could not be decoded now, and the next piece of voice asks again."""
        self._asked_bytes = -int(INTERIM_SECONDS * _BYTES_PER_SECOND)

    def flush(self) -> Act:
        """End the utterance now (push to talk): ``final`` if that is still to be decoded."""
        self.is_speaking = False
        if not self.is_open:
            return "over"
        if self._has_final:
            return "over"
        self._has_final = True
        return "final"

    def close(self) -> None:
        """Start over; the last of the sound precedes what comes next."""
        self._lead[:] = self._pcm[-int(LEAD_SECONDS * _BYTES_PER_SECOND) :]
        self._pcm.clear()
        self.is_open = self.is_speaking = self._has_final = False
        self._voiced_bytes = self._asked_bytes = 0
        self.version += 1

    def _voice(self) -> None:
        self.is_speaking = True
        self._voiced_bytes = len(self._pcm)
        if self._has_final:  # it was not the end
            self._has_final = False
            self.version += 1

    def _while_speaking(self) -> Act:
        if len(self._pcm) - self._asked_bytes >= INTERIM_SECONDS * _BYTES_PER_SECOND:
            self._asked_bytes = len(self._pcm)
            return "interim"
        return "nothing"

    @staticmethod
    def _is_cut(length: float, silence: float) -> bool:
        """Return whether a long utterance ends at this short pause, before it is too long to decode."""
        return length > LONGEST_SECONDS and silence >= PAUSE_SECONDS
