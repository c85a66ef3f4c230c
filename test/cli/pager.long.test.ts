import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { TmuxTerminal } from "../helpers/tmux.ts";
import { Sandbox } from "./sandbox.ts";

// A terminal of 100 columns and 40 rows. `log` prints 64 lines there.

const WHY_NOT = TmuxTerminal.whyNot() ?? (spawnSync("less", ["-V"]).status === 0 ? undefined : "needs less");

/** A pager that keeps what it gets in the file `$GOT`, and the environment of `less` in its first line. */
const KEEPING = '#!/bin/sh\n{ echo "LESS=$LESS"; cat; } > "$GOT"\n';

/** Writes the first line of each answer of the store's process to the file that `ANSWERS` names. */
const SPY = `
const { appendFileSync } = require("node:fs");
const net = require("node:net");
const { connect } = net;
net.connect = (...args) => connect(...args).on("data", (data) => {
  appendFileSync(process.env.ANSWERS, data.toString().split("\\r\\n\\r\\n")[1].split("\\n")[0] + "\\n");
});
`;

/** The launcher, which asks the store's process. */
const askingBin = (): string => join(dirname(chronicleBin()), "chronicle.cjs");

class Desk extends Sandbox {
  #server: ChildProcess | undefined;

  async begin(): Promise<this> {
    for (let at = 0; at < 60; at += 1) this.write(`f${at}`, "one\n");
    await this.must(["init"]);
    for (let at = 0; at < 60; at += 1) this.write(`f${at}`, "two\n");
    await this.must(["snapshot"]);
    return this;
  }

  get got(): string {
    return join(this.folder, "got");
  }

  /** A program outside of the project. Returns its path. */
  program(name: string, text: string): string {
    this.write(`../${name}`, text);
    chmodSync(join(this.folder, name), 0o755);
    return join(this.folder, name);
  }

