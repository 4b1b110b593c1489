#!/usr/bin/env bash
# Labels a pull request by the paths it changes and puts the data report of its checks into one comment.
#   report.sh     needs GH_TOKEN, GH_REPO, RUN (the id of the checks), HEAD_SHA, HEAD_OWNER, HEAD_BRANCH
# It runs on main's own copy with a token that may write; nothing of the pull request is executed. The report was written
# by a run of the stranger's code, so it is text: cut to what a comment holds, without mentions, after a line of ours.
# Which pull request it is does not come from the report: GitHub is asked for the one whose head is the commit checked.
set -euo pipefail
[[ $HEAD_SHA =~ ^[0-9a-f]{40}$ && $RUN =~ ^[0-9]+$ ]]

number=$(gh api --method GET "repos/$GH_REPO/pulls" -f state=open -f "head=$HEAD_OWNER:$HEAD_BRANCH" |
  python3 -c 'import json, sys
print(next((one["number"] for one in json.load(sys.stdin) if one["head"]["sha"] == sys.argv[1]), ""))' "$HEAD_SHA")
if [ -z "$number" ]; then
  exit 0 # closed since, or pushed again: the newer run tells
fi

labels=$(gh api --paginate "repos/$GH_REPO/pulls/$number/files" --jq '.[].filename' | while IFS= read -r path; do
  case $path in
    data/prices/* | data/past_prices.csv) echo price ;;
    data/providers.toml) echo provider ;;
    data/gpus.csv | data/gpu_aliases.csv) echo gpu ;;
    data/models*) echo model ;;
    data/measurements/*) echo measurement ;;
    data/*) echo data ;;
    calculator/ajuste/*) echo estimator ;;
    docs/*) echo guide ;;
    calculator/* | .github/* | .ci/* | Makefile) echo code ;;
  esac
done | sort -u | paste -sd, -)
if [ -n "$labels" ]; then
  for label in ${labels//,/ }; do gh label create "$label" 2> /dev/null || true; done
  gh pr edit "$number" --add-label "$labels" > /dev/null
fi

folder=$(mktemp -d)
if ! gh run download "$RUN" --name data-report --dir "$folder" 2> /dev/null; then
  exit 0 # no data in it
fi
{
  echo "<!-- ajuste: data report -->"
  head -c 60000 "$folder/report.md" | { iconv -f utf-8 -t utf-8 -c || true; } | sed $'s/@/@\u2060/g; s/<!--//g'
} > "$folder/comment.md"
gh pr comment "$number" --edit-last --create-if-none --body-file "$folder/comment.md"
