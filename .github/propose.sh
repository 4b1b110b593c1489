#!/usr/bin/env bash
# Puts changed files of data on a branch and opens a pull request for it, or renews the one that is open.
#   propose.sh BRANCH TITLE BODY_FILE PATH...     needs GH_TOKEN; prints the pull request's address, or nothing
# What it is given may come from a stranger's form: everything is quoted, and only data/prices/<id>.csv and
# data/measurements/memory.csv are taken. GitHub lets a workflow open pull requests only where the repository's settings
# allow it (Settings → Actions → General → Workflow permissions).
set -euo pipefail
branch=$1 title=$2 body=$3
shift 3
label=price
for path in "$@"; do
  case $path in
    data/measurements/memory.csv) label=measurement ;;
    *) [[ $path =~ ^data/prices/[a-z0-9.-]+\.csv$ ]] || { echo "not a file that a robot may change: $path" >&2; exit 1; } ;;
  esac
done
git add --all -- "$@"
if git diff --cached --quiet; then
  exit 0
fi
git switch --quiet --create "$branch"
git -c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' \
  commit --quiet --message "$title" ${CO_AUTHOR:+--message "Co-authored-by: $CO_AUTHOR"}
git push --quiet --force "https://x-access-token:$GH_TOKEN@${GITHUB_SERVER_URL#https://}/$GITHUB_REPOSITORY" "$branch"
url=$(gh pr list --head "$branch" --state open --json url --jq '.[0].url // empty')
if [ -n "$url" ]; then
  gh pr edit "$url" --title "$title" --body-file "$body" > /dev/null
else
  gh label create "$label" > /dev/null 2>&1 || true # there already
  url=$(gh pr create --head "$branch" --title "$title" --body-file "$body" --label "$label")
fi
echo "$url"