  get #answersFile(): string {
    return join(this.folder, "answers");
  }

  /** The answers of the store's process to the commands of the last terminal. */
  get answers(): string {
    return existsSync(this.#answersFile) ? readFileSync(this.#answersFile, "utf8") : "";
  }

  /** From now on, the long-lived process of the store carries out the commands. */
  async serve(): Promise<void> {
    const env = this.env({ CHRONICLE_DIRECT: "", ANSWERS: this.#answersFile });
    const words = [chronicleBin(), "serve", "--store", this.store, "--idle", "900", "--quiet"];
    this.#server = spawn(process.execPath, words, { env, stdio: "inherit" });
    const spy = this.program("spy.cjs", SPY);
    await vi.waitUntil(
      () => {
        spawnSync(process.execPath, ["--require", spy, askingBin(), "status"], { cwd: this.project, env });
        return this.answers.includes('{"code":0');
      },
      { timeout: 90_000, interval: 100 },
    );
  }

  /** A terminal in the project. `$C` is the command line. */
  terminal(env: Readonly<Record<string, string>> = {}): TmuxTerminal {
    rmSync(this.#answersFile, { force: true });
    const spy = join(this.folder, "spy.cjs");
    const served = { CHRONICLE_DIRECT: "", ANSWERS: this.#answersFile, NODE_OPTIONS: `--require=${spy}` };
    const more = this.#server === undefined ? {} : served;
    return new TmuxTerminal(this.project, this.env({ C: `node ${askingBin()}`, GOT: this.got, ...more, ...env }));
  }

  override [Symbol.dispose](): void {
    this.#server?.kill("SIGKILL");
    super[Symbol.dispose]();
  }
}

const FIRST = /^ *1 .*workspace:/m;
const LAST = /snapshot:[\w-]+$/m;

describe.skipIf(WHY_NOT !== undefined).each(["this process", "the store's process"])("long output, by %s", (by) => {
  let box: Desk;
  beforeAll(async () => {
    box = await new Desk().begin();
    if (by !== "this process") await box.serve();
  });
  afterAll(() => box[Symbol.dispose]());

  it("is shown in `less` with colours, a screen at a time; leaving it early is no error", async () => {
    using terminal = box.terminal();
    await terminal.prompt();
    terminal.line("$C log --limit 0");
    await terminal.until(/\n:$/);
    expect(terminal.screen).toMatch(FIRST);
    expect(terminal.screen.split("\n").length).toBeLessThanOrEqual(42);
    expect(terminal.screen).not.toContain("ESC[");
    terminal.press("q");
    await terminal.until(/\$$/);
    terminal.line("clear; echo code $?");
    await terminal.until(/^code 0$/m);
    expect(box.answers.includes('"paged":true')).toBe(by !== "this process");
  });

  it("survives Ctrl-C within the pager, which ends nothing but a search there", async () => {
    using terminal = box.terminal();
    await terminal.prompt();
    terminal.line("$C log --limit 0; echo code $?");
    await terminal.until(/\n:$/);
    terminal.press("C-c");
    terminal.press("G");
    await terminal.until(/\(END\)/);
    expect(terminal.screen).not.toMatch(/^code/m);
    terminal.press("q");
    await terminal.until(/^code 0$/m);
  });

  it("gets `$PAGER`, and first `$CHRONICLE_PAGER`, whole and with the colours of a terminal", async () => {
    using terminal = box.terminal({ PAGER: "false", CHRONICLE_PAGER: box.program("keeping", KEEPING) });
    await terminal.prompt();
    terminal.line("$C log --limit 0; echo code $?");
    await terminal.until(/^code 0$/m);
    const got = readFileSync(box.got, "utf8");
    expect(got).toMatch(/^LESS=FRX\n/);
    expect(got.trimEnd().split("\n")).toHaveLength(1 + 3 + 60 + 1);
    expect(got).toContain("\u001b[2m");
    expect(terminal.screen).not.toMatch(FIRST);
    terminal.line(`clear; export LESS=i CHRONICLE_PAGER='cat > "$GOT"; echo "$LESS"'; $C log --limit 0`);
    await terminal.until(/^i$/m);
  });

  it("is printed directly with --no-pager, an empty or `cat` pager, CI, a role of agents, in pipes and as JSON", async () => {
    const pager = box.program("keeping-2", KEEPING.replace("$GOT", "$GOT.2"));
    using terminal = box.terminal({ PAGER: pager });
    await terminal.prompt();
    const ways = [
      "$C log --limit 0 --no-pager",
      "CHRONICLE_PAGER= $C log --limit 0",
      "PAGER=cat $C log --limit 0",
      "CI=true $C log --limit 0",
      "CHRONICLE_ROLE=agent $C log --limit 0",
      "TERM=dumb $C log --limit 0",
      "env -u TERM $C log --limit 0",
      "CLAUDECODE=1 $C log --limit 0",
      "$C log --limit 0 < /dev/null",
      "$C log --limit 0 | cat",
      "$C log --limit 0 --json",
      "$C log --limit 3",
    ];
    for (const [at, way] of ways.entries()) {
      terminal.line(`clear; ${way}; echo code $? of ${at}`);
      await terminal.until(new RegExp(`^code 0 of ${at}$`, "m"));
      expect([way, existsSync(`${box.got}.2`)]).toEqual([way, false]);
      if (!way.includes("--json")) expect(terminal.screen).toMatch(LAST);
    }
    terminal.line("$C log --limit 0; echo code $? at last");
    await terminal.until(/^code 0 at last$/m);
    expect(existsSync(`${box.got}.2`)).toBe(true);
  });

  it.each(["nosuchpager -x", "nosuchpager 2>/dev/null; exit 127"])(
    "is printed directly, with one note, where the pager cannot be started (%s)",
    async (pager) => {
      using terminal = box.terminal({ PAGER: pager });
      await terminal.prompt();
      terminal.line("$C log --limit 0; echo code $?");
      await terminal.until(/^code 0$/m);
      expect(terminal.screen).toMatch(FIRST);
      expect(terminal.screen.match(/^note: the pager could not be started \(nosuchpager .*$/gm)).toHaveLength(1);
      expect(terminal.screen).toMatch(
        /(?:ENOENT|not found)\), so the output was printed directly; set CHRONICLE_PAGER/,
      );
    },
  );

  it("names a pager that ends with an error", async () => {
    using terminal = box.terminal({ PAGER: box.program("broken", "#!/bin/sh\nexit 3\n") });
    await terminal.prompt();
    terminal.line("$C log --limit 0; echo code $?");
    await terminal.until(/^code 0$/m);
    expect(terminal.screen).toMatch(/^note: the pager ended with the exit code 3 \(.*broken\)/m);
  });

  it("keeps the exit code of the command, and prints the command's notes after the pager", async () => {
    box.write("large", "x".repeat(2_000));
    for (let at = 0; at < 60; at += 1) box.write(`f${at}`, `${by}\n`);
    await box.must(["config", "maxFileSize", "1KiB"]);
    using terminal = box.terminal({ PAGER: box.program("few", "#!/bin/sh\nhead -n 2; echo left\n") });
    await terminal.prompt();
    terminal.line("$C diff -p; echo code $?");
    await terminal.until(/^code 1$/m);
    expect(terminal.screen).toMatch(/^left\nchronicle: not compared: large \(too-large\)\ncode 1$/m);
  });
});
