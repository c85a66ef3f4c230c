import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { ResidentServer } from "../helpers/resident-server.ts";
import { TmuxTerminal } from "../helpers/tmux.ts";
import { Sandbox } from "./sandbox.ts";

const LINES = Array.from({ length: 30 }, (_, i) => `line ${i + 1}\n`).join("");
const COMMAND =
  "sed -i 's/line 2$/TWO/;10,11d' src/a.ts; sed -i 's/line 5$/FIVE/;s/line 15$/XV/' b.ts; rm gone.ts; mkdir n; echo x > n/new.ts; printf '\\0' > raw";

describe.skipIf(TmuxTerminal.whyNot() !== undefined)("undo -i in a terminal of 80 columns", () => {
  let box: Sandbox;
  let server: ResidentServer | undefined;
  beforeEach(async () => {
    box = new Sandbox();
    for (const path of ["src/a.ts", "b.ts", "gone.ts"]) box.write(path, LINES);
    box.write("raw", "\0\0");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", COMMAND]);
  });
  afterEach(() => {
    server?.[Symbol.dispose]();
    server = undefined;
    box[Symbol.dispose]();
  });

  const read = (path: string): string => readFileSync(join(box.project, path), "utf8");

  /** A terminal in which `$C` is the command line, or with a resident process, the launcher that asks it. */
  async function terminal(): Promise<TmuxTerminal> {
    const bin = server === undefined ? chronicleBin() : join(dirname(chronicleBin()), "chronicle.cjs");
    const direct = server === undefined ? {} : { CHRONICLE_DIRECT: "" };
    const shell = new TmuxTerminal(box.project, box.env({ C: `node ${bin}`, ...direct }), 80);
    await shell.prompt();
    shell.line("PS1='code $?$ '; clear");
    await shell.until(/^code 0\$$/);
    return shell;
  }

  it("takes back the chosen files and hunks as one operation, says how back, and redo brings all back", async () => {
    box.write("b.ts", `by a person\n${read("b.ts")}`);
    const before = [read("src/a.ts"), read("b.ts")];
    using shell = await terminal();
    shell.line("$C undo -i");
    await shell.until(/◼ src\/a\.ts/);
    const list = shell.screen.split("\n").filter((line) => line.includes("◼"));
    expect(list).toEqual([
      "│  ◼ b.ts (+2 −2, 2 hunks; edited since, not recorded yet)",
      "│  ◼ gone.ts (comes back)",
      "│  ◼ n/new.ts (is removed)",
      "│  ◼ raw (binary)",
      "│  ◼ src/a.ts (+3 −1, 2 hunks)",
    ]);
    shell.press("Down", "Down", "Space", "Enter");
    await shell.until(/\(1\/2\)/);
    expect(shell.screen).toContain(
      "b.ts\n@@ -3,7 +3,7 @@\n line 2\n line 3\n line 4\n-FIVE\n+line 5\n line 6\n line 7\n line 8\n(1/2) Take this hunk back [y,n,a,d,q,?]?",
    );
    shell.type("?");
    await shell.until(/d - leave this hunk and all later/);
    // Keys that come before their question are kept.
    shell.type("ynnaxy");
    await shell.until(/chronicle redo brings it back/);
    expect(shell.screen).toMatch(
      /^run: sh .* in 4 places: b\.ts:6, gone\.ts, raw, src\/a\.ts:9-10 .*\n(?: {2}[~+] .*\n){4}taken back: 1 created, 3 modified\nchronicle redo/m,
    );
    expect(read("b.ts")).toBe(`by a person\n${LINES.replace("line 15\n", "XV\n")}`);
    expect([read("gone.ts"), read("n/new.ts"), read("raw")]).toEqual([LINES, "x\n", "\0\0"]);
    expect(read("src/a.ts")).toBe(LINES.replace("line 2\n", "TWO\n"));
    await shell.until(/code 0\$$/);
    await box.must(["redo"]);
    expect([read("src/a.ts"), read("b.ts")]).toEqual(before);
  }, 120_000);

  it("changes nothing if the person quits at any question, or chooses nothing", async () => {
    const before = [read("src/a.ts"), read("b.ts")];
    using shell = await terminal();
    for (const keys of [
      ["C-c"],
      ["q"],
      ["a", "Enter"],
      ["Enter", "y", "C-c"],
      ["Enter", "a", "y", "q"],
      ["Down", "Space", "Down", "Space", "Down", "Space", "Enter", "d", "n", "n"],
    ]) {
      shell.line("clear; $C undo -i");
      await shell.until(/◼ src\/a\.ts/);
      for (const key of keys) {
        shell.press(key);
        if (key === "Enter") await shell.until(/Take this hunk|nothing was changed/);
      }
      await shell.until(/nothing was changed\ncode 1\$$/);
      expect([keys, read("src/a.ts"), read("b.ts")]).toEqual([keys, ...before]);
    }
  }, 120_000);

  it("changes nothing if a file has changed while hunks were chosen", async () => {
    using shell = await terminal();
    shell.line("$C undo -i");
    await shell.until(/◼ src\/a\.ts/);
    shell.press("Enter");
    await shell.until(/\(1\/2\)/);
    box.write("gone.ts", "again\n");
    shell.type("yyyy");
    await shell.until(/have changed meanwhile, so nothing was done[^]*code \d+\$$/);
    expect([read("gone.ts"), read("b.ts")]).toEqual([
      "again\n",
      LINES.replace("line 5\n", "FIVE\n").replace("line 15\n", "XV\n"),
    ]);
  }, 120_000);

  it("asks in the client if the store's process would carry out the command", async () => {
    server = new ResidentServer({ ...box.env(), CHRONICLE_DIRECT: undefined }, box.store);
    expect(await server.ready(box.project)).toBe(true);
    using shell = await terminal();
    shell.line("$C undo -i --file b.ts");
    await shell.until(/◼ b\.ts/);
    shell.press("Enter");
    await shell.until(/\(1\/2\)/);
    shell.type("ny");
    await shell.until(/taken back: 1 modified\nchronicle redo brings it back\ncode 0\$$/);
    expect(read("b.ts")).toBe(LINES.replace("line 5\n", "FIVE\n"));
  }, 120_000);
});
