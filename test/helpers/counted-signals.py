"""
Runs a command that starts counted-command.py, sends signals, and prints how many of each arrived, as one line of JSON.

  counted-signals.py HOW STEPS COMMAND...

HOW: `terminal` (a pseudo-terminal whose foreground the command is), `redirected` (the same, with another stdin), `none` (no terminal).
STEPS, by commas: `type:INT` (the terminal's key), `type:size` (its window), `one:TERM` (to the command's own process),
`all:TERM` (to its group), `stop:TSTP` (to its own process; it and the command must stop, then its group is continued), `typed-stop` (Ctrl-Z, likewise).

After each step SIGUSR2 is sent to the command's own process twice, each time until it has arrived: signals are passed on in order.
"""

import fcntl, json, os, pty, signal, struct, subprocess, sys, termios, time

how, steps, command = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
log = os.path.join(os.getcwd(), "signals.log")
KEYS = {"INT": b"\x03", "QUIT": b"\x1c"}
LIMIT = 60


def until(what, is_so):
    end = time.monotonic() + LIMIT
    while not is_so():
        if time.monotonic() > end:
            sys.exit("waited in vain: " + what)
        time.sleep(0.005)


def lines():
    try:
        with open(log) as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def state(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0]


master = None
if how == "none":
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True).pid
else:
    child, master = pty.fork()
    if child == 0:
        # As a shell with job control starts it: a group of its own, in the terminal's foreground.
        worker = os.fork()
        if worker == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            if how == "redirected":
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.execvp(command[0], command)
        for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        with open("worker.pid.new", "w") as file:
            file.write(str(worker))
        os.rename("worker.pid.new", "worker.pid")
        while True:
            _, status = os.waitpid(worker, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    until("the command's number", lambda: os.path.exists("worker.pid"))
    shell = child
    with open("worker.pid") as file:
        child = int(file.read())
    import threading

    def drain():
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass

    threading.Thread(target=drain, daemon=True).start()

until("the command", lambda: "ready" in lines())
with open("command.pid") as file:
    counted = int(file.read())


def settle():
    for _ in range(2):
        before = lines().count("USR2")
        os.kill(child, signal.SIGUSR2)
        until("SIGUSR2", lambda: lines().count("USR2") > before)


def counts():
    seen = lines()
    return {name: seen.count(name) for name in sorted(set(seen)) if name not in ("ready", "USR2")}


def stopped_and_continued():
    # SIGCONT takes back a stop that a busy machine has not delivered yet. So the command must have stopped, too.
    until("the stop", lambda: state(child) == "T" and state(counted) == "T")
    os.killpg(child, signal.SIGCONT)


settle()
for step in steps:
    kind, _, name = step.partition(":")
    if step == "type:size":
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33 + len(lines()), 99, 0, 0))
    elif kind == "type":
        os.write(master, KEYS[name])
    elif kind == "typed-stop":
        os.write(master, b"\x1a")
        stopped_and_continued()
    elif kind == "stop":
        os.kill(child, signal.Signals["SIG" + name])
        stopped_and_continued()
    elif kind == "all":
        os.killpg(child, signal.Signals["SIG" + name])
    else:
        os.kill(child, signal.Signals["SIG" + name])
    if kind == "type":
        # A terminal signals its group by itself; from then on what is passed on follows.
        key = "WINCH" if step == "type:size" else name
        seen = lines().count(key)
        until("what was typed", lambda: lines().count(key) > 0)
    settle()

print(json.dumps(counts()))
sys.stdout.flush()
os.kill(child, signal.SIGUSR1)
os.waitpid(shell if master is not None else child, 0)
