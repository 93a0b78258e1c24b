"""Words that say nothing about what a task is about, by language; and where Chinese text may be cut."""

from __future__ import annotations

import re

_ENGLISH = """
a about above after again all also am an and any are as ask at be because been before being best better
between both but by can choose compare could decide describe did discuss do does doing done down each either
else every few find first for from get give go good had has have having he help her here him his how i if
in into is it its just keep know let like list live made make many may me might more most much must my need
new next no nor not now of off on once one only or other our out over own pick please plan put really same say
see she should show so some such suggest take talk tell than that the their them then there these they thing
things think this those three through to too try two under until up us use using very want was way we well
were what when where whether which while who whom whose why will with without work would write yes yet you
your explain design create build improve rewrite draft name cut reduce increase ask choose move start stop
half double less lot bit kind way ways
prepare organise plan something anything nothing somebody anybody everybody
"""
_RUSSIAN = """
а без бы быть в вам вас весь во вот все всё вы где да для до его ее её если есть еще ещё же за и из или им их
к как какая какие какой какую ко когда кто ли лучше между меня мне много может можно мой мы на над надо нам
нас наш наша наши не него нет ни них но ну нужно о об обсудите один одна он она они оно от очень по под
после почему при про с сам свой сделать себя сейчас со стоит так также такой там те тебя тем то того тоже той
только том ты у уже хорошо чего чем через что чтобы это этого этой этом этот эту я ли напиши напишите написать
предложи предложите составь составьте опиши опишите выбери выбрать выбирать сравни сравните расскажи объясни
должен должна должно должны следует хочу хотим пусть зачем сколько куда откуда каким какими план
"""

STOP_WORDS = {"en": frozenset(_ENGLISH.split()), "ru": frozenset(_RUSSIAN.split())}

# Infinitives and adjectives, by their endings: quoted bare they read badly. «память» and «сеть» may go too.
RUSSIAN_VERB_OR_ADJECTIVE = re.compile(r"..(?:[аяиеоу]ть|ться|ый|ая|ое|ые|ым|ых|ыми|ого|ому|ую)$")

# Chinese has no spaces: cut at the words that carry grammar, not matter. The looks around keep words whole
# that only contain such a character (会话, 用户, 现在, 在线, 要求, 对话, 做法, 写作, 目的).
CHINESE_BREAKS = re.compile(
    "我们的?|你们|他们|大家|自己|应该|应当|如何|怎么样?|怎样|为什么|为何|什么|哪一?[个些种]"
    "|是否|要不要|该不该|能不能|可不可以"
    "|还是|或者|以及|或|和|与|及|因为|所以|如果|但是|可以|需要|必须|已经|正在|进行|讨论一?下?|比较一?下?|分析一?下?"
    "|一[个份下些封篇次种项]|这[个些种]?|那[个些种]?|关于|对于|之间|更好|最好|比较好|好不好|放在|写在"
    "|请|帮我?|给|把|被|让|(?<!目)的|了|吗|呢|吧|(?<![现存正])在(?!线)|是|不|很|最|更|从|到|向|于|有没有|没有|有"
    "|会(?![话议员计场])|用(?![户途例法])|要(?![求点素])|对(?![话象手比])|做(?!法)|写(?!作)|想|去|选择?|该"
    "|[^\u3400-\u4dbf\u4e00-\u9fffA-Za-z0-9+#.]"
)
