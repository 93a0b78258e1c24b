"""The standard's own text on event streams (HTML, 9.2.6), transcribed step by step, slow on purpose.

It knows nothing of chunks: the tests compare our parser, fed in any pieces, with this, fed the whole.
"""

from __future__ import annotations

from agent_tui.wire.sse import Frame


class Reference:
    """The state that the standard's steps read and write."""

    def __init__(self, last_event_id: str = "") -> None:
        self.data_buffer = ""
        self.event_type_buffer = ""
        self.last_event_id_buffer = last_event_id
        self.last_event_id_string = last_event_id
        self.reconnection_time: int | None = None
        self.comments: list[str] = []
        self.frames: list[Frame] = []

    def interpret(self, stream: bytes) -> list[Frame]:
        text = stream.decode("utf-8", "replace")
        if text.startswith("\ufeff"):  # "UTF-8 decode" strips one BOM
            text = text[1:]
        for line in complete_lines(text):
            self.process_line(line)
        return self.frames  # "any pending data must be discarded"

    def process_line(self, line: str) -> None:
        if line == "":
            self.dispatch()
        elif line[0] == ":":
            self.comments.append(line[1:])
        elif ":" in line:
            colon = line.index(":")
            field, value = line[:colon], line[colon + 1 :]
            if value[:1] == " ":
                value = value[1:]
            self.process_field(field, value)
        else:
            self.process_field(line, "")

    def process_field(self, field: str, value: str) -> None:
        if field == "event":
            self.event_type_buffer = value
        elif field == "data":
            self.data_buffer += value
            self.data_buffer += "\n"
        elif field == "id":
            if "\0" not in value:
                self.last_event_id_buffer = value
        elif field == "retry" and value != "" and all(c in "0123456789" for c in value):
            self.reconnection_time = int(value)

    def dispatch(self) -> None:
        self.last_event_id_string = self.last_event_id_buffer
        if self.data_buffer == "":
            self.event_type_buffer = ""
            return
        data = self.data_buffer.removesuffix("\n")
        kind = "message" if self.event_type_buffer == "" else self.event_type_buffer
        self.data_buffer = ""
        self.event_type_buffer = ""
        self.frames.append(Frame(kind, data, self.last_event_id_string))


def complete_lines(text: str) -> list[str]:
    """Return the lines that an end (CR LF, LF or CR) closes; what stands after the last end is no line."""
    lines: list[str] = []
    line = ""
    position = 0
    while position < len(text):
        char = text[position]
        if char in "\r\n":
            if text[position : position + 2] == "\r\n":
                position += 1
            lines.append(line)
            line = ""
        else:
            line += char
        position += 1
    return lines
