#!/usr/bin/env bash
# Runs every check of sloprobe, from any directory. On Debian it first installs what is missing:
# Prometheus with promtool, Alertmanager with amtool, Compose, Chromium, a C compiler, systemd's and
# groff's checkers, zsh and fish, and rustfmt and clippy where rustup rules; and into target/tools what Debian lacks: helm,
# kustomize, the schemas of Kubernetes, and Prometheus 3 with its promtool, as prometheus3 and promtool3.
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

# Built from source, without optimizing: they run for seconds, and are built sooner. What was downloaded and
# compiled on the way is large, and goes.
install_from_go() {
    local scratch=$tools/go
    local go=(env GOPATH="$scratch" GOCACHE="$scratch/build" GOBIN="$tools/bin" GOFLAGS=-modcacherw CGO_ENABLED=0 go)
    local package
    for package in "$@"; do "${go[@]}" install -ldflags="-s -w" -gcflags="all=-N -l" "$package"; done
    rm -rf "$scratch"
}

# Prometheus 3 needs a newer Go than Debian has. That is a module, too, and any Go can download it: but modules hold neither
# executable files nor a go.mod below their root. `go install` refuses the module of Prometheus, whose go.mod replaces
# others; so it is built where it was unpacked. Without ways to discover what to scrape, it is built in half the time; it is
# optimized, as the tests let it work for minutes.
install_prometheus3() {
    local scratch=$tools/go module=github.com/prometheus/prometheus@v0.315.0 file
    local toolchain
    toolchain=golang.org/toolchain@v0.0.1-go1.26.8.linux-$(go env GOARCH)
    local settings=(-u GOROOT GOPATH="$scratch" GOCACHE="$scratch/build" GOWORK=off GOTOOLCHAIN=local GOFLAGS=-modcacherw CGO_ENABLED=0)
    env "${settings[@]}" go mod download "$toolchain"
    local home=$scratch/pkg/mod/$toolchain
    find "$home" -name _go.mod | while read -r file; do mv "$file" "${file%_go.mod}go.mod"; done
    chmod +x "$home"/bin/* "$home"/pkg/tool/*/*
    local go=(env "${settings[@]}" "$home/bin/go")
    "${go[@]}" mod download "$module"
    "${go[@]}" -C "$scratch/pkg/mod/$module" build -tags=remove_all_sd -ldflags="-s -w" -o "$scratch/bin/" ./cmd/prometheus ./cmd/promtool
    mkdir -p "$tools/bin"
    mv "$scratch/bin/prometheus" "$tools/bin/prometheus3"
    mv "$scratch/bin/promtool" "$tools/bin/promtool3"
    rm -rf "$scratch"
}

# The CRDs of the Prometheus operator; its module is small, and need not be compiled.
install_crds() {
    local scratch=$tools/go module=github.com/prometheus-operator/prometheus-operator@v0.68.0
    env GOPATH="$scratch" GOFLAGS=-modcacherw go mod download "$module"
    mkdir -p "$tools/crds"
    cp "$scratch/pkg/mod/$module"/example/prometheus-operator-crd/*_{podmonitors,prometheusrules,servicemonitors}.yaml "$tools/crds/"
    rm -rf "$scratch"
}

# The schemas of Kubernetes 1.25 and later come with the first; the second reads YAML.
install_schemas() {
    python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0 PyYAML
}

# A shell without a login does not find what rustup installed.
has cargo || PATH="${CARGO_HOME:-${HOME:-/root}/.cargo}/bin:$PATH"
has cargo || die "cargo is missing
    install Rust from https://rustup.rs, then start this again"

tools=$PWD/target/tools
PATH="$tools/bin:$PATH"
from_go=()
has helm || from_go+=(helm.sh/helm/v3/cmd/helm@v3.12.3)
has kustomize || from_go+=(sigs.k8s.io/kustomize/kustomize/v5@v5.0.3)
has_prometheus3() { has prometheus3 && has promtool3; }
has_crds() { [[ -e $tools/crds/monitoring.coreos.com_servicemonitors.yaml ]]; }
has_schemas() { "$tools/venv/bin/python" -c "import kubernetes_validate, yaml" &>/dev/null; }

packages=()
has prometheus && has promtool || packages+=(prometheus)
has prometheus-alertmanager && has amtool || packages+=(prometheus-alertmanager)
has docker-compose || packages+=(docker-compose)
has cc || packages+=(gcc libc6-dev)
has chromium || packages+=(chromium)
# For the unit, the manual pages and the completions: systemd is not started, only asked.
has systemd-analyze || packages+=(systemd)
has groff || packages+=(groff-base)
has zsh || packages+=(zsh)
has fish || packages+=(fish)
has go || { ((${#from_go[@]} == 0)) && has_prometheus3 && has_crds; } || packages+=(golang-go)
has_schemas || python3 -c "import ensurepip" &>/dev/null || packages+=(python3-venv)
if ((${#packages[@]})); then run_step "install ${packages[*]}" install_packages "${packages[@]}"; fi

if ((${#from_go[@]})); then run_step "install ${from_go[*]}" install_from_go "${from_go[@]}"; fi
has_prometheus3 || run_step "install Prometheus 3" install_prometheus3
has_crds || run_step "install CRDs of the Prometheus operator" install_crds
has_schemas || run_step "install schemas of Kubernetes" install_schemas

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
