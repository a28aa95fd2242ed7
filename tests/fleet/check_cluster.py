"""Checks the launch files of scripts/cluster without a cluster: shell syntax, the fields of the
Kubernetes objects by the published API (batch/v1, core/v1), references between them, and a dry run of
the Slurm script with a stand-in for srun. Usage: check_cluster.py SOURCE_DIR BREAKEVEN
Exit 77 (skipped) when PyYAML is missing."""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("PyYAML is not installed (package python3-yaml)")
    sys.exit(77)

SOURCE, BREAKEVEN = pathlib.Path(sys.argv[1]), sys.argv[2]
CLUSTER = SOURCE / "scripts/cluster"

# Fields of the parts of the API that are used here, from the Kubernetes API reference (v1.32).
# A value that is a dict of fields is an object, [x] a list of x, a tuple of types a scalar.
TEXT, COUNT = (str,), (int,)
LABELS = {None: TEXT}
QUANTITIES = {None: (str, int)}
META = {"name": TEXT, "labels": LABELS, "annotations": LABELS, "namespace": TEXT}
RESOURCES = {"requests": QUANTITIES, "limits": QUANTITIES}
ENV = {"name": TEXT, "value": TEXT,
       "valueFrom": {"fieldRef": {"fieldPath": TEXT, "apiVersion": TEXT}}}
CONTAINER = {"name": TEXT, "image": TEXT, "imagePullPolicy": TEXT, "command": [TEXT], "args": [TEXT],
             "env": [ENV], "resources": RESOURCES, "workingDir": TEXT,
             "volumeMounts": [{"name": TEXT, "mountPath": TEXT, "readOnly": (bool,), "subPath": TEXT}]}
VOLUME = {"name": TEXT, "persistentVolumeClaim": {"claimName": TEXT, "readOnly": (bool,)},
          "hostPath": {"path": TEXT, "type": TEXT}, "emptyDir": {"medium": TEXT, "sizeLimit": TEXT}}
SELECTOR = {"matchLabels": LABELS}
AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"topologyKey": TEXT, "labelSelector": SELECTOR, "namespaces": [TEXT]}]}}
POD = {"restartPolicy": TEXT, "nodeSelector": LABELS, "affinity": AFFINITY, "containers": [CONTAINER],
       "initContainers": [CONTAINER], "volumes": [VOLUME], "serviceAccountName": TEXT,
       "tolerations": [{"key": TEXT, "operator": TEXT, "effect": TEXT, "value": TEXT}]}
JOB = {"apiVersion": TEXT, "kind": TEXT, "metadata": META,
       "spec": {"completionMode": TEXT, "completions": COUNT, "parallelism": COUNT, "backoffLimit": COUNT,
                "backoffLimitPerIndex": COUNT, "activeDeadlineSeconds": COUNT,
                "ttlSecondsAfterFinished": COUNT, "template": {"metadata": META, "spec": POD}}}
CLAIM = {"apiVersion": TEXT, "kind": TEXT, "metadata": META,
         "spec": {"accessModes": [TEXT], "resources": RESOURCES, "storageClassName": TEXT}}


def check(value, fields, path):
    if isinstance(fields, tuple):
        assert type(value) in fields, f"{path}: {value!r} must be {fields}"
    elif isinstance(fields, list):
        assert isinstance(value, list) and value, f"{path} must be a list"
        for index, item in enumerate(value):
            check(item, fields[0], f"{path}[{index}]")
    else:
        assert isinstance(value, dict), f"{path} must be an object"
        for key, item in value.items():
            assert None in fields or key in fields, f"{path}.{key} is not a field of the API"
            check(item, fields.get(key, fields.get(None)), f"{path}.{key}")


def check_job(job, claims):
    check(job, JOB, job["metadata"]["name"])
    assert job["apiVersion"] == "batch/v1"
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] in ("Never", "OnFailure")  # what Jobs allow
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", job["metadata"]["name"])
    if spec.get("completionMode") == "Indexed":
        assert spec["completions"] == spec["parallelism"] > 0  # all nodes at once
        rules = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert rules[0]["topologyKey"] == "kubernetes.io/hostname"
        labels = spec["template"]["metadata"]["labels"]
        assert rules[0]["labelSelector"]["matchLabels"].items() <= labels.items()  # repels its own kind
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    for volume in volumes.values():
        assert len(volume) == 2, "a volume has one source"
        if "persistentVolumeClaim" in volume:
            assert volume["persistentVolumeClaim"]["claimName"] in claims
    for container in pod["containers"]:
        for mount in container.get("volumeMounts", []):
            assert mount["name"] in volumes, mount
        for quantities in container["resources"].values():
            for quantity in quantities.values():
                assert re.fullmatch(r"\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?", str(quantity)), quantity
        assert container["command"] == ["/bin/sh", "-c"]
        script = container["args"][0]
        subprocess.run(["sh", "-n", "-c", script], check=True)
        known = {variable["name"] for variable in container.get("env", [])}
        for name in re.findall(r"\$\{?([A-Z_]+)", script):
            assert name in known, f"{name} is not set"


