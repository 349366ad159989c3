"""RE2 patterns of secrets in URLs, connection strings, SQL, command lines and source code.

Unnamed groups match secrets; named groups match their context. RE2 has no lookaround, so the text that must precede or
follow a secret is part of the match.
"""

from headwater.events.redaction_names import FOLLOWED, STAGE, WORD

QUOTED = (
    r"""(?:U&|N|[rbfuE]{1,2})?(?:'((?:[^'\\]|''|\\.|\\\z)*)|"((?:[^"\\]|""|\\.|\\\z)*)"""
    r"""|\\+["']((?:[^"'\\]|\\+[^"'\\])*)|\$\w*\$([^$]*))"""
)
"""A text in quotes of SQL, Python, Scala or embedded JSON. If the quote is not closed, it matches the rest."""

_BARE = r"""[^\s;&"'`<>]"""
_ENCODED = r"""(?:[^\s;&"'`<>%]|%(?:[0145-9a-f][0-9a-f]|2[0-57-9a-f]|3[0-9ac-f]))"""
_CLOSE = r"""\\*["'`]?\]?"""
_NAMED = rf"""(?:(?P<word>{WORD}){STAGE}|(?:{FOLLOWED})[\w.\-]+){_CLOSE}"""
_VALUE_OF_PAIR = r"""\s*,\s*\\*["']value\\*["']\s*:\s*"""

ASSIGNED = rf"""(?P<partition>/[\w.\-]+=[^/\s;&?"'(),]*)|{_NAMED}(?:""" + "|".join(
    [
        rf"""(?:\s*(?:=>|->|<-|={{1,3}}|:=)\s*|{_VALUE_OF_PAIR}){QUOTED}""",
        rf"""\s*:\s*(?:str(?:ing)?\s*=\s*|\[\s*)?{QUOTED}""",
        rf"=\{{([^{{}}][^}}]*)|=({_BARE}+)|%3D({_ENCODED}+)",
        r"""(?:>|</name>\s*(?:<final>[^<]*</final>\s*)?<value>)(?:<!\[CDATA\[)?([^<>\]]+)(?:\]\]>)?</""",
        rf"""\s+value\s*=\s*{QUOTED}""",
    ]
) + ")"  # fmt: skip
"""Matches assignments of a secret that are unambiguous in every text, including names and descriptions."""

SAID = rf"""{_NAMED}(?:""" + "|".join(
    [
        rf"""\s*\(\s*{QUOTED}|\s+{QUOTED}""",
        rf"(?:[ \t]+=[ \t]*|[ \t]*=[ \t]+)({_BARE}+)[ \t]*(?:[;\r\n]|#|\z)",
        r"""[ \t]*:[ \t]*(?:(?:![\w-]+[ \t]*)?[|>][+-]?[ \t]*|![\w-]+[ \t]*)?\r?\n[ \t]+(?:-[ \t]+)?"""
        r"""([^\s"'#-][^\s"']*)""",
        rf"""[ \t]*:[ \t]+(?P<said>)({_BARE}+)[ \t]*(?P<end>[,}}\]\r\n]|\z)?""",
        r"""\s*\n\s*value:\s*["']?([^\s"']+)""",
        r"[ \t]+is:?[ \t]+(\S*\d\S*)",
    ]
) + (
    rf""")|(?:^|[(,])\s*[\w.]*(?:{WORD}){STAGE}{_CLOSE}\s*->\s*([^\s,()]+)"""
    rf"""|(?:^|[;\r\n])[\w.]*(?:{WORD}){STAGE}:([^\s;,"'<>&]+)"""
)  # fmt: skip
"""Matches assignments of a secret in settings, SQL and source code. In a sentence, they may be ordinary words."""

ELEMENT = rf"""<[\w.:-]*(?P<word>{WORD}){STAGE}(?:\s[^<>]*)?>([^<>]+)</"""

