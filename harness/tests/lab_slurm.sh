#!/usr/bin/env bash
# shellcheck disable=SC2016
# A class whose checks queue for two GPUs under a real Slurm, of one node and with faked GPUs:  lab_slurm.sh LAB
# (shell_checks.sh says how these tests work). Slurm runs from the test's own folder, with its own ports and key, and
# needs neither root nor a service. 77 where it is not installed.
for daemon in slurmctld slurmd munged; do
    if [[ ! -x /usr/sbin/$daemon ]]; then
        echo "Slurm's daemons are not here: apt-get install -y slurmctld slurmd slurm-client munge brings them."
        exit 77
    fi
done
parts=(ch05_streams)
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"
keep_one_exercise
readonly slurm=$temporary/slurm clones=$temporary/class/clones learners=20 page=$repository/docs/instructors.md
daemons=()

# The test may be run in a job of another Slurm.
unset "${!SLURM@}" "${!SBATCH@}" CUDA_VISIBLE_DEVICES
export SLURM_CONF=$slurm/slurm.conf

stop_slurm() {
    local i
    if ((${#daemons[@]} > 1)); then timeout 5 scancel --quiet --user="$(id -un)"; fi
    for ((i = ${#daemons[@]} - 1; i >= 0; --i)); do kill "${daemons[i]}" && wait "${daemons[i]}"; done
} &>/dev/null
trap 'stop_slurm; rm -rf -- "$temporary"' EXIT

free_port() {
    local port
    for ((;;)); do
        port=$((20000 + RANDOM % 10000))
        if ! (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
    done
    echo "$port"
}

within() { # seconds, then a command that should succeed by then
    local latest=$((SECONDS + $1))
    until "${@:2}" 2>/dev/null; do
        if ((SECONDS > latest)); then return 1; fi
        sleep 0.1
    done
}

start_daemon() { # name, arguments; it ends with this script, however that ends
    setpriv --pdeathsig TERM "/usr/sbin/$1" "${@:2}" >"$slurm/$1.out" 2>&1 &
    daemons+=($!)
}
has_idle_node() { [[ $(timeout 2 sinfo --noheader --Node --format=%T) == idle ]]; }

# Two GPUs, whose files only have to exist, and CPUs that need not: nothing is computed.
start_slurm() {
    local host user
    host=$(uname -n) user=$(id -un)
    host=${host%%.*}
    mkdir -p "$slurm"/{state,spool}
    head -c 1024 /dev/urandom >"$slurm/key"
    chmod 600 "$slurm/key"
    : >"$slurm/cgroup.conf"
    printf 'Name=gpu File=%s\n' /dev/null /dev/zero >"$slurm/gres.conf"
    cat >"$SLURM_CONF" <<END
ClusterName=class
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$slurm/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=5
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 Gres=gpu:2
PartitionName=gpu Nodes=$host Default=YES MaxTime=60
END
    # The folder of a test is its user's alone, at which munged frowns.
    start_daemon munged --foreground --force --key-file="$slurm/key" --socket="$slurm/munge" \
        --pid-file="$slurm/munge.pid" --log-file="$slurm/munge.log" --seed-file="$slurm/munge.seed"
    within 10 test -S "$slurm/munge"
    start_daemon slurmctld -D
    start_daemon slurmd -D
    if within 30 has_idle_node; then return; fi
    echo 'FAILED  Slurm does not run here. Its daemons said:'
    tail -n 20 "$slurm"/*.out
    exit 1
}

# A machine whose nsys notes which GPU it was given, and whether somebody else had that.
make_cluster() {
    machine cluster nvidia-smi=two nvcc nsys
    mv "$temporary/cluster/nsys" "$temporary/cluster/real_nsys"
    cat >"$temporary/cluster/nsys" <<END
#!/usr/bin/env bash
if [[ \$1 != profile ]]; then exec "$temporary/cluster/real_nsys" "\$@"; fi
echo "\$CUDA_VISIBLE_DEVICES" >>"$temporary/gpus"
mkdir "$temporary/gpu\$CUDA_VISIBLE_DEVICES" || echo "\$SLURM_JOB_ID" >>"$temporary/shared"
"$temporary/cluster/real_nsys" "\$@"
code=\$?
rmdir "$temporary/gpu\$CUDA_VISIBLE_DEVICES"
exit "\$code"
END
    chmod +x "$temporary/cluster/nsys"
    rm -f "$temporary"/{gpus,shared}
    on cluster
}

# Learners 3, 6, ... leave the starter as it is; the others have the solution.
make_clones() {
    local i clone
    try start ch05/1
    ln -sf "$lab" lab
    mkdir -p "$clones"
    for ((i = 1; i <= learners; ++i)); do
        clone=$clones/learner$i
        cp -R . "$clone"
        if ((i % 3 > 0)); then cp "$exercise/solution.cu" "$clone/$answer"; fi
    done
}

has_no_job() { [[ -z $(timeout 5 squeue --noheader || echo no answer) ]]; }

# The job of the page, as it is there.
job_of_the_page() {
    awk '/^```/ { inside = !inside; job = 0; next } inside && /^#!\/bin\/bash/ { job = 1 } job' "$page"
}

whole_class() {
    topic='a class as an array job'
    local i passes
    make_cluster
    make_clones
    cd "$temporary/class" || exit 2
    mkdir handed-in
    job_of_the_page >class.sbatch
    check 'the page has the job' grep -q '^#SBATCH --array=1-20' class.sbatch
    printf '%s\n' "$clones"/* >learners.txt
    command='sbatch class.sbatch'
    catch sbatch class.sbatch
    exits 0
    check 'all wait for two GPUs' test "$(squeue --noheader --array --states=pending | wc -l)" -ge "$((learners / 2))"
    # sbatch --wait looks less and less often, so it would take half a minute more.
    check 'all end' within 120 has_no_job
    check 'and well' test "$(squeue --noheader --array --states=all --format=%T | sort | uniq -c | xargs)" = \
        "$learners COMPLETED"
    check 'a report each' test "$(find handed-in -name '*.json' | wc -l)" -eq "$learners"
    check 'nobody shares a GPU' test ! -e "$temporary/shared"
    check 'nor waits for the GPU of another' test -z "$(grep -l waiting handed-in/*.txt)"
    check 'both GPUs are used, one by each check' \
        test "$(sort "$temporary/gpus" | uniq -c | awk '{ sum += $1; print $2 } END { print sum }' | xargs)" \
        = "0 1 $learners"
    cd "$course" || exit 2
    expect 0 class "$temporary/class/handed-in" --csv
    check 'a line for each and nothing lost' test "$(wc -l <<<"$out") $err" = "$((learners + 1)) "
    for ((i = 1; i <= learners; ++i)); do
        passes=$((i % 3 > 0))
        check "learner $i is counted as handed in" grep -q "^learner$i,$passes,1," <<<"$out"
    done
}

# As a learner types it, in a clone.
srun_check() {
    command='srun --gres=gpu:1 ./lab check ch05/vector_add_pipeline'
    catch timeout 60 srun --partition=gpu --gres=gpu:1 --time=10 ./lab check ch05/vector_add_pipeline
}
state_of_learner() { sha256sum "$answer" work/progress.txt; }

one_learner() {
    topic='srun, and scancel'
    local before waiting
    make_cluster
    machine hanging nvidia-smi=two nvcc nsys=hangs
    try start ch05/1
    ln -sf "$lab" lab
    check 'the page has the command' \
        grep -q '^srun --partition=gpu --gres=gpu:1 --time=10 ./lab check ch05/vector_add_pipeline$' "$page"
    srun_check
    exits 1
    prints "not yet  $answer"
    cp "$exercise/solution.cu" "$answer"
    before=$(state_of_learner)
    # Not by srun_check, which notes its output where the next command does.
    PATH=$temporary/hanging:$plain_path srun --partition=gpu --gres=gpu:1 --time=10 ./lab check ch05/1 \
        </dev/null &>"$temporary/cancelled" &
    waiting=$!
    check 'nsys runs' eventually test -s "$temporary/hanging/nsys.hangs"
    command='scancel'
    catch scancel --user="$(id -un)" --state=running
    exits 0
    wait "$waiting"
    check 'the job ends as one that failed' test $? -ne 0
    check 'the tool has ended with the job' eventually test ! -e "/proc/$(<"$temporary/hanging/nsys.hangs")"
    check 'answer and progress are as they were' test "$(state_of_learner)" = "$before"
    srun_check
    exits 0
    prints "passed  $answer"
    try report
    check 'both checks are noted' grep -Eq 'vector_add_pipeline +passed +2 ' <<<"$out"
}

start_slurm
run_parts whole_class one_learner
