"""What our agent itself says in the course of a session, by language."""

from __future__ import annotations

import re
from typing import Final

from agent_tui.voice_instructions import Language

APOLOGY: Final[dict[Language, str]] = {
    "en": "Sorry, I cannot answer right now. The screen says why.",
    "ru": "Извините, сейчас я не могу ответить. Причина на экране.",
    "zh": "抱歉，我现在无法回答。原因见屏幕。",
}
TOO_LONG_WORDS: Final[dict[Language, str]] = {
    "en": "Sorry, this conversation is too long for the model.",
    "ru": "Извините, этот разговор слишком длинный для модели.",
    "zh": "抱歉，这段对话对模型来说太长了。",
}
RAN_OUT_WORDS: Final[dict[Language, str]] = {
    "en": "I have to stop here. Say go on, and I will.",
    "ru": "Здесь мне приходится остановиться. Скажите «дальше», и я продолжу.",
    "zh": "我只能先说到这里。说“继续”，我就接着说。",
}
# And the call, to the end of the line.
APPROVAL_WORDS: Final[dict[Language, str]] = {
    "en": "That needs your approval on the screen: ",
    "ru": "Для этого нужно ваше разрешение на экране: ",
    "zh": "这需要您在屏幕上批准：",
}
KEY_WORDS: Final[dict[Language, str]] = {
    "en": "A yes is not enough here: press the key on your screen.\n",
    "ru": "Одного «да» здесь мало: нажмите клавишу, которую показывает экран.\n",
    "zh": "只说“是”还不够：请按屏幕上提示的键。\n",
}
OWNER_WORDS: Final[dict[Language, str]] = {
    "en": "Only the owner of this program can answer that.\n",
    "ru": "На это может ответить только владелец этой программы.\n",
    "zh": "这只能由此程序的所有者回答。\n",
}
FILE_TAKEN: Final[dict[Language, str]] = {
    "en": "I have the file. What do you want to know?",
    "ru": "Файл получен. Что вы хотите узнать?",
    "zh": "文件收到了。您想知道什么？",
}
FILE_TOO_LARGE: Final[dict[Language, str]] = {
    "en": "That file is too large for me.",
    "ru": "Этот файл для меня слишком велик.",
    "zh": "这个文件对我来说太大了。",
}
FILE_NO_TEXT: Final[dict[Language, str]] = {
    "en": "I can only read text files.",
    "ru": "Я могу читать только текстовые файлы.",
    "zh": "我只能读文本文件。",
}
# About the recording, and the other voice.
MAY_I_RECORD: Final[dict[Language, str]] = {
    "en": "Do you agree that I record your voice and mine? Please say yes or no.",
    "ru": "Вы согласны, чтобы я записывал ваш голос и свой? Скажите, пожалуйста, да или нет.",
    "zh": "您同意我录下您和我的声音吗？请说“是”或“不”。",
}
YES_OR_NO: Final[dict[Language, str]] = {
    "en": "Please say yes or no.",
    "ru": "Скажите, пожалуйста, да или нет.",
    "zh": "请说“是”或“不”。",
}
OWNER_RECORDS: Final[dict[Language, str]] = {
    "en": "Only the owner of this program can have it recorded.",
    "ru": "Запись может включить только владелец этой программы.",
    "zh": "只有此程序的所有者才能要求录音。",
}
RECORDS_ALREADY: Final[dict[Language, str]] = {
    "en": "I am recording already.",
    "ru": "Запись уже идёт.",
    "zh": "已经在录音了。",
}
RECORDS_NOTHING: Final[dict[Language, str]] = {
    "en": "Then I record nothing.",
    "ru": "Тогда я ничего не записываю.",
    "zh": "那我就不录音。",
}
RECORDS_NOW: Final[dict[Language, str]] = {
    "en": "I am recording now.",
    "ru": "Запись включена.",
    "zh": "录音开始了。",
}
NO_SOUND: Final[dict[Language, str]] = {
    "en": "There is no sound here to record.",
    "ru": "Здесь нет звука, записывать нечего.",
    "zh": "这里没有声音可录。",
}
RECORDED: Final[dict[Language, str]] = {
    "en": "I have stopped. The file is {name}.",
    "ru": "Запись остановлена. Файл: {name}.",
    "zh": "录音已停止。文件是 {name}。",
}
NOT_RECORDING: Final[dict[Language, str]] = {
    "en": "Nothing is being recorded.",
    "ru": "Запись не идёт.",
    "zh": "现在没有在录音。",
}
ONE_VOICE: Final[dict[Language, str]] = {
    "en": "There is only one voice on this machine.",
    "ru": "На этом компьютере только один голос.",
    "zh": "这台电脑上只有一种声音。",
}
OTHER_VOICE: Final[dict[Language, str]] = {
    "en": "Here I am. This is my other voice.",
    "ru": "Вот и я. Это мой другой голос.",
    "zh": "我来了。这是我的另一个声音。",
}

# Our words between a model's.
OUR_WORDS: Final = re.compile(
    "|".join(
        [
            *(rf"{re.escape(words)}[^\n]*\n?" for words in APPROVAL_WORDS.values()),
            *(re.escape(words) for of in (KEY_WORDS, OWNER_WORDS, RAN_OUT_WORDS) for words in of.values()),
        ]
    )
)
