"""Where AWS Glue's schema registry is, and how to speak to it."""

from __future__ import annotations

from headwater.core.options import WHERE_SECRETS_ARE, Spec, duration_ms, option, text


class GlueSettings(Spec):
    """Immutable, hashable and picklable, as `RegistrySettings`."""

    registry: str = option(
        "glue.registryName",
        "The registry of AWS Glue in which the schemas for the columns are looked for.",
        default="default-registry",
        parse=text,
    )
    region: str | None = option(
        "glue.region",
        "The region of the registry, such as `eu-west-1`.",
        default=None,
        parse=text,
        shown_default="that of the AWS settings",
    )
    endpoint: str | None = option(
        "glue.endpointUrl",
        "An endpoint of one's own, such as `https://vpce-1.example`.",
        default=None,
        parse=text,
    )
    key_id: str | None = option(
        "glue.accessKeyId",
        "The id of an access key.",
        default=None,
        parse=text,
        shown_default="what boto3 finds: environment, profile, role",
    )
    secret_key: str | None = option(
        "glue.secretAccessKey",
        f"The secret of it. {WHERE_SECRETS_ARE}",
        default=None,
        parse=text,
        is_secret=True,
    )
    token: str | None = option(
        "glue.sessionToken",
        f"A session token. {WHERE_SECRETS_ARE}",
        default=None,
        parse=text,
        is_secret=True,
    )
    ca: str | None = option(
        "glue.tlsCa",
        "The certificates to trust: a PEM file on every host that connects.",
        default=None,
        parse=text,
        shown_default="those of boto3",
    )
    deadline_ms: int = option(
        "glue.deadlineMs",
        "For how long a registry that is away, or does not know a schema yet, is asked again.",
        default=120_000,
        parse=duration_ms,
    )

    def __post_init__(self) -> None:
        if (self.key_id is None) != (self.secret_key is None):
            field, other = ("key_id", "secret_key") if self.secret_key is None else ("secret_key", "key_id")
            raise self.refusal(field, f"requires option {self.OPTIONS[other].name!r}")
        if self.token is not None and self.key_id is None:
            raise self.refusal("token", f"requires option {self.OPTIONS['key_id'].name!r}")


GLUE_OPTIONS = GlueSettings.options()
