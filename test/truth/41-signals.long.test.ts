/**
 * Each signal arrives once at the command of a run, whether the terminal sent it, or somebody sent it to Chronicle
 * alone or to its process group.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

const helpers = join(import.meta.dirname, "..", "helpers");
const HAS_PYTHON = spawnSync("python3", ["-c", "import pty, termios"]).status === 0 && process.platform === "linux";

const SENT =
  "one:INT,all:INT,one:QUIT,all:QUIT,one:WINCH,all:WINCH,one:TERM,all:TERM,one:CONT,all:CONT,one:HUP,all:HUP";
const TYPED = "type:INT,type:QUIT,type:size,typed-stop,stop:TSTP";

/**
 * Counts each signal that reaches a command. `words` start Chronicle in front of the command; without them, the
 * command runs alone.
 */
function counted(how: "terminal" | "redirected" | "none", steps: string, words: readonly string[]): unknown {
  using box = new Sandbox();
  const prefix = words.length === 0 ? [] : [...box.command, ...words];
  const command = [...prefix, "python3", join(helpers, "counted-command.py")];
  const ran = spawnSync("python3", [join(helpers, "counted-signals.py"), how, steps, ...command], {
    cwd: box.project,
    env: box.env(),
    encoding: "utf8",
    timeout: 120_000,
  });
  if (ran.status !== 0) throw new Error(`${ran.stdout}${ran.stderr}`);
  return JSON.parse(ran.stdout);
}

describe.skipIf(!HAS_PYTHON)("signals (with python3, on a system with /proc)", () => {
  const SENT_ONLY = { CONT: 2, HUP: 2, INT: 2, QUIT: 2, TERM: 2, WINCH: 2 };
  const ALL = { CONT: 4, HUP: 2, INT: 3, QUIT: 3, TERM: 2, TSTP: 2, WINCH: 3 };

  it("arrive at a command without Chronicle as often as they are sent", () => {
    expect(counted("none", SENT, [])).toEqual(SENT_ONLY);
    expect(counted("terminal", `${TYPED},${SENT}`, [])).toEqual(ALL);
  });

  it("arrive as often without a terminal, as in CI", () => {
    expect(counted("none", SENT, ["run", "--"])).toEqual(SENT_ONLY);
  });

  it("arrive as often on a terminal", () => {
    expect(counted("terminal", `${TYPED},${SENT}`, ["run", "--"])).toEqual(ALL);
  });

  it("arrive as often on a terminal with stdin from elsewhere", () => {
    expect(counted("redirected", `${SENT},${TYPED}`, ["run", "--"])).toEqual(ALL);
  });

  it("arrive as often off the record", () => {
    expect(counted("terminal", TYPED, ["run", "--otr", "--"])).toEqual({ CONT: 2, INT: 1, QUIT: 1, TSTP: 2, WINCH: 1 });
  });

  it("arrive as often in a run within a run", () => {
    using box = new Sandbox();
    const nested = ["run", "--", ...box.command, "run", "--"];
    expect(counted("redirected", `type:INT,${SENT}`, nested)).toEqual({ ...SENT_ONLY, INT: 3 });
  });
});
