#!/usr/bin/env bash
# Runs every check of sloprobe, from any directory. On Debian it first installs what is missing:
# Prometheus with promtool, Alertmanager with amtool, Compose, a reader of YAML, Chromium, a C compiler, systemd's and
# groff's checkers, zsh and fish, and rustfmt and clippy where rustup rules.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step=""
policy=""

finish() {
    local code=$?
    if [[ -n $policy ]]; then as_root rm -f "$policy"; fi
    if ((code != 0)); then echo "tests/run.sh: FAILED${step:+ in: $step} (exit code $code)" >&2; fi
}
trap finish EXIT

die() {
    echo "tests/run.sh: $1" >&2
    exit 1
}

has() { command -v "$1" >/dev/null; }

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        die "cannot run as root: $*
    run that yourself, or start this as root"
    fi
}

# Heads a command with its name and ends it with the time it took.
run_step() {
    step=$1
    shift
    echo "==> $step"
    local start=$SECONDS
    "$@"
    echo "    $((SECONDS - start)) s"
    step=""
}

# Debian starts the services that it installs, unless a policy forbids it.
install_packages() {
    has apt-get || die "missing: $*
    install what these Debian packages hold, then start this again"
    if [[ ! -e /usr/sbin/policy-rc.d ]]; then
        policy=/usr/sbin/policy-rc.d
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
    fi
    as_root apt-get update --quiet=2
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends "$@"
    if [[ -n $policy ]]; then
        as_root rm -f "$policy"
        policy=""
    fi
}

install_components() {
    has rustup || die "missing: $*
    install them beside cargo, then start this again"
    rustup component add "$@"
}

# A shell without a login does not find what rustup installed.
has cargo || PATH="${CARGO_HOME:-${HOME:-/root}/.cargo}/bin:$PATH"
has cargo || die "cargo is missing
    install Rust from https://rustup.rs, then start this again"

packages=()
has prometheus && has promtool || packages+=(prometheus)
has prometheus-alertmanager && has amtool || packages+=(prometheus-alertmanager)
has docker-compose || packages+=(docker-compose)
python3 -c "import yaml" &>/dev/null || packages+=(python3-yaml)
has cc || packages+=(gcc libc6-dev)
has chromium || packages+=(chromium)
# For the unit, the manual pages and the completions: systemd is not started, only asked.
has systemd-analyze || packages+=(systemd)
has groff || packages+=(groff-base)
has zsh || packages+=(zsh)
has fish || packages+=(fish)
if ((${#packages[@]})); then run_step "install ${packages[*]}" install_packages "${packages[@]}"; fi

components=()
cargo fmt --version &>/dev/null || components+=(rustfmt)
cargo clippy --version &>/dev/null || components+=(clippy)
if ((${#components[@]})); then run_step "install ${components[*]}" install_components "${components[@]}"; fi

run_step "cargo fmt" cargo fmt --check
run_step "cargo clippy" cargo clippy --all-targets --locked -- -D warnings
run_step "cargo test" cargo test --locked
run_step "cargo bench --bench releases" cargo bench --locked --bench releases
run_step "cargo doc" env RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked
echo "==> all checks passed in $SECONDS s"
