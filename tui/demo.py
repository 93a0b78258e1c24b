"""The room that a first start opens, so that there is something to see."""

from __future__ import annotations

from dataclasses import dataclass

from agent_tui.config.file import DEMO_PROVIDER
from tui.language import short_language


@dataclass(frozen=True, slots=True)
class DemoAgent:
    """One agent of the demo room; ``color`` is ``#rrggbb``."""

    name: str
    color: str
    system_prompt: str


@dataclass(frozen=True, slots=True)
class DemoRoom:
    """The fields of the demo room, named as in ``POST /api/rooms``."""

    name: str
    task: str
    agents: tuple[DemoAgent, ...]
    execution_mode: str = "parallel"
    max_rounds: int = 3
    synthesis: bool = True

    def agent_fields(self) -> list[dict[str, str]]:
        """Return the agents as ``POST /api/rooms`` takes them; they cost nothing, whatever is configured."""
        return [
            {
                "name": agent.name,
                "color": agent.color,
                "system_prompt": agent.system_prompt,
                "provider_id": DEMO_PROVIDER,
            }
            for agent in self.agents
        ]


_BLUE, _AMBER, _GREEN = "#5b9df5", "#e0a030", "#3fb98a"

_ENGLISH = DemoRoom(
    "Redis or PostgreSQL?",
    "Should we keep user sessions in Redis or in PostgreSQL? We have one small team, two application "
    "servers and a deploy every day. Decide, and say what would change your mind.",
    (
        DemoAgent(
            "Mika",
            _AMBER,
            "You are a critic. You look for the case that everybody skipped, ask for evidence, and say "
            "plainly which argument does not hold.",
        ),
        DemoAgent(
            "Ada",
            _BLUE,
            "You are an engineer. You compare concrete designs, name their costs in operation, and show "
            "small pieces of code where they make a point clearer.",
        ),
        DemoAgent(
            "Noor",
            _GREEN,
            "You are a writer. You put what the others said into words that everybody understands, and "
            "work towards one decision that fits on half a page.",
        ),
    ),
)

_CHINESE = DemoRoom(
    "会话放 Redis 还是 PostgreSQL？",
    "用户会话应该放在 Redis 还是 PostgreSQL？我们只有一个小团队、两台应用服务器，每天发布一次。"
    "请做出决定，并说明什么情况会让你们改变主意。",
    (
        DemoAgent("米卡", _AMBER, "你是评论者。你专找大家忽略的情况，要求证据，并直说哪条论据站不住脚。"),
        DemoAgent("阿达", _BLUE, "你是工程师。你比较具体的设计，说清楚运维代价，需要时用一小段代码说明。"),
        DemoAgent("老王", _GREEN, "你是写作者。你把大家的意见写成人人能懂的话，推动形成半页纸的决定。"),
    ),
)

_RUSSIAN = DemoRoom(
    "Redis или PostgreSQL?",
    "Где хранить пользовательские сессии: в Redis или в PostgreSQL? У нас небольшая команда, два сервера "
    "приложений и выкладка каждый день. Примите решение и скажите, что могло бы его изменить.",
    (
        DemoAgent(
            "Мика",
            _AMBER,
            "Ты критик. Ты ищешь случай, который все пропустили, просишь доказательств и прямо говоришь, "
            "какой довод не выдерживает проверки.",
        ),
        DemoAgent(
            "Ада",
            _BLUE,
            "Ты инженер. Ты сравниваешь конкретные решения, называешь цену их эксплуатации и показываешь "
            "короткий код там, где он проясняет мысль.",
        ),
        DemoAgent(
            "Нора",
            _GREEN,
            "Ты автор текстов. Ты пересказываешь сказанное понятными словами и ведёшь к одному решению, "
            "которое помещается на половине страницы.",
        ),
    ),
)

_BY_LANGUAGE = {"zh": _CHINESE, "ru": _RUSSIAN}


def demo_room() -> DemoRoom:
    """Return the demo room in the language of the screens."""
    return _BY_LANGUAGE.get(short_language(), _ENGLISH)
