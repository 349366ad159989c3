#!/bin/bash
# Starts a Headwater with an empty lake, runs every scenario against it, stops it, and ends as the validator does.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scenarios="$here/../../scenarios"
target="headwater-report.json"
release=""

while [[ "$#" -gt 0 ]]; do
    case $1 in
        --scenario-dir) scenarios="$2"; shift 2 ;;
        --target) target="$2"; shift 2 ;;
        --release) release="$2"; shift 2 ;;
        *) echo "Usage: $0 [--scenario-dir PATH] [--target FILE] [--release TAG]"; exit 2 ;;
    esac
done

data="$(mktemp -d)"
mkfifo "$data/said"
headwater up --data "$data/lake" --port 0 > "$data/said" &
server=$!
trap 'kill "$server" 2> /dev/null; wait "$server" 2> /dev/null || true; rm -rf "$data"' EXIT
exec 3< "$data/said"
url=""
while [[ -z "$url" ]] && read -r -u 3 line; do
    if [[ "$line" =~ listens\ on\ (http://[^ ]+) ]]; then url="${BASH_REMATCH[1]}"; fi
done
[[ -n "$url" ]] || { echo "Headwater did not start; what it said is above."; exit 3; }

python3 "$here/validator/validator.py" --url "$url" --consumer_dir "$here" --scenario_dir "$scenarios" \
    --release "$release" --target "$target"