def check_kubernetes():
    documents = list(yaml.safe_load_all((CLUSTER / "kubernetes.yaml").read_text()))
    claims = {d["metadata"]["name"] for d in documents if d["kind"] == "PersistentVolumeClaim"}
    jobs = {d["metadata"]["name"]: d for d in documents if d["kind"] == "Job"}
    assert len(claims) == 1 and len(jobs) == 2 and len(documents) == 3
    for document in documents:
        if document["kind"] == "PersistentVolumeClaim":
            check(document, CLAIM, document["metadata"]["name"])
            assert document["apiVersion"] == "v1"
            assert set(document["spec"]["accessModes"]) == {"ReadWriteMany"}
        else:
            check_job(document, claims)
    fleet = jobs["breakeven-fleet"]["spec"]["template"]["spec"]["containers"][0]
    nodes = {variable["name"]: variable.get("value") for variable in fleet["env"]}["NODES"]
    assert int(nodes) == jobs["breakeven-calibrate"]["spec"]["completions"]
    return jobs


def verb_accepts(arguments):
    """The tool knows every option that the launch files use."""
    known = subprocess.run([BREAKEVEN, arguments[0], "--help"], capture_output=True, text=True).stdout
    for argument in arguments[1:]:
        if argument.startswith("-"):
            assert re.search(rf"(^|[\s,]){re.escape(argument)}\b", known), f"{arguments[0]} has no {argument}"


def check_options():
    for name in ("slurm.sbatch", "kubernetes.yaml"):
        text = (CLUSTER / name).read_text().replace("\\\n", " ")
        calls = [line for line in text.split("\n") if re.search(r"\b(calibrate|fleet) .*-", line)
                 and re.search(r"breakeven|BREAKEVEN", line) and not line.lstrip().startswith("#")]
        assert len(calls) >= 3, calls
        for call in calls:
            words = re.search(r"\b(calibrate|fleet) (.*)", call)
            verb_accepts([words.group(1)] + re.findall(r"(?:^| )(--?[a-z][a-z-]*)(?= |$)", words.group(2)))


def executable(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def dry_run(folder, failing):
    """The Slurm script on three pretended nodes; calibrate copies a file that predict made."""
    folder.mkdir()
    made = subprocess.run([BREAKEVEN, "predict", "--model", "llama-3.1-8b", "--node", "h100-sxm", "--tier",
                           "memory=50GB/s", "-o", str(folder / "one.json")], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    executable(folder / "srun", '#!/bin/bash\nstatus=0\nwhile [[ $1 == --* ]]; do shift; done\n'
               'for n in a b c; do SLURMD_NODENAME=node-$n "$@" || status=$?; done\nexit $status\n')
    executable(folder / "stand-in", f'''#!/bin/bash
if [[ $1 != calibrate ]]; then exec '{BREAKEVEN}' "$@"; fi
echo "$@" >>'{folder}/calls'
[[ "${{!#}}" == *node-{failing}.json ]] && exit 4
cp '{folder}/one.json' "${{!#}}"
''')
    environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", BREAKEVEN=str(folder / "stand-in"),
                       RESULTS=str(folder / "results"), TIERS="memory file:/mnt/kv", MODEL="llama-3.1-8b")
    return subprocess.run(["bash", str(CLUSTER / "slurm.sbatch")], env=environment, capture_output=True, text=True)


def check_slurm():
    script = CLUSTER / "slurm.sbatch"
    subprocess.run(["bash", "-n", str(script)], check=True)
    text = script.read_text()
    directives = re.findall(r"^#SBATCH (.*)$", text, re.M)
    assert "--ntasks-per-node=1" in directives and "--exclusive" in directives
    # sbatch reads directives up to the first command only.
    assert text.rindex("#SBATCH") < text.index("set -euo")
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "--shell=bash", str(script)], check=True)
    with tempfile.TemporaryDirectory() as temporary:
        good = dry_run(pathlib.Path(temporary) / "good", "none")
        assert good.returncode == 0, good.stderr
        results = pathlib.Path(temporary) / "good/results"
        assert "3 nodes" in good.stdout
        assert json.loads((results / "fleet.json").read_text())["nodes"] == 3
        assert json.loads((results / "pool.json").read_text())["status"] == "predicted"
        calls = (pathlib.Path(temporary) / "good/calls").read_text()
        assert "--tier memory --tier file:/mnt/kv" in calls
        bad = dry_run(pathlib.Path(temporary) / "bad", "b")
        assert bad.returncode == 4, bad.returncode
        assert "2 nodes" in bad.stdout and "could not calibrate" in bad.stderr


def check_scripts_of_jobs(jobs):
    if not shutil.which("shellcheck"):
        return
    for job in jobs.values():
        for container in job["spec"]["template"]["spec"]["containers"]:
            subprocess.run(["shellcheck", "--shell=sh", "-"], input=container["args"][0], text=True, check=True)


check_slurm()
check_scripts_of_jobs(check_kubernetes())
check_options()
print("launch files are sound")
