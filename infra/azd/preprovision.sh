#!/bin/sh
# azd keeps its environment as a plain file (.azure/NAME/.env). Keys belong into the shell that runs azd, for one command, and then into the vault.
set -eu
file=".azure/${AZURE_ENV_NAME:?azd names its environment}/.env"
names='RECEIVER_KEYS|PIPELINE_KEYS|NOTEBOOK_WRITE_KEY|NOTEBOOK_READ_KEY'
found=$(grep -Eos "^($names)=" "$file" | tr -d =)
if [ -n "$found" ]; then
  echo "Keys lie in $file, in clear: $(echo $found). Remove these lines, replace the keys if others can read the file, and export them: export RECEIVER_KEYS=…" >&2
  exit 1
fi
for name in RECEIVER_KEYS PIPELINE_KEYS; do
  if [ -z "$(printenv "$name" || true)" ]; then
    echo "$name is not set: export $name=… in this shell (docs/azure.md, Deploying)" >&2
    exit 1
  fi
  case "$(printenv "$name")" in
    "["*) ;;
    *)
      echo "$name is no JSON list: export $name='[{\"name\": \"spark\", \"key\": \"at-least-8-characters\", \"roles\": [\"write\"]}]'" >&2
      exit 1
      ;;
  esac
done
