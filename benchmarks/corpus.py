"""What the agents of the benchmarks say: Markdown in three scripts, in pieces as a model would stream them.

All of it is our own writing and the same on every run: a seed gives the same words on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

_PARAGRAPHS: Final = """\
The pool is drained before the **health check** fails, so the deploy is rolled back and nobody knows why;
`p95` says nothing about that, because the slow requests never end.

Ada is right that the tail matters, but a *cold cache* is what hurts people. Let us measure it once and only
then decide: the [numbers](https://example.org/numbers) are cheap, a wrong guess is not. 🙂

Each session costs 2 kB, which is nothing beside the pages that it saves us from rendering again. I would
rather ~~guess~~ count: 40,000 sessions are 80 MB, and that fits into the smallest machine.

两位的分歧其实在一个问题上:会话丢了,谁受罪?如果只是重新登录一次,**缓存**就够了;
如果购物车也没了,就必须写进数据库。先看 `session_lost` 的曲线,再谈架构。

Я бы не спешил: пока **пул соединений** не исчерпан, задержка почти не растёт, а потом растёт сразу втрое.
Это видно на графике за вторник — и именно тогда сработал `health_check`. 🚦

So the short answer is yes, and the long one has three parts: the driver, the pool and the clock. None of them
is wrong alone; together they wait for each other 👩🏽‍💻 until somebody loses patience."""
_LISTS: Final = """\
- every request misses,
- the pool is drained,
  - and stays so,
  - until the timeout
- it is *rolled back*, see `deploy.log`
- 检查连接池,然后重试

1. Stop the traffic to **one** machine
2. Empty its cache and wait for `ready`
3. Let the traffic in again, slowly
4. Сравнить задержку до и после

- [x] count the sessions
- [x] find the slow query
- [ ] add the index
- [ ] tell the others 📣"""
_CODE: Final = """\
```python
async def load(sid: str, *, timeout: float = 2.0) -> Session:
    row = await store.get(sid, timeout=timeout)
    if row is None:  # dropped, or never there
        raise Gone(f"session {sid!r}")
    return Session(**row, seen=time.time())
```

```sql
SELECT user_id, count(*) AS sessions
FROM session
WHERE seen > now() - interval '1 hour'
GROUP BY user_id
HAVING count(*) > 3 -- more than one browser
ORDER BY sessions DESC;
```

```json
{
  "store": "redis",
  "ttl": 3600,
  "fallback": {"store": "postgresql", "retries": 2}
}
```

```bash
# how many sessions does each machine hold?
for host in a b c; do
  echo "$host: $(redis-cli -h "$host" dbsize)"
done | sort -k2 -n
```

```diff
-    pool = Pool(size=10)
+    pool = Pool(size=40, wait=0.5)
     pool.open()
```"""
_TABLES: Final = """\
| store | p95 | lost on kill |
|---|--:|---|
| Redis | 0.4 ms | one second of data |
| PostgreSQL | 1.9 ms | nothing |
| 内存 | 0.1 ms | **everything** |

| when | who | what |
|:--|:-:|:--|
| 09:12 | Ada | first alarm |
| 09:14 | Борис | откат |
| 09:20 | Cyd | `ready` again |"""
_QUOTES: Final = """\
> A cache that nobody may empty is a database.
> 没有备份的缓存更糟。

> We rolled it back twice.
> > And what did you learn?
>
> That the *second* time is quicker."""
HEADINGS: Final = ("## Findings", "### What we know", "## 结论", "### Что дальше", "#### One more thing")
PARAGRAPHS: Final = tuple(text.replace("\n", " ") for text in _PARAGRAPHS.split("\n\n"))
LISTS, CODE, TABLES, QUOTES = (tuple(kind.split("\n\n")) for kind in (_LISTS, _CODE, _TABLES, _QUOTES))
KINDS: Final = (PARAGRAPHS, LISTS, CODE, TABLES, QUOTES)
SHARES: Final = (42, 20, 20, 10, 8)  # of the kinds, in a hundred blocks
# About what a tokeniser makes of it: three characters each.
TOKEN: Final = re.compile(
    r"[\u4e00-\u9fff]{1,2}| ?[A-Za-z]{1,7}| ?[А-Яа-яё]{1,4}| ?\d{1,3}|\n+ *|[ \t]+|[^\w\s]{1,3}|.", re.DOTALL
)


def document(rng: random.Random, blocks: int = 7) -> str:
    """Return a heading, a paragraph and so many more blocks of Markdown, an empty line behind each."""
    parts = [rng.choice(HEADINGS), rng.choice(PARAGRAPHS)]
    parts += [rng.choice(kind) for kind in rng.choices(KINDS, SHARES, k=blocks)]
    return "".join(f"{part}\n\n" for part in parts)


def tokens(seed: int) -> Iterator[str]:
    """Yield the words of one speaker without end, made as they are asked for."""
    rng = random.Random(seed)
    while True:
        yield from TOKEN.findall(document(rng))


def words(seed: int, count: int) -> list[str]:
    """Return the first ``count`` words of a speaker."""
    return list(islice(tokens(seed), count))


def texts(count: int, seed: int = 1) -> list[str]:
    """Return so many whole messages of about a thousand characters."""
    rng = random.Random(seed)
    return [document(rng, blocks=rng.randint(2, 9)).rstrip("\n") for _ in range(count)]