_USER_AND = r"""://[^\s/?#@:;,\[\]"'<>\\]*:"""
_HOST_OF = r"""(?:\d+|\d*[^\d/?#;,\s"'<>@:][^\s"'<>/?#]*|\d*:[^\s"'<>/?#]+)"""
URL_PASSWORD = rf"""{_USER_AND}(?:({_HOST_OF})|(\d*[^\d\s:@"'<>/?#;,](?:[^\s:@"'<>]|:+[^\s:@"'<>/])*))@"""
URL_USER = r"""https?://([A-Za-z0-9_~.-]{16,})@"""
URL_ENCODED = r"""%3A%2F%2F[\w.~+-]*%3A((?:[\w.~+*!()-]|%(?:[0145-9a-f][0-9a-f]|2[0-9a-e]|3[0-9b-f]))+)%40"""
ORACLE = r"""jdbc:oracle:\w+:[^/\s"'<>@:]*/([^\s"'<>]+)@"""

WEBHOOK = "|".join(
    [
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]+)",
        r"\.webhook\.office\.com/webhookb2/([\w@/-]+)",
        r"outlook\.office(?:365)?\.com/webhook/([\w@/-]+)",
        r"discord(?:app)?\.com/api/webhooks/\d+/([\w-]+)",
        r"/bot(\d{8,}:[\w-]{30,})",
        r"hooks\.zapier\.com/hooks/catch/([\w/]+)",
        r"events\.pagerduty\.com/integration/(\w+)",
    ]
)

SIGNATURE = r"""(?:^|[^A-Za-z0-9_]|%26|%3F)sig(?:nature)?(?:=|%3D)([^\s&;"'<>,)]{8,})"""
QUERY_KEY = r"""[?&](?:code|auth)=([^\s&#"'<>]{8,})"""

PARTITION = rf"""/[\w.\-]*(?:{WORD}){STAGE}=([^/\s;&?"'(),]{{8,}})"""
"""A partition folder with a secret's name. Most contain no secret."""

_AUTHORIZATION = r"""(?:authorization|x-auth)\\*["']?\s*[:=]\s*\\*["']?"""
AUTHORIZATION = (
    rf"""(?:{_AUTHORIZATION})?digest\s[^\r\n]*?\bresponse\s*=\s*["']?(\w{{8,}})"""
    rf"""|{_AUTHORIZATION}\[?(?:bearer|basic|token|apikey)\s+([^\s"'\\,;]{{4,}})"""
    rf"""|{_AUTHORIZATION}(?P<said>)([^\s"'\\,;]{{4,}})"""
)
BEARER = r"bearer(?:\s|%20|\+)+([\w.~+/=-]{8,})"
BASIC = r"""basic(?:\s|%20)+([A-Za-z0-9+/]{8,}={0,2})|_?auth\\*["']?\s*[=:]\s*\\*["']?([A-Za-z0-9+/]{8,}={0,2})"""
COOKIE = r"""cookie\\*["']?\s*:\s*\\*["']?([\w.-]+=[^\r\n"'\\]+)"""

PEM = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(.*?)(?:-----END|\z)"
    r"|Private-Lines: \d+\s+([\w+/=\s]+?)Private-MAC"
)

JWT = r"(?-i:(eyJ[\w-]*(?:\.[\w-]*)*))"
ENTRA = r"(?-i:([A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}))"
_B64 = "[A-Za-z0-9+/]"
STORAGE_KEY = (
    rf"(?-i:(?:^|[^\w+/-])({_B64}{{86}}==|{_B64}{{33}}(?:AIoT|AzCa|[+]A(?:Sb|Eh|Rm))[A-P]{_B64}{{5}}="
    rf"|[\w-]{{44}}AzFu[\w-]{{6}}==|{_B64}{{42}}(?:AzSe|[+]ACR)[A-D]{_B64}{{5}}))"
)

