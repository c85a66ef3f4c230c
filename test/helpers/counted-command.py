"""
Appends the name of each signal that it receives to signals.log. SIGUSR1 ends it.

SIGTSTP (Ctrl-Z) is noted, and then stops this process. Once all signals are handled, the pid is in command.pid, and
`ready` is in signals.log.
"""

import os, signal

log = os.open("signals.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def note(number, _frame):
    if number == signal.SIGUSR1:
        os._exit(0)
    os.write(log, signal.Signals(number).name[3:].encode() + b"\n")
    if number == signal.SIGTSTP:
        os.kill(os.getpid(), signal.SIGSTOP)


for name in ("INT", "QUIT", "TERM", "HUP", "USR1", "USR2", "WINCH", "CONT", "TSTP"):
    signal.signal(signal.Signals["SIG" + name], note)
with open("command.pid", "w") as file:
    file.write(str(os.getpid()))
os.write(log, b"ready\n")
while True:
    signal.pause()
