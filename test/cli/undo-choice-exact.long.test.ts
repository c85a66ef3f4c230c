import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { TmuxTerminal } from "../helpers/tmux.ts";
import { Sandbox } from "./sandbox.ts";

const LINES = Array.from({ length: 30 }, (_, i) => `line ${i + 1}\n`).join("");

describe.skipIf(TmuxTerminal.whyNot() !== undefined)("undo -i takes back exactly what was chosen", () => {
  let box: Sandbox;
  beforeEach(() => {
    box = new Sandbox();
    for (const path of ["a.ts", "b.ts"]) box.write(path, LINES);
  });
  afterEach(() => box[Symbol.dispose]());

  const read = (path: string): string => readFileSync(join(box.project, path), "utf8");
  const isThere = (path: string): boolean => existsSync(join(box.project, path));
  const run = (command: string): Promise<unknown> => box.must(["run", "--", "sh", "-c", command]);

  async function terminal(): Promise<TmuxTerminal> {
    const shell = new TmuxTerminal(box.project, box.env({ C: `node ${chronicleBin()}` }), 80);
    await shell.prompt();
    shell.line("PS1='code $?$ '; clear");
    await shell.until(/^code 0\$$/);
    return shell;
  }

  it("undoes work that changed only git", async () => {
    const git = "git -c user.name=n -c user.email=e@x.org";
    await box.must(["init"]);
    await run(`git init -q -b main && ${git} add -A && ${git} commit -q -m one`);
    await run(`${git} commit -q --allow-empty -m two`);
    const head = read(".git/refs/heads/main");
    using shell = await terminal();
    shell.line("$C undo -i");
    await shell.until(/git: HEAD [^]*chronicle redo brings it back\ncode 0\$$/);
    expect(read(".git/refs/heads/main")).not.toBe(head);
  }, 90_000);

  it("asks if everything was chosen, and files that the rules leave out would come back as well", async () => {
    box.write(".gitignore", ".env\n");
    box.write(".env", "k\n");
    await box.must(["init"]);
    await run("rm .env; echo b >>b.ts");
    using shell = await terminal();
    for (const [key, code] of [
      ["n", 1],
      ["y", 0],
    ] as const) {
      shell.line("clear; $C undo -i");
      await shell.until(/◼ b\.ts/);
      shell.press("Enter");
      await shell.until(/Take this back\?/);
      expect([isThere(".env"), read("b.ts")]).toEqual([false, `${LINES}b\n`]);
      shell.type(key);
      await shell.until(new RegExp(`code ${code}\\$$`));
    }
    expect([read(".env"), read("b.ts")]).toEqual(["k\n", LINES]);
  }, 90_000);

  it("leaves what is beneath a chosen path, if it was not chosen", async () => {
    box.write("c", "file\n");
    await box.must(["init"]);
    await run("rm c; mkdir c; echo x >c/x; echo y >c/y; mkdir -p out/tmp; echo o >out/o; echo z >z");
    using shell = await terminal();
    shell.line("$C undo -i");
    await shell.until(/◼ z /);
    const list = shell.screen.split("\n").flatMap((line) => /◼ (\S+)/.exec(line)?.[1] ?? []);
    expect(list).toEqual(["c", "c/x", "c/y", "out/o", "out/tmp", "z"]);
    shell.press("Down", "Space", "Down", "Down", "Down", "Space", "Enter");
    await shell.until(/c stays as it is, because not all beneath it was chosen[^]*brings it back\ncode 0\$$/);
    expect(["c/x", "c/y", "out/o", "out/tmp", "z"].filter(isThere)).toEqual(["c/x", "out/tmp"]);
    expect(read("a.ts")).toBe(LINES);
  }, 90_000);

  it("offers the hunks at the given lines only", async () => {
    await box.must(["init"]);
    await run("sed -i 's/line 3$/III/;s/line 5$/V/;s/line 20$/XX/' a.ts; echo b >>b.ts");
    using shell = await terminal();
    shell.line("$C undo -i a.ts:3-5 b.ts");
    await shell.until(/◼ b\.ts/);
    shell.press("Down", "Space", "Enter");
    await shell.until(/\(1\/2\)/);
    shell.type("yy");
    await shell.until(/brings it back\ncode 0\$$/);
    expect(read("a.ts")).toBe(LINES.replace("line 20\n", "XX\n"));
    expect(read("b.ts")).toBe(`${LINES}b\n`);
  }, 90_000);

  it("offers the work of a redone undo of hunks again", async () => {
    await box.must(["init"]);
    await run("sed -i 's/line 3$/III/;s/line 20$/XX/' a.ts; echo b >>b.ts");
    await box.must(["undo", "a.ts:3"]);
    await box.must(["redo"]);
    using shell = await terminal();
    shell.line("$C undo -i");
    await shell.until(/◼ b\.ts/);
    shell.press("Space", "Enter");
    await shell.until(/brings it back\ncode 0\$$/);
    expect([read("a.ts"), read("b.ts")]).toEqual([
      LINES.replace("line 3\n", "III\n").replace("line 20\n", "XX\n"),
      LINES,
    ]);
  }, 90_000);
});
