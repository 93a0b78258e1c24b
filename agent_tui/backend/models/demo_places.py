"""Places whose time the demo model can ask for, by their names in three languages."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A place and its IANA zone; ``names`` are what it is called in English, Chinese and Russian."""

    zone: str
    names: tuple[str, str, str]


# zone | English names | Chinese names | Russian name | beginnings of its Russian forms
_TABLE = """
Asia/Tokyo|Tokyo,Japan|东京,日本|Токио|токио,япони
Asia/Shanghai|Beijing,Peking,China|北京,中国|Пекин|пекин,китай,китае,китая
Asia/Shanghai|Shanghai|上海|Шанхай|шанха
Asia/Hong_Kong|Hong Kong|香港|Гонконг|гонконг
Asia/Taipei|Taipei|台北|Тайбэй|тайбэ
Asia/Singapore|Singapore|新加坡|Сингапур|сингапур
Asia/Seoul|Seoul,Korea|首尔,韩国|Сеул|сеул
Asia/Bangkok|Bangkok,Thailand|曼谷,泰国|Бангкок|бангкок
Asia/Kolkata|Delhi,New Delhi,India|新德里,德里,印度|Дели|дели$,индии$,индия$
Asia/Kolkata|Mumbai|孟买|Мумбаи|мумбаи
Asia/Dubai|Dubai|迪拜|Дубай|дубай,дубае,дубая
Asia/Novosibirsk|Novosibirsk|新西伯利亚|Новосибирск|новосибирск
Asia/Yekaterinburg|Yekaterinburg|叶卡捷琳堡|Екатеринбург|екатеринбург
Asia/Vladivostok|Vladivostok|海参崴,符拉迪沃斯托克|Владивосток|владивосток
Europe/Moscow|Moscow|莫斯科|Москва|москв
Europe/Moscow|Saint Petersburg,St. Petersburg|圣彼得堡|Санкт-Петербург|санкт-петербург,петербург
Europe/Istanbul|Istanbul,Turkey|伊斯坦布尔|Стамбул|стамбул
Europe/Kyiv|Kyiv,Kiev|基辅|Киев|киев
Europe/London|London,England|伦敦,英国|Лондон|лондон
Europe/Berlin|Berlin,Germany|柏林,德国|Берлин|берлин,германи
Europe/Paris|Paris,France|巴黎,法国|Париж|париж,франци
Europe/Madrid|Madrid,Spain|马德里,西班牙|Мадрид|мадрид
Europe/Rome|Rome,Italy|罗马,意大利|Рим|рим$,рима$,риме$,риму$,итали
Europe/Vienna|Vienna,Austria|维也纳,奥地利|Вена|вена$,вене$,вены$,вену$
Europe/Zurich|Zurich,Zürich,Switzerland|苏黎世,瑞士|Цюрих|цюрих
Europe/Amsterdam|Amsterdam|阿姆斯特丹|Амстердам|амстердам
Europe/Warsaw|Warsaw,Poland|华沙,波兰|Варшава|варшав
Africa/Cairo|Cairo,Egypt|开罗,埃及|Каир|каир
Africa/Lagos|Lagos|拉各斯|Лагос|лагос
Africa/Nairobi|Nairobi|内罗毕|Найроби|найроби
Africa/Johannesburg|Johannesburg|约翰内斯堡|Йоханнесбург|йоханнесбург
America/New_York|New York,NYC,Boston|纽约|Нью-Йорк|нью-йорк
America/Chicago|Chicago|芝加哥|Чикаго|чикаго
America/Denver|Denver|丹佛|Денвер|денвер
America/Los_Angeles|Los Angeles|洛杉矶|Лос-Анджелес|лос-анджелес
America/Los_Angeles|San Francisco|旧金山|Сан-Франциско|сан-франциско
America/Toronto|Toronto|多伦多|Торонто|торонто
America/Mexico_City|Mexico City|墨西哥城|Мехико|мехико
America/Sao_Paulo|São Paulo,Sao Paulo|圣保罗|Сан-Паулу|сан-паулу
America/Argentina/Buenos_Aires|Buenos Aires|布宜诺斯艾利斯|Буэнос-Айрес|буэнос-айрес
Australia/Sydney|Sydney|悉尼|Сидней|сидней,сиднее,сиднея
Australia/Melbourne|Melbourne|墨尔本|Мельбурн|мельбурн
Pacific/Auckland|Auckland,New Zealand|奥克兰,新西兰|Окленд|окленд
Pacific/Honolulu|Honolulu,Hawaii|檀香山,火奴鲁鲁,夏威夷|Гонолулу|гонолулу
UTC|UTC,GMT|UTC,世界时|UTC|utc
"""
_ZONE = re.compile(
    r"\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Za-z_/+-]+"
)


def _row(line: str) -> tuple[Place, tuple[str, ...]]:
    zone, english, chinese, russian, forms = line.split("|")
    place = Place(zone, (english.split(",")[0], chinese.split(",")[0], russian))
    whole = [f"{name.lower()}$" for name in english.split(",")]
    return place, (*whole, *chinese.split(","), *forms.split(","))


# Each with its forms in lower case; one with a $ is a whole word, Chinese ones stand anywhere.
_PLACES = tuple(_row(line) for line in _TABLE.split("\n") if line)


def places_in(text: str) -> list[tuple[int, Place]]:
    """Return the places that ``text`` names, and where; a zone may be named as such."""
    found = [(zone.start(), Place(zone[0], (zone[0],) * 3)) for zone in _ZONE.finditer(text)]
    rest = _ZONE.sub(lambda zone: " " * len(zone[0]), text).lower()
    for place, forms in _PLACES:
        at = min((at for form in forms if (at := _found(form, rest)) >= 0), default=-1)
        if at >= 0:
            found.append((at, place))
    return sorted(found, key=lambda one: one[0])


def _found(form: str, text: str) -> int:
    """Return where the form of a name stands in ``text``, -1 for nowhere."""
    name = form.removesuffix("$")
    at = text.find(name)
    while at >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        begins = name[0] >= "\u2e80" or not _is_letter(text[at - 1 : at])
        if begins and (name == form or not _is_letter(after)):
            return at
        at = text.find(name, at + 1)
    return -1


def _is_letter(char: str) -> bool:
    """Return whether a word of letters goes on with ``char``; Chinese ones stand beside others' words."""
    return char.isalpha() and char < "\u2e80"


def place_of(zone: str, mentioned: str) -> Place | None:
    """Return the place of that zone: the one that ``mentioned`` names, if there are several."""
    return next((place for _, place in places_in(mentioned) if place.zone == zone), None)
