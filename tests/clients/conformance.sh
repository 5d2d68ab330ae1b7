#!/usr/bin/env bash
# The MCP conformance suite, both requirement sets, against a running server.
#
#   with_server.sh --anonymous-owner BINARY conformance.sh fixtures|general
#
# fixtures: every scenario that the suite has for a server must pass, scored or not (docs/conformance.md).
# general:  every scenario that any server must pass without fixtures.
# The suite sends no token, so the server takes its anonymous caller for the owner.
set -euo pipefail

mode=$1
here=$(cd "$(dirname "$0")" && pwd)
suite=$TOOLS/node_modules/@modelcontextprotocol/conformance
results=$(mktemp -d "${TMPDIR:-/tmp}/notewell-conformance.XXXXXX")
trap 'rm -rf "$results"' EXIT

failed=0
for revision in 2025-11-25 2026-07-28; do
    status=0
    timeout -k 10 300 "$NODE" "$suite/dist/index.js" server --url "$SERVER_URL/_system/mcp" \
        --requirements "$revision" --output-dir "$results/$revision" \
        >"$results/$revision.log" 2>&1 || status=$?
    # Scenarios that no requirements file names run one by one.
    if [ "$revision" = 2026-07-28 ]; then
        for scenario in sep-2640-skills-enumeration sep-2640-skills-manifest sep-2640-skills-directory; do
            timeout -k 10 60 "$NODE" "$suite/dist/index.js" server --url "$SERVER_URL/_system/mcp" \
                --scenario "$scenario" --spec-version "$revision" --force --output-dir "$results/$revision" \
                >>"$results/$revision.log" 2>&1 || true
        done
    fi
    "$NODE" "$here/conformance_report.mjs" "$mode" "$revision" \
        "$suite/requirements/$revision.yaml" "$results/$revision" || failed=1
    # With fixtures the suite's own verdict counts as well.
    if [ "$mode" = fixtures ] && [ "$status" -ne 0 ]; then
        echo "fail $revision: the suite ended with status $status"
        tail -n 80 "$results/$revision.log"
        failed=1
    fi
done
exit "$failed"
