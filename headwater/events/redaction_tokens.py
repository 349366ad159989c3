"""Tokens that are recognisable by their shape alone, such as the prefix that a service gives its tokens.

Prefixes and lengths come from the services, as collected by gitleaks (config/gitleaks.toml, MIT). Some minimum lengths
are shorter here, to match truncated tokens.
"""

from typing import NamedTuple


class TokenShape(NamedTuple):
    """The shape of a token.

    prefix: pattern of the prefix. characters: character class of the following characters. min_length: minimum number
    of these characters. suffix: pattern of an optional end.

    Matching is case-sensitive.
    """

    service: str
    prefix: str
    characters: str
    min_length: int
    suffix: str = ""


TOKENS = [
    TokenShape("AWS", "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)", "[A-Z0-9]", 16),
    TokenShape("AWS Bedrock", "ABSK", "[A-Za-z0-9+/=]", 60),
    TokenShape("Alibaba", "LTAI", "[A-Za-z0-9]", 16),
    TokenShape("Google", "(?:AIza|ya29[.]|GOCSPX-)", r"[\w-]", 20),
    TokenShape("Google refresh tokens", "1//0", r"[\w-]", 40),
    TokenShape("Databricks", "(?:dapi|dose|dkea|dsapi)", "[0-9a-f]", 28, r"(?:-\d+)?"),
    TokenShape("GitHub", "gh[pousr]_", "[A-Za-z0-9]", 20),
    TokenShape("GitHub", "github_pat_", r"\w", 20),
    TokenShape("GitLab", "gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-", r"[\w.-]", 18),
    TokenShape("GitLab", "GR1348941", r"[\w-]", 20),
    TokenShape("npm", "npm_", "[A-Za-z0-9]", 30),
    TokenShape("PyPI", "pypi-AgE", r"[\w-]", 40),
    TokenShape("RubyGems", "rubygems_", "[0-9a-f]", 40),
    TokenShape("Clojars", "CLOJARS_", "[A-Za-z0-9]", 50),
    TokenShape("Stripe", "(?:sk|rk)_(?:live|test|prod)_", "[A-Za-z0-9]", 10),
    TokenShape("Stripe, Svix", "whsec_", "[A-Za-z0-9+/=]", 20),
    TokenShape("OpenAI, Anthropic, OpenRouter", "sk-(?:proj|svcacct|admin|ant|or|None)-", r"[\w-]", 32),
    TokenShape("OpenAI", "sk-", "[A-Za-z0-9]", 40),
    TokenShape("Perplexity, Groq, xAI", "(?:pplx-|gsk_|xai-)", "[A-Za-z0-9]", 40),
    TokenShape("Hugging Face", "(?:hf_|api_org_)", "[A-Za-z]", 30),
    TokenShape("Replicate", "r8_", "[A-Za-z0-9]", 36),
    TokenShape("SendGrid", r"SG[.]", r"[\w-]", 16, r"[.][\w-]{30,}"),
    TokenShape("Brevo", "xkeysib-", "[0-9a-f]", 60, r"[\w-]*"),
    TokenShape("Mailgun", "key-", "[0-9a-f]", 32),
    TokenShape("Twilio", "(?:SK|AC)", "[0-9a-fA-F]", 32, r"\b"),
    TokenShape("Vault", "hv[sbr][.]", r"[\w-]", 24),
    TokenShape("Terraform Cloud", "atlasv1[.]", r"[\w=-]", 50),
    TokenShape("Slack", "xox[abeoprs][.-]", r"[\w.-]", 8),
    TokenShape("Slack", "xapp-", r"[\w-]", 20),
    TokenShape("Atlassian", "(?:ATATT3|ATCTT3|ATBB)", r"[\w=-]", 24),
    TokenShape("DigitalOcean", "do[opr]_v1_", "[0-9a-f]", 60),
    TokenShape("Heroku", "HRKU-", r"[\w-]", 50),
    TokenShape("Notion", "(?:ntn_|secret_)", "[A-Za-z0-9]", 40),
    TokenShape("Linear", "lin_(?:api|oauth)_", "[A-Za-z0-9]", 32),
    TokenShape("Figma", "figd_", r"[\w-]", 36),
    TokenShape("Postman", "PMAK-", "[0-9a-f]", 24, "-[0-9a-f]{30,}"),
    TokenShape("Pulumi", "pul-", "[0-9a-f]", 40),
    TokenShape("PlanetScale", "pscale_(?:tkn|oauth|pw)_", r"[\w=.-]", 30),
    TokenShape("Shopify", "shp(?:at|ca|pa|ss)_", "[0-9a-fA-F]", 30),
    TokenShape("Square", "(?:sq0[a-z]{3}-|EAAA)", r"[\w-]", 22),
    TokenShape("Sentry", "(?:sntrys_|sntryu_)", r"[\w+/=]", 40),
    TokenShape("Grafana", "(?:glc_|glsa_)", r"[\w+/=]", 30),
    TokenShape("New Relic", "NR(?:AK|II|RA|JS)-", "[A-Za-z0-9]", 20),
    TokenShape("Dynatrace", "dt0[a-z][0-9]{2}[.]", "[A-Za-z0-9]", 20, r"[.][A-Za-z0-9]{40,}"),
    TokenShape("Doppler", r"dp[.](?:pt|st|ct|sa|scim|audit)[.]", r"[\w.-]", 40),
    TokenShape("Typeform", "tfp_", r"[\w.-]", 40),
    TokenShape("Artifactory", "(?:AKCp|cmVmd)", "[A-Za-z0-9]", 50),
    TokenShape("Octopus", "API-", "[A-Z0-9]", 26, r"\b"),
    TokenShape("age", "AGE-SECRET-KEY-1", "[A-Z0-9]", 50),
    TokenShape("Prefect", "pn[ub]_", "[A-Za-z0-9]", 36),
    TokenShape("OpenShift", "sha256~", r"[\w-]", 40),
    TokenShape("1Password", "A3-[A-Z0-9]{6}-", "[A-Z0-9-]", 20),
    TokenShape("1Password", "ops_eyJ", r"[\w+/=-]", 60),
    TokenShape("ClickHouse", "4b1d", "[A-Za-z0-9]", 38, r"\b"),
    TokenShape("EasyPost", "EZ[AT]K", "[A-Za-z0-9]", 50),
    TokenShape("ReadMe", "rdme_", "[a-z0-9]", 60),
    TokenShape("Fly.io", "(?:fo1_|fm[12][ar]?_)", r"[\w+/=-]", 40),
    TokenShape("Docker", "dckr_(?:pat|oat)_", r"[\w-]", 20),
    TokenShape("Cloudflare", r"v1[.]0-[0-9a-f]{24}-", "[0-9a-f]", 100),
    TokenShape("Sourcegraph", "sgp_", r"\w", 40),
    TokenShape("Airtable", "pat[A-Za-z0-9]{14}[.]", "[0-9a-f]", 60),
    TokenShape("Shippo, Duffel", "(?:shippo|duffel)_(?:live|test)_", r"[\w=-]", 36),
    TokenShape("Flutterwave", "FLWSECK(?:_TEST)?-", r"[\w-]", 12),
    TokenShape("Supabase", "(?:supabase_|sbp_)", r"[\w-]", 40),
    TokenShape("Adobe", "p8e-", "[A-Za-z0-9]", 32),
    TokenShape("Frame.io", "fio-u-", r"[\w=-]", 60),
    TokenShape("AWS Bedrock", "bedrock-api-key-", "[A-Za-z0-9+/=]", 28),
    TokenShape("Grafana", "eyJrIjoi", "[A-Za-z0-9]", 60),
    TokenShape("GitLab", "_gitlab_session=", "[0-9a-z]", 32),
    TokenShape("Facebook", "EAA[MC]", "[A-Za-z0-9]", 100),
    TokenShape("Harness", r"[ps]at[.][\w-]{22}[.]", "[A-Za-z0-9]", 24, "[.][A-Za-z0-9]{20}"),
    TokenShape(
        "Authress",
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}[.][a-z0-9]{4,6}[.]acc[_-]",
        "[a-z0-9-]",
        10,
        r"[.][\w+/=-]{30,}",
    ),
    TokenShape("42", "s-s4t2(?:ud|af)-", "[0-9a-f]", 60),
    TokenShape("Scalingo", "tk-us-", r"[\w-]", 40),
    TokenShape("SettleMint", "sm_[aps]at_", "[A-Za-z0-9]", 16),
    TokenShape("JSON web tokens in Base64", "ZXlK", r"[\w+/=-]", 40),
    TokenShape("Infracost", "ico-", "[A-Za-z0-9]", 32, r"\b"),
]

SHAPES = "|".join(f"(?-i:{token.prefix}{token.characters}{{{token.min_length},}}{token.suffix})" for token in TOKENS)

HINTS = "|".join(f"(?-i:{token.prefix}{token.characters}{{{min(8, token.min_length)}}})" for token in TOKENS)
"""Matches every text in which `SHAPES` may match: a prefix and eight characters."""
