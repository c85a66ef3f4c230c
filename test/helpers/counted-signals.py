"""
Runs a command that starts counted-command.py, and sends signals to the command. Prints one line of JSON: the name of
each signal that arrived at counted-command.py, and how often it arrived.

  counted-signals.py HOW STEPS COMMAND...

HOW is one of these:

  terminal    The command is in the foreground of a pseudo-terminal.
  redirected  Like `terminal`, but the command's stdin is /dev/null.
  none        The command has no terminal.

STEPS are separated by commas:

  type:INT    Types the key for SIGINT in the terminal. Likewise for QUIT.
  type:size   Changes the size of the terminal's window.
  one:TERM    Sends SIGTERM to the command's own process. Likewise for other signals.
  all:TERM    Sends SIGTERM to the process group of the command. Likewise for other signals.
  stop:TSTP   Sends SIGTSTP to the command's own process. Waits until that process and counted-command.py have stopped,
              and continues their process group.
  typed-stop  Like `stop:TSTP`, but types Ctrl-Z in the terminal.

Before the first step and after each step, SIGUSR2 is sent to the command's own process, and must arrive at
counted-command.py. This is done twice. Signals are passed on in order, so all earlier signals have then arrived.
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
            sys.exit("timed out while waiting for " + what)
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
        # Starts the command as a shell with job control does: in a process group of its own, in the terminal's
        # foreground.
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
    until("the pid of the command", lambda: os.path.exists("worker.pid"))
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

until("counted-command.py", lambda: "ready" in lines())
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
    # SIGCONT cancels a stop signal that has not been delivered yet. So both processes must have stopped before.
    until("the stop of both processes", lambda: state(child) == "T" and state(counted) == "T")
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
        # The terminal itself sends the signal to its foreground process group. This waits until the signal has arrived.
        key = "WINCH" if step == "type:size" else name
        seen = lines().count(key)
        until("the signal of the typed key", lambda: lines().count(key) > 0)
    settle()

print(json.dumps(counts()))
sys.stdout.flush()
os.kill(child, signal.SIGUSR1)
os.waitpid(shell if master is not None else child, 0)
