"""checkov's findings for the chart's objects. Each is fixed or listed here with a reason."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.infra.test_helm import ALL, SMALL
from tools.helm import render
from tools.policy import Report, lint

pytestmark = pytest.mark.slow

ACCEPTED = {
    "CKV_K8S_21": "the release's to say: `helm install --namespace`",
    "CKV_K8S_43": "the release's to say: `image.tag` takes `0.2.0@sha256:…`",
    "CKV_K8S_15": "a version's tag is never moved; `image.pullPolicy` says otherwise",
    "CKV_K8S_11": "a limit of CPU throttles a parser that catches up; memory has one",
    "CKV_K8S_35": "settings are variables, and Headwater does not say them in its logs",
    "CKV2_K8S_6": "where producers and stores are only the cluster's owner knows",
}
BROKEN = "apiVersion: v1\nkind: Pod\nmetadata: {name: broken\n"
CARELESS = """
apiVersion: v1
kind: Pod
metadata: {name: careless, namespace: lineage}
spec:
  hostNetwork: true
  containers:
    - name: one
      image: headwater:0.2.0
      securityContext: {privileged: true, runAsUser: 0}
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Report]:
    """Lint the smallest release, one that uses every value, and an insecure pod next to a broken one."""
    folders = [tmp_path_factory.mktemp(name) for name in ("small", "all", "bad")]
    for folder, texts in zip(folders[:2], render([SMALL, ALL]), strict=True):
        for name, text in texts.items():
            if name.endswith(".yaml") and text.strip():
                (folder / Path(name).name).write_text(text)
    (folders[2] / "careless.yaml").write_text(CARELESS)
    (folders[2] / "broken.yaml").write_text(BROKEN)
    return lint("kubernetes", folders)


def test_every_object_is_parsed_and_every_check_can_judge(reports: Sequence[Report]) -> None:
    for report in reports[:2]:
        assert (report.unparsed, report.crashed) == ([], [])
        assert len(report.passed) >= 200
    assert reports[0].parsed == ["api.yaml", "parser.yaml", "receiver.yaml", "serviceaccount.yaml"]
    assert set(reports[1].parsed) - set(reports[0].parsed) == {"ingress.yaml", "podmonitor.yaml"}


def test_every_finding_is_mended_or_has_its_reason(reports: Sequence[Report]) -> None:
    for report in reports[:2]:
        assert {check for check, *_ in report.failed} == ACCEPTED.keys()


def test_the_linter_notices_what_is_careless(reports: Sequence[Report]) -> None:
    """The pod is privileged, runs as root on the host's network, without limits, probes or a read-only file system."""
    assert {check for check, *_ in reports[2].failed} >= {
        "CKV_K8S_16", "CKV_K8S_19", "CKV_K8S_13", "CKV_K8S_8", "CKV_K8S_9", "CKV_K8S_22", "CKV_K8S_38", "CKV_K8S_40",
    }  # fmt: skip
    assert "broken.yaml" not in reports[2].parsed
