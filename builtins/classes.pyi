class Decision:
    """What deny, ask, approve, respond, modify and abort return."""

class Fragment:
    """What fragment(...) returns."""

    content: str
    source: str
    target: str
    priority: int
    title: str

class Attachment:
    """What attachment(...) returns."""

    content: Bytes
    url: str
    type: str
    name: str
    width: int
    height: int

class Result:
    """What result(...) returns."""

    for_llm: str
    for_user: str
    silent: bool
    is_error: bool
    attachments: list[Attachment]
    handled: bool

class Template:
    """What template(...) returns."""

    prompt: str
    system: str
    model: str
    fragments: list[str]
    system_fragments: list[str]
    attachments: list[Attachment]
    tools: list[str]
    options: dict[str, Any]
    defaults: dict[str, str]

class Secret:
    """What ctx.secret(...) returns: a text that can be sent and not be read."""

    def __add__(self, other: str | Secret) -> Secret: ...
    def __radd__(self, other: str) -> Secret: ...

class Response:
    """What a request of ctx.http gives."""

    status: int
    headers: dict[str, str]
    text: str
    body: Bytes
    def json(self) -> Any: ...

class Call(Mapping[str, Any]):
    """A tool call in words that fit every agent: a dict that cannot be changed."""

    kind: str
    kinds: list[str]
    agent: str | None
    command: str | None
    cwd: str | None
    paths: list[str] | None
    content: str | None
    url: str | None
    query: str | None
    server: str | None
    tool: str | None
    prompt: str | None

class Message(Mapping[str, Any]):
    """A message of the conversation: a dict that cannot be changed."""

    role: str
    content: str
    tool_calls: list[dict[str, Any]]
    tool_call_id: str
    name: str
    is_error: bool
    attachments: list[Attachment]
    def replace(self, *, role: str = ..., content: str = ..., attachments: list[Attachment] = ...) -> Message: ...
    def __or__(self, other: Mapping[str, Any]) -> Message: ...

class Messages(Sequence[Message]):
    """The conversation: a list that cannot be changed."""

    roles: list[str]
    contents: list[str]
    def last(self, role: str | None = None) -> Message | None: ...
    def __add__(self, other: Sequence[Mapping[str, Any]]) -> list[Any]: ...

class Tool(Mapping[str, Any]):
    """A tool on offer: a dict that cannot be changed."""

    name: str
    description: str
    parameters: dict[str, Any]
    plugin: str

class Tools(Sequence[Tool]):
    """The tools on offer: a list that cannot be changed."""

    names: list[str]
    def __add__(self, other: Sequence[Mapping[str, Any]]) -> list[Any]: ...

class FragmentRow(Mapping[str, Any]):
    """A fragment of a request, as reports show it: a dict that cannot be changed."""

    id: str
    content: str
    source: str
    plugin: str
    target: str
    priority: int
    title: str
    status: str
    reason: str
    offset: int
    length: int
    provenance: list[dict[str, str]]

class FragmentRows(Sequence[FragmentRow]):
    """The fragments of a request: a list that cannot be changed."""

    ids: list[str]
    contents: list[str]
    sources: list[str]
    def __add__(self, other: Sequence[Mapping[str, Any]]) -> list[Any]: ...

class Match:
    """A match of re.search and its kin."""

    def end(self, group: int | str = 0) -> int: ...
    def group(self, group: int | str = 0) -> str | Any: ...
    def groupdict(self, default: Any = None) -> dict[str, Any]: ...
    def groups(self, default: Any = None) -> tuple[Any, ...]: ...
    def span(self, group: int | str = 0) -> tuple[int, int]: ...
    def start(self, group: int | str = 0) -> int: ...

class Time:
    """What time.parse_time and its kin return."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    unix: int
    unix_nano: int
    weekday: str
    isoweekday: int
    isoweek: int
    isoyear: int
    yearday: int
    date: str
    def format(self, x: str) -> str: ...
    def in_location(self, location: str) -> Time: ...
    def __add__(self, other: Duration) -> Time: ...
    def __radd__(self, other: Duration) -> Time: ...
    def __sub__(self, other: Time | Duration) -> Any: ...
    def __lt__(self, other: Time) -> bool: ...
    def __le__(self, other: Time) -> bool: ...
    def __gt__(self, other: Time) -> bool: ...
    def __ge__(self, other: Time) -> bool: ...

class Tagged:
    """What yaml.tagged returns."""

    tag: str
    value: Any

class Duration:
    """What time.parse_duration returns, and the difference of two times."""

    hours: float
    minutes: float
    seconds: float
    milliseconds: int
    microseconds: int
    nanoseconds: int
    def __add__(self, other: Duration) -> Duration: ...
    def __sub__(self, other: Duration) -> Duration: ...
    def __mul__(self, other: int) -> Duration: ...
    def __rmul__(self, other: int) -> Duration: ...
    def __truediv__(self, other: Duration | float) -> Any: ...
    def __floordiv__(self, other: Duration) -> int: ...
    def __lt__(self, other: Duration) -> bool: ...
    def __le__(self, other: Duration) -> bool: ...
    def __gt__(self, other: Duration) -> bool: ...
    def __ge__(self, other: Duration) -> bool: ...
