"""Tokens that are recognisable by their shape alone, such as a prefix of the service.

Prefixes and lengths come from the services, as collected by gitleaks (config/gitleaks.toml, MIT). Some minimum lengths
are shorter here, to match truncated tokens.
"""

from typing import NamedTuple


class Token(NamedTuple):
    """The shape of a token: a prefix, a character class with a minimum count, and an optional end.

    Matching is case-sensitive.
    """

    service: str
    begin: str
    of: str
    least: int
    end: str = ""


TOKENS = [
    Token("AWS", "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)", "[A-Z0-9]", 16),
    Token("AWS Bedrock", "ABSK", "[A-Za-z0-9+/=]", 60),
    Token("Alibaba", "LTAI", "[A-Za-z0-9]", 16),
    Token("Google", "(?:AIza|ya29[.]|GOCSPX-)", r"[\w-]", 20),
    Token("Google refresh tokens", "1//0", r"[\w-]", 40),
    Token("Databricks", "(?:dapi|dose|dkea|dsapi)", "[0-9a-f]", 28, r"(?:-\d+)?"),
    Token("GitHub", "gh[pousr]_", "[A-Za-z0-9]", 20),
    Token("GitHub", "github_pat_", r"\w", 20),
    Token("GitLab", "gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-", r"[\w.-]", 18),
    Token("GitLab", "GR1348941", r"[\w-]", 20),
    Token("npm", "npm_", "[A-Za-z0-9]", 30),
    Token("PyPI", "pypi-AgE", r"[\w-]", 40),
    Token("RubyGems", "rubygems_", "[0-9a-f]", 40),
    Token("Clojars", "CLOJARS_", "[A-Za-z0-9]", 50),
    Token("Stripe", "(?:sk|rk)_(?:live|test|prod)_", "[A-Za-z0-9]", 10),
    Token("Stripe, Svix", "whsec_", "[A-Za-z0-9+/=]", 20),
    Token("OpenAI, Anthropic, OpenRouter", "sk-(?:proj|svcacct|admin|ant|or|None)-", r"[\w-]", 32),
    Token("OpenAI", "sk-", "[A-Za-z0-9]", 40),
    Token("Perplexity, Groq, xAI", "(?:pplx-|gsk_|xai-)", "[A-Za-z0-9]", 40),
    Token("Hugging Face", "(?:hf_|api_org_)", "[A-Za-z]", 30),
    Token("Replicate", "r8_", "[A-Za-z0-9]", 36),
    Token("SendGrid", r"SG[.]", r"[\w-]", 16, r"[.][\w-]{30,}"),
    Token("Brevo", "xkeysib-", "[0-9a-f]", 60, r"[\w-]*"),
    Token("Mailgun", "key-", "[0-9a-f]", 32),
    Token("Twilio", "(?:SK|AC)", "[0-9a-fA-F]", 32, r"\b"),
    Token("Vault", "hv[sbr][.]", r"[\w-]", 24),
    Token("Terraform Cloud", "atlasv1[.]", r"[\w=-]", 50),
    Token("Slack", "xox[abeoprs][.-]", r"[\w.-]", 8),
    Token("Slack", "xapp-", r"[\w-]", 20),
    Token("Atlassian", "(?:ATATT3|ATCTT3|ATBB)", r"[\w=-]", 24),
    Token("DigitalOcean", "do[opr]_v1_", "[0-9a-f]", 60),
    Token("Heroku", "HRKU-", r"[\w-]", 50),
    Token("Notion", "(?:ntn_|secret_)", "[A-Za-z0-9]", 40),
    Token("Linear", "lin_(?:api|oauth)_", "[A-Za-z0-9]", 32),
    Token("Figma", "figd_", r"[\w-]", 36),
    Token("Postman", "PMAK-", "[0-9a-f]", 24, "-[0-9a-f]{30,}"),
    Token("Pulumi", "pul-", "[0-9a-f]", 40),
    Token("PlanetScale", "pscale_(?:tkn|oauth|pw)_", r"[\w=.-]", 30),
    Token("Shopify", "shp(?:at|ca|pa|ss)_", "[0-9a-fA-F]", 30),
    Token("Square", "(?:sq0[a-z]{3}-|EAAA)", r"[\w-]", 22),
    Token("Sentry", "(?:sntrys_|sntryu_)", r"[\w+/=]", 40),
    Token("Grafana", "(?:glc_|glsa_)", r"[\w+/=]", 30),
    Token("New Relic", "NR(?:AK|II|RA|JS)-", "[A-Za-z0-9]", 20),
    Token("Dynatrace", "dt0[a-z][0-9]{2}[.]", "[A-Za-z0-9]", 20, r"[.][A-Za-z0-9]{40,}"),
    Token("Doppler", r"dp[.](?:pt|st|ct|sa|scim|audit)[.]", r"[\w.-]", 40),
    Token("Typeform", "tfp_", r"[\w.-]", 40),
    Token("Artifactory", "(?:AKCp|cmVmd)", "[A-Za-z0-9]", 50),
    Token("Octopus", "API-", "[A-Z0-9]", 26, r"\b"),
    Token("age", "AGE-SECRET-KEY-1", "[A-Z0-9]", 50),
    Token("Prefect", "pn[ub]_", "[A-Za-z0-9]", 36),
    Token("OpenShift", "sha256~", r"[\w-]", 40),
    Token("1Password", "A3-[A-Z0-9]{6}-", "[A-Z0-9-]", 20),
    Token("1Password", "ops_eyJ", r"[\w+/=-]", 60),
    Token("ClickHouse", "4b1d", "[A-Za-z0-9]", 38, r"\b"),
    Token("EasyPost", "EZ[AT]K", "[A-Za-z0-9]", 50),
    Token("ReadMe", "rdme_", "[a-z0-9]", 60),
    Token("Fly.io", "(?:fo1_|fm[12][ar]?_)", r"[\w+/=-]", 40),
    Token("Docker", "dckr_(?:pat|oat)_", r"[\w-]", 20),
    Token("Cloudflare", r"v1[.]0-[0-9a-f]{24}-", "[0-9a-f]", 100),
    Token("Sourcegraph", "sgp_", r"\w", 40),
    Token("Airtable", "pat[A-Za-z0-9]{14}[.]", "[0-9a-f]", 60),
    Token("Shippo, Duffel", "(?:shippo|duffel)_(?:live|test)_", r"[\w=-]", 36),
    Token("Flutterwave", "FLWSECK(?:_TEST)?-", r"[\w-]", 12),
    Token("Supabase", "(?:supabase_|sbp_)", r"[\w-]", 40),
    Token("Adobe", "p8e-", "[A-Za-z0-9]", 32),
    Token("Frame.io", "fio-u-", r"[\w=-]", 60),
    Token("AWS Bedrock", "bedrock-api-key-", "[A-Za-z0-9+/=]", 28),
    Token("Grafana", "eyJrIjoi", "[A-Za-z0-9]", 60),
    Token("GitLab", "_gitlab_session=", "[0-9a-z]", 32),
    Token("Facebook", "EAA[MC]", "[A-Za-z0-9]", 100),
    Token("Harness", r"[ps]at[.][\w-]{22}[.]", "[A-Za-z0-9]", 24, "[.][A-Za-z0-9]{20}"),
    Token(
        "Authress",
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}[.][a-z0-9]{4,6}[.]acc[_-]",
        "[a-z0-9-]",
        10,
        r"[.][\w+/=-]{30,}",
    ),
    Token("42", "s-s4t2(?:ud|af)-", "[0-9a-f]", 60),
    Token("Scalingo", "tk-us-", r"[\w-]", 40),
    Token("SettleMint", "sm_[aps]at_", "[A-Za-z0-9]", 16),
    Token("JSON web tokens in Base64", "ZXlK", r"[\w+/=-]", 40),
    Token("Infracost", "ico-", "[A-Za-z0-9]", 32, r"\b"),
]

SHAPES = "|".join(f"(?-i:{token.begin}{token.of}{{{token.least},}}{token.end})" for token in TOKENS)

HINTS = "|".join(f"(?-i:{token.begin}{token.of}{{{min(8, token.least)}}})" for token in TOKENS)
"""Matches every text in which `SHAPES` may match: a prefix and eight characters."""
