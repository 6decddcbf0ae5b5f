#!/usr/bin/env bash
# Fuzzes one target for a while: run.sh TARGET [SECONDS]. Nice to the rest of the machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target=${1:?a target: sse, ndjson or dialect}
seconds=${2:-300}

# Each seed is a byte that chooses (a cut, a dialect), then a body: whole, or one event or line of it.
mkdir -p "corpus/$target" "seeds/$target"
python3 - "$target" <<'PYTHON'
import glob, json, sys
target = sys.argv[1]
for index, path in enumerate(sorted(glob.glob("../wire/*.json"))):
    recorded = json.load(open(path))
    body = "".join(read[1]["utf8"] for read in recorded["reads"]).split("\r\n\r\n", 1)[-1]
    lines = [line[6:].strip() for line in body.splitlines() if line.startswith("data: ")]
    texts = {"sse": [body[:4000]], "ndjson": ["\n".join(lines)[:4000]], "dialect": lines[:2] + lines[-4:] or [body]}
    for number, text in enumerate(texts[target]):
        for choice in range(16) if target == "dialect" else [index]:
            with open(f"seeds/{target}/{index}-{number}-{choice}", "wb") as seed:
                seed.write(bytes([choice]) + text.encode())
PYTHON

# All is safe Rust: without the address sanitizer it runs several times as often.
exec nice -n 10 cargo +nightly fuzz run --fuzz-dir . --sanitizer none "$target" "corpus/$target" "seeds/$target" \
    -- -max_total_time="$seconds" -max_len=4096 -timeout=5 -rss_limit_mb=512 -print_final_stats=1
