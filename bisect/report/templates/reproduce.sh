#!/bin/sh
# Builds and measures again what the answer of a bisection rests on, from a clean clone. See --help.
{% if not cases %}
# shellcheck disable=SC2317
{% endif %}
set -eu

default_repository={{ repository | sh }}
work=''
tolerance=''

usage() {
    cat <<'END'
Usage: reproduce.sh [--directory DIR] [--tolerance POINTS] [REPOSITORY]

Clones REPOSITORY, builds the commits that the answer rests on with the recipes of this bundle, measures them as they
were measured, and prints the recorded step beside the one found now.

  REPOSITORY           path or URL of a clone; else $REPOSITORY, else what was bisected
  --directory DIR      work in DIR, which must not be there yet [default: a new one in the current directory]
  --tolerance POINTS   how many percentage points the step may differ [default: stated with each case]

Environment: BISECT names the program `bisect` of cpubisect where it is not on the PATH; CCACHE_DIR names a compiler
cache to use [default: an empty one].

Exit codes: 0 reproduced, 1 not reproduced, 2 it could not be tried (one line says why).
END
}

fail() {
    printf 'reproduce.sh: %s\n' "$1" >&2
    exit 2
}

repository=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --directory | --tolerance)
        [ $# -ge 2 ] || fail "$1 needs a value: see --help"
        if [ "$1" = --directory ]; then work=$2; else tolerance=$2; fi
        shift 2
        ;;
    -*) fail "there is no option $1: see --help" ;;
    *)
        [ -z "$repository" ] || fail 'more than one repository was named: see --help'
        repository=$1
        shift
        ;;
    esac
done
repository=${repository:-${REPOSITORY:-$default_repository}}
case $tolerance in
*[!0-9.]* | .) fail "--tolerance is a number of percentage points, not $tolerance" ;;
esac

cases={{ cases | length }}
[ "$cases" -gt 0 ] || fail 'nothing was measured that could be measured again: see report.txt'

bisect=${BISECT:-bisect}
command -v git >/dev/null || fail 'git is missing: install it first'
command -v "$bisect" >/dev/null ||
    fail "there is no program $bisect: install cpubisect as its README says, or set BISECT=/path/to/bisect"

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ -n "$work" ]; then
    mkdir -- "$work" || fail "cannot make the directory $work: name one that is not there yet"
else
    work=$(mktemp -d ./cpubisect-again.XXXXXX) || fail 'cannot make a directory here: name one with --directory'
fi
work=$(CDPATH='' cd -- "$work" && pwd)
export CPUBISECT_HOME="$work/home"

printf 'cloning %s\n' "$repository" >&2
git clone --quiet --no-checkout -- "$repository" "$work/clone" ||
    fail "cannot clone $repository: name a clone that you have as the argument"

# Prints the percentage, and the interval's ends, of one metric of the ends in a report; nothing if they are not in it.
ends_of() {
    awk -v metric="$1" '
        /^ *"kind": "unbuildable"/ { exit }
        /^ *"ends": \{\}/ { print "0 0 0"; exit }
        /^ *"ends": \{/ { inside = 1; next }
        inside && index($0, "\"" metric "\": {") { here = 1; next }
        here && /"(percent|low|high)":/ {
            name = $1; gsub(/[":]/, "", name)
            value = $2; sub(/,$/, "", value)
            found[name] = value
        }
        here && /\}/ { print found["percent"], found["low"], found["high"]; exit }
    ' "$2"
}

different=0
number=0

# measure TITLE BEFORE AFTER METRIC PERCENT LOW HIGH TOLERANCE OPTION...
measure() {
    title=$1 before=$2 after=$3 metric=$4 percent=$5 low=$6 high=$7 allowed=${tolerance:-$8}
    shift 8
    number=$((number + 1))
    for commit in "$before" "$after"; do
        git -C "$work/clone" cat-file -e "$commit^{commit}" 2>/dev/null ||
            git -C "$work/clone" fetch --quiet origin "$commit" 2>/dev/null ||
            fail "commit $commit is not in $repository: name a clone that has it as the argument"
    done
    if [ -f "$here/matrix/compiler-matrix.yaml" ]; then
        set -- --matrix "$here/matrix/compiler-matrix.yaml" "$@"
    fi
    "$bisect" start "$before" "$after" --repo "$work/clone" --json "$@" >"$work/case-$number.json" ||
        fail "bisect could not measure it (see above; \`$bisect doctor\` tells what this host lacks)"
    again=$(ends_of "$metric" "$work/case-$number.json")
    if [ -z "$again" ]; then
        printf '%s\n  not reproduced: it could not be measured here\n' "$title"
        sed -n '/^ *"summary": /{s//  /p;q;}' "$work/case-$number.json"
        different=1
        return
    fi
    awk -v title="$title" -v metric="$metric" -v percent="$percent" -v low="$low" -v high="$high" \
        -v again="$again" -v allowed="$allowed" '
        function line(name, step, low, high) {
            interval = low == "null" || high == "null" ? "not bounded" : sprintf("[%+.2f, %+.2f] %%", low, high)
            printf "  %-12s %+10.2f %%   %s\n", name, step, interval
        }
        BEGIN {
            split(again, now, " ")
            difference = now[1] - percent
            if (difference < 0) difference = -difference
            print title
            printf "  %-12s %12s   %s\n", metric, "step", "99 % interval"
            line("recorded", percent, low, high)
            line("re-measured", now[1], now[2], now[3])
            good = difference <= allowed + 0
            printf "  %s: they differ by %.2f percentage points, %.2f are allowed\n", \
                good ? "reproduced" : "not reproduced", difference, allowed
            exit !good
        }' || different=1
}

{% for case in cases %}
measure {{ case.title | sh }} \
    {{ case.before }} {{ case.after }} \
    {{ case.metric | sh }} {{ case.percent }} {{ case.low | number }} {{ case.high | number }} {{ case.tolerance }} \
    {{ case.options | words }}

{% endfor %}
printf '\nEverything is in %s; CPUBISECT_HOME=%s/home %s list shows it.\n' "$work" "$work" "$bisect"
exit "$different"