IDENTIFIED = "|".join(
    [
        rf"identified\s+(?:(?:with|via)\s+\S+\s+)?(?:by|as|using)\s+(?:values\s+|password\s*\(?\s*)?{QUOTED}",
        rf"set\s+password\s+for\s+[^;=]*=\s*(?:password\s*\(\s*)?{QUOTED}",
    ]
)
IDENTIFIED_BARE = (
    r"""\b(?:(?:create|alter)\s[^;]*?\b(?:user|role|link)|grant|set\s+role)\s[^;]*?\bidentified\s+by\s+([^\s;,'"()]+)"""
)
REPLACED = r"""identified\s+by\s+\S+\s+replace\s+["']?([^\s;,'"()]+)"""
CREATED_USER = (
    r"""\b(?:create|alter|modify)\s+(?:user|login|role)\s[^;]*?\bpassword\s*[\s=]\s*([^\s;,'"()=&$]+)(?:[\s;,)]|\z)"""
)

LOGON = "|".join(
    [
        r"""\b(?:sqlplus|connect|rman|expdp|impdp)\s+(?:-\w+\s+)*["']?\w+/([^\s@/;"']+)@""",
        r"\.logon\s+\S+?,([^\s;]+)",
        rf"""connect\s+to\s+\S+\s+user\s+\S+\s+using\s+(?:{QUOTED}|([^\s;'"]+))""",
        r"(?-i:\b(?:localhost|\*|[\w-]+\.[\w.-]+):(?:5432|\*):\w+:\w+:([^\s:]+))(?:\s|\z)",
    ]
)

CALL = (
    r"(?:options?|set|config|put|property|header|setdefault|putenv|setenv)"
    rf"""\(\s*\\*["'](?P<name>[^"'\s\\]+)\\*["']\s*,\s*{QUOTED}"""
)

_WORDS = r"""\\*["'][^"'\\]*\\*["']\s*,\s*"""
ARGUMENT = "|".join(
    [
        rf"""(?:\bauth\s*=\s*|BasicAuth|\.login)\(\s*{_WORDS}{QUOTED}""",
        rf"""getconnection\(\s*{_WORDS}{_WORDS}{QUOTED}""",
        rf"""\bjwt\.(?:en|de)code\(\s*[\w.]+\s*,\s*{QUOTED}""",
        r"\b(?:pgp_sym|aes)_(?:en|de)crypt\([^;()']*,\s*'([^']+)'",
        r"\b(?:mysql|postgresql|remote(?:secure)?|mongodb)\s*"
        r"\(\s*'[^']*'(?:\s*,\s*(?:'[^']*'|[\w.]+)){1,3}\s*,\s*'([^']+)'\s*[,)]",
        r"\bs3(?:cluster)?\(\s*'[^']*'\s*,\s*'[^']*'\s*,\s*'([^'\s]{8,})'",
    ]
)

COMMAND = "|".join(
    [
        rf"""(?:--|(?:^|[\s"'\[,;=])-)(?P<name>[\w.\-]*(?:{WORD}){STAGE})\s+(?:{QUOTED}|([^\s"'-][^\s"']*))""",
        rf"""\bconvertto-securestring\s+(?:-string\s+)?(?:{QUOTED}|([^\s"'$-][^\s"']*))""",
        r"""\s/(?:p|pw|pwd|password|pass):(\S+)""",
        r"""\bcurl\b[^\r\n|;]*?\s(?:-u\s*|--(?:proxy-)?user[ =])["']?[^\s:"']*:([^\s"']+)""",
        r"""\b(?:mysql|mysqldump|mysqladmin|mariadb)\s[^\r\n|;]*?\s-p([^\s"']+)""",
        r"""\b(?:sshpass|(?:docker|podman|az)\s+login|sqlcmd|bcp|beeline|mongo(?:sh|dump|restore)|ldapsearch)\s"""
        r"""(?:[^\r\n|;]*?\s)?-[pw]\s*["']?([^\s"'-][^\s"']*)""",
        r"""\bredis-cli\s(?:[^\r\n|;]*?\s)?-a\s+["']?([^\s"']+)""",
        r"""\becho\s+["']?([^\s"'|]+)["']?\s*\|[^\r\n]*--password-stdin""",
        rf"""\b(?:ENV|ARG|configure\s+set)\s+[\w.]*(?:{WORD}){STAGE}[ \t]+([^\s=]+)""",
        r"""\blogin\s+\S+\s+password\s+(\S+)""",
    ]
)
