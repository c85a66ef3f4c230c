import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { MountedDisk } from "../helpers/mounted-disk.ts";
import { treeOf } from "../helpers/put-back-files.ts";
import { TmuxTerminal } from "../helpers/tmux.ts";

/**
 * A working day in a terminal. Each piece of work is done twice with the same keys: once alone, and once under
 * `chronicle run`. The screen, the exit code and the files are the same, and `undo` brings the files back.
 */

/** Whether the work is done alone, or under `chronicle run`. */
type Way = "alone" | "recorded";

/** A project, and a terminal in it. In the shell, `$C` before each command is empty, or `chronicle run --`. */
class Desk implements Disposable {
  readonly box = new Sandbox();
  readonly terminal: TmuxTerminal;
  readonly #chronicle = `${process.execPath} ${chronicleBin()}`;

  constructor(way: Way, files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
    for (const [path, content] of Object.entries(files)) this.box.write(path, content);
    const prefix = way === "alone" ? "" : `${this.#chronicle} run --`;
    this.terminal = new TmuxTerminal(this.box.project, this.box.env({ C: prefix, U: this.#chronicle, ...env }));
  }

  get tree(): Readonly<Record<string, string>> {
    const all = Object.entries(treeOf(this.box.project));
    return Object.fromEntries(all.filter(([path]) => !path.startsWith(".git/")));
  }

  at(path: string): string {
    return join(this.box.project, path);
  }

  /** The lines on the screen, without those of Chronicle itself and without empty ones. */
  get shown(): string[] {
    const isOurs = (line: string): boolean =>
      line === "" || /^(?:chronicle: | {2}[-+~] |everything: |git: HEAD |not covered )/.test(line);
    return this.terminal.screen.split("\n").filter((line) => !isOurs(line));
  }

  /** Undoes the last work, as a person does on a terminal. */
  async undo(): Promise<void> {
    this.terminal.line("clear; $U undo; echo undone=$?");
    await this.terminal.until(/undone=\d/);
  }

  [Symbol.dispose](): void {
    this.terminal[Symbol.dispose]();
    this.box[Symbol.dispose]();
  }
}

/** One piece of work: what is typed, and waited for. */
interface Piece {
  readonly name: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly work: (desk: Desk) => Promise<void>;
}

const RACE = `
all: a b c d
a b c d:
\t@touch started.$@; while [ $$(ls started.* | wc -l) -lt 4 ]; do sleep 0.05; done; echo $@ > $@
`;

const PIECES: readonly Piece[] = [
  {
    name: "an editor",
    files: { "notes.txt": "first\n" },
    async work({ terminal }) {
      terminal.line("$C vi -u NONE -i NONE -n notes.txt; echo rc=$?");
      await terminal.until(/first\n~\n~/);
      terminal.type("osecond");
      terminal.press("Escape");
      await terminal.until(/first\nsecond\n~/);
      terminal.type(":wq");
      terminal.press("Enter");
      await terminal.until(/^rc=0$/m);
    },
  },
  {
    name: "an editor that git starts for a message",
    files: { "a.txt": "a\n" },
    async work(desk) {
      const { terminal } = desk;
      desk.box.sh("git init -q; git config user.name U; git config user.email u@example.org; git add a.txt");
      desk.box.sh("git config core.editor 'vi -u NONE -i NONE -n'");
      terminal.line("$C sh -c 'echo b > b.txt && git add b.txt && git commit -q'; echo rc=$?");
      await terminal.until(/Please enter the commit message/);
      terminal.type("iwritten in vi");
      terminal.press("Escape");
      terminal.type(":wq");
      terminal.press("Enter");
      await terminal.until(/\nrc=0\n\$$/);
      terminal.line("git log --format=%s");
      await terminal.until(/^written in vi$/m);
    },
  },
  {
    name: "Ctrl-C, once",
    async work({ terminal }) {
      const script = "trap 'echo stopped; exit 7' INT; echo made > made.txt; echo ready; while :; do sleep 0.1; done";
      terminal.line(`$C sh -c "${script}"; echo rc=$?`);
      await terminal.until(/^ready$/m);
      terminal.press("C-c");
      await terminal.until(/^rc=7$/m);
    },
  },
  {
    name: "Ctrl-C of a command that does not handle it",
    async work({ terminal }) {
      terminal.line(`$C sh -c 'echo made > made.txt; echo ready; sleep 60'; echo rc=$?`);
      await terminal.until(/^ready$/m);
      terminal.press("C-c");
      await terminal.until(/\^C[^]*\n\$$/);
      terminal.line("echo rc=$?");
      await terminal.until(/^rc=130$/m);
    },
  },
  {
    name: "Ctrl-C of a loop in the shell",
    async work({ terminal }) {
      terminal.line("for i in 1 2 3; do echo begun $i; $C sh -c 'echo x >> made.txt; echo ready; sleep 60'; done");
      await terminal.until(/^ready$/m);
      terminal.press("C-c");
      await terminal.until(/\^C[^]*\n\$$/);
      terminal.line("echo rc=$?");
      await terminal.until(/^rc=130$/m);
    },
  },
  {
    name: "Ctrl-Z, and `fg` later",
    async work({ terminal }) {
      terminal.line(`$C sh -c 'echo begun > begun.txt; echo ready; cat > typed.txt; echo end > end.txt'`);
      await terminal.until(/^ready$/m);
      terminal.press("C-z");
      // Each line is typed at the prompt: what is typed before it is shown would be echoed in front of it, too.
      await terminal.until(/Stopped .*\n\$$/);
      terminal.line("jobs | wc -l; echo between > between.txt");
      await terminal.until(/\n1\n\$$/);
      terminal.line("fg");
      await terminal.until(/^fg\n|\$ fg$/m);
      terminal.line("words");
      terminal.press("C-d");
      await terminal.until(/\n\$ *$/);
      terminal.line("echo rc=$?");
      await terminal.until(/^rc=0$/m);
    },
  },
  {
    name: "make -j, four at once",
    files: { Makefile: RACE },
    async work({ terminal }) {
      terminal.line("$C make -j4; echo rc=$?");
      await terminal.until(/^rc=\d+$/m);
    },
  },
  {
    name: "a failing command in a pipe",
    async work({ terminal }) {
      terminal.line("$C sh -c 'echo out; echo x > made.txt; exit 3' | tr a-z A-Z; echo rc=${PIPESTATUS[0]}");
      await terminal.until(/^rc=3$/m);
    },
  },
];

describe.skipIf(TmuxTerminal.whyNot() !== undefined)(
  "Truth 16: a working day in a terminal",
  { timeout: 240_000 },
  () => {
    const left: number[] = [];
    afterEach(() => {
      for (const pid of left.splice(0)) process.kill(pid);
    });

    test.each(PIECES)("$name", async ({ files = {}, work }) => {
      using alone = new Desk("alone", files);
      await alone.terminal.prompt();
      await work(alone);
      await alone.terminal.prompt();
      using recorded = new Desk("recorded", files);
      await recorded.terminal.prompt();
      const before = recorded.tree;
      await work(recorded);
      await recorded.terminal.prompt();
      expect(recorded.shown).toEqual(alone.shown);
      expect(recorded.tree).toEqual(alone.tree);
      await recorded.undo();
      expect(recorded.tree).toEqual({ ...before });
    });

    test("a server in the background does not hold the prompt, keeps running, and undo leaves the file that it writes", async () => {
      const type =
        "$C sh -c '(while :; do date >> server.log; sleep 0.1; done) & echo $! > server.pid; echo up'; echo rc=$?";
      const leave = async (desk: Desk): Promise<void> => {
        await desk.terminal.prompt();
        desk.terminal.line(type);
        await desk.terminal.until(/^rc=0$/m);
        await desk.terminal.prompt();
        left.push(Number(readFileSync(desk.at("server.pid"), "utf8")));
      };
      using alone = new Desk("alone", { "a.txt": "a\n" });
      await leave(alone);
      using recorded = new Desk("recorded", { "a.txt": "a\n" });
      await leave(recorded);
      expect(recorded.shown).toEqual(alone.shown);
      const server = left.at(-1);
      const isAlive = (): boolean => spawnSync("kill", ["-0", String(server)]).status === 0;
      const { size } = statSync(recorded.at("server.log"));
      await vi.waitFor(() => expect(statSync(recorded.at("server.log")).size).toBeGreaterThan(size));
      await recorded.undo();
      expect([isAlive(), Object.keys(recorded.tree)]).toEqual([true, ["a.txt", "server.log"]]);
      expect(recorded.terminal.screen).toMatch(/server\.log/);
    });

    test("the command that the summary names brings a removed project folder back", async () => {
      const files = { "a.txt": "a\n", "deep/b.txt": "b\n" };
      const remove = async (desk: Desk): Promise<void> => {
        await desk.terminal.prompt();
        desk.terminal.line('$C rm -rf "$PWD"; echo rc=$?');
        await desk.terminal.until(/^rc=0$/m);
        await desk.terminal.prompt();
      };
      using alone = new Desk("alone", files);
      await remove(alone);
      using recorded = new Desk("recorded", files);
      const before = recorded.tree;
      await remove(recorded);
      expect(recorded.shown).toEqual(alone.shown);
      expect([existsSync(alone.box.project), existsSync(recorded.box.project)]).toEqual([false, false]);
      const [, way = ""] = /Take back: chronicle (.+)/.exec(recorded.terminal.screen) ?? [];
      recorded.terminal.line(`cd ..; $U ${way}; echo undone=$?`);
      await recorded.terminal.until(/undone=0/);
      expect(recorded.tree).toEqual(before);
    });

    test.skipIf(MountedDisk.whyNot("tmpfs") !== undefined)(
      "with a full store, the command ends as usual, and the command that Chronicle names brings the files back",
      async () => {
        using disk = new MountedDisk("tmpfs", ["-o", "size=6m"]);
        const work = async (desk: Desk): Promise<void> => {
          await desk.terminal.prompt();
          desk.terminal.line("$C sh -c 'echo edited > a.txt; head -c 20000000 /dev/urandom > big; exit 5'; echo rc=$?");
          await desk.terminal.until(/^rc=5$/m);
          await desk.terminal.prompt();
        };
        using alone = new Desk("alone", { "a.txt": "a\n" });
        await work(alone);
        using recorded = new Desk("recorded", { "a.txt": "a\n" }, { CHRONICLE_HOME: join(disk.folder, "store") });
        const before = recorded.tree;
        await work(recorded);
        expect(recorded.shown).toEqual(alone.shown);
        expect(Object.keys(recorded.tree)).toEqual(Object.keys(alone.tree));
        const [, way = ""] =
          /NOT recorded: [^]*To restore the state before the run: chronicle (.+)/.exec(recorded.terminal.screen) ?? [];
        execFileSync("mount", ["-o", "remount,size=64m", disk.folder]);
        recorded.terminal.line(`clear; $U ${way}; echo back=$?`);
        await recorded.terminal.until(/back=0/);
        expect(recorded.tree).toEqual(before);
      },
    );
  },
);
