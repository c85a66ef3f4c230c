import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SnapshotShape, WorkspaceShape } from "../../src/api/shapes.ts";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "./sandbox.ts";

describe("a terminal", () => {
  const script = spawnSync("script", ["--version"], { encoding: "utf8" });

  /** Runs a command line on a pseudo terminal and types into it. */
  function onTerminal(box: Sandbox, words: string, typed: string, env: Readonly<Record<string, string>> = {}): string {
    const line = `stty rows 24 cols 80; ${box.command.join(" ")} ${words}`;
    const ran = spawnSync("script", ["-qec", line, "/dev/null"], {
      cwd: box.project,
      env: box.env({ TERM: "xterm", SHELL: "/bin/sh", ...env }),
      input: typed,
      encoding: "utf8",
    });
    return ran.stdout;
  }

  it.skipIf(script.error !== undefined)(
    "restore, undo and redo change files without a question, and name what they do and the way back",
    async () => {
      using box = new Sandbox();
      box.write("a", "one");
      await box.must(["init"]);
      box.write("a", "two");
      const restored = onTerminal(box, "restore 0", "");
      expect(restored).toMatch(/~.* a[\s\S]*restored: 1 modified[\s\S]*take it back: chronicle undo/);
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
      const undone = onTerminal(box, "undo", "");
      expect(undone).toMatch(/restore: [\s\S]*~.* a[\s\S]*taken back: 1 modified[\s\S]*chronicle redo brings it back/);
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two");
      expect(onTerminal(box, "redo", "")).toContain("done again: 1 modified");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
    },
  );

  it.skipIf(script.error !== undefined)(
    "restore and undo ask with --ask and CHRONICLE_ASK, and never with --yes",
    async () => {
      using box = new Sandbox();
      box.write("a", "one");
      await box.must(["init"]);
      box.write("a", "two");
      expect(onTerminal(box, "restore 0 --ask", "n")).toMatch(/Change 1 path[\s\S]*nothing was changed/);
      expect(onTerminal(box, "restore 0", "n", { CHRONICLE_ASK: "1" })).toContain("Change 1 path");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two");
      onTerminal(box, "restore 0 --ask", "y");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
      expect(onTerminal(box, "undo --ask", "n")).toContain("Take this back?");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
      expect(onTerminal(box, "undo --yes", "", { CHRONICLE_ASK: "1" })).not.toContain("Take this back?");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two");
    },
  );

  it.skipIf(script.error !== undefined)(
    "undo asks where more than half of the files would be removed, or more than 1,000 paths changed",
    async () => {
      using box = new Sandbox();
      box.write("keep", "kept");
      await box.must(["init"]);
      const make = (count: number): string => `for i in $(seq ${count}); do echo $i > new$i; done`;
      await box.must(["run", "--", "sh", "-c", make(9)]);
      expect(onTerminal(box, "undo", "n")).not.toContain("Take this back?");
      await box.must(["run", "--", "sh", "-c", make(10)]);
      expect(onTerminal(box, "undo", "n")).toContain("Take this back?");
      expect(existsSync(join(box.project, "new10"))).toBe(true);
      onTerminal(box, "undo", "y");
      expect(existsSync(join(box.project, "new10"))).toBe(false);
      await box.must(["run", "--", "sh", "-c", make(1_001)]);
      await box.must(["run", "--", "sh", "-c", "for f in new*; do echo more >> $f; done"]);
      expect(onTerminal(box, "undo", "n")).toContain("Take this back?");
      expect(readFileSync(join(box.project, "new7"), "utf8")).toBe("7\nmore\n");
    },
  );

  it.skipIf(script.error !== undefined)(
    "restore asks where the moment may be another one than the person meant",
    async () => {
      using box = new Sandbox();
      box.write("a", "one");
      await box.must(["init"]);
      box.write("a", "two");
      await box.must(["snapshot"]);
      box.write("a", "three");
      expect(onTerminal(box, "restore yesterday", "n")).toMatch(/the history begins at[\s\S]*Change 1 path/);
      expect(onTerminal(box, "restore 2100-01-01", "n")).toMatch(/lies in the future[\s\S]*Change 1 path/);
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("three");
      onTerminal(box, "restore 2100-01-01", "y");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two");
    },
  );

  it.skipIf(script.error !== undefined)("rollback asks before it puts back a file that was kept aside", async () => {
    using box = new Sandbox();
    box.write(".gitignore", ".env\n");
    box.write(".env", "KEY=1");
    await box.must(["init"]);
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
    const workspace = await store.open({ folder: box.project });
    const { id = "" } =
      (await workspace.snapshotAction({ type: "run_command", payload: { command: "git clean -fdx" } })) ?? {};
    rmSync(join(box.project, ".env"));
    await workspace.finishAction(id);
    await workspace.close();
    await store.close();
    expect(onTerminal(box, `rollback ${id}`, "n")).toMatch(/put back: \.env/);
    expect(existsSync(join(box.project, ".env"))).toBe(false);
    const said = onTerminal(box, `rollback ${id}`, "y");
    expect(readFileSync(join(box.project, ".env"), "utf8")).toBe("KEY=1");
    expect(said).not.toContain("like that already");
  });

  /** Runs a command line on a terminal, and calls `meanwhile` during its first question. `typed`: a key for each. */
  async function whileAsking(box: Sandbox, words: string, meanwhile: () => Promise<unknown>, typed: string) {
    const line = `stty rows 24 cols 80; ${box.command.join(" ")} ${words}`;
    const env = box.env({ TERM: "xterm", SHELL: "/bin/sh" });
    const child = spawn("script", ["-qec", line, "/dev/null"], { cwd: box.project, env });
    let shown = "";
    let questions = 0;
    let failed: unknown;
    child.stdout.on("data", (bytes: Buffer) => {
      shown += bytes.toString();
      while (shown.split(/Take this back\?|Change \d+ path|Remove the history/).length - 1 > questions) {
        const key = typed[questions] ?? "n";
        questions += 1;
        if (questions === 1) {
          void meanwhile()
            .then(() => child.stdin.write(key))
            .catch((error: unknown) => {
              failed = error;
              child.kill();
            });
        } else child.stdin.write(key);
      }
    });
    await once(child, "close");
    if (failed !== undefined) throw failed;
    return shown;
  }

  it.skipIf(script.error !== undefined)(
    "undo undoes the operation that it asked about, even if another one was recorded meanwhile",
    async () => {
      using box = new Sandbox();
      await box.must(["init"]);
      await box.must(["run", "--", "sh", "-c", "echo 1 > a"]);
      await whileAsking(box, "undo --ask", () => box.must(["run", "--", "sh", "-c", "echo 2 > b"]), "y");
      expect([existsSync(join(box.project, "a")), existsSync(join(box.project, "b"))]).toEqual([false, true]);
    },
  );

  it.skipIf(script.error !== undefined)("undo --since asks again if more work was recorded meanwhile", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 1 > a; echo 1 > b"]);
    const more = () => box.must(["run", "--", "sh", "-c", "echo 2 > d/c"]);
    box.write("d/keep", "");
    const shown = await whileAsking(box, "undo --since 0 --ask", more, "yn");
    expect(shown).toContain("asked again");
    expect([existsSync(join(box.project, "a")), existsSync(join(box.project, "d/c"))]).toEqual([true, true]);
    await whileAsking(box, "undo --since 0 --ask", () => Promise.resolve(), "y");
    expect([existsSync(join(box.project, "a")), existsSync(join(box.project, "d/c"))]).toEqual([false, false]);
  });

  it.skipIf(script.error !== undefined)(
    "undo of lines shows the hunks with its question, and asks again if other work is at the lines meanwhile",
    async () => {
      using box = new Sandbox();
      const lines = Array.from({ length: 12 }, (_, i) => `line ${i + 1}\n`).join("");
      box.write("a", lines);
      await box.must(["init"]);
      await box.must(["run", "--", "sed", "-i", "-e", "s/line 4$/FOUR/;s/line 8$/EIGHT/", "a"]);
      const changed = readFileSync(join(box.project, "a"), "utf8");
      const more = () => Promise.resolve(box.write("a", `above\n`.repeat(4) + changed));
      const shown = await whileAsking(box, "undo a:8 --ask", more, "yn");
      expect(shown).toMatch(/-EIGHT[^]*\+line 8[^]*asked again[^]*-FOUR[^]*\+line 4[^]*Take this back/);
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe(`above\n`.repeat(4) + changed);
      await whileAsking(box, "undo a:8 --ask", () => Promise.resolve(), "y");
      expect(readFileSync(join(box.project, "a"), "utf8")).toContain("line 4\n");
    },
  );

  it.skipIf(script.error !== undefined)(
    "forget removes the history that it asked about, even if another one got the name meanwhile",
    async () => {
      using box = new Sandbox();
      const ids = async () => ((await box.json(["workspaces"])).value as WorkspaceShape[]).map(({ id }) => id);
      await box.must(["workspaces", "create", "one"]);
      const [one = ""] = await ids();
      const typed = one.slice(0, 8);
      const shown = await whileAsking(box, `forget ${typed}`, () => box.must(["workspaces", "create", typed]), "y");
      expect(shown).toContain(`removed the history of one (${one}`);
      expect(await ids()).toEqual([expect.not.stringContaining(one)]);
    },
  );

  it.skipIf(script.error !== undefined)(
    "restore restores the state that it asked about, even if a snapshot was made meanwhile",
    async () => {
      using box = new Sandbox();
      box.write("a", "one");
      await box.must(["init"]);
      box.write("a", "two");
      await whileAsking(box, "restore latest --ask", () => box.must(["snapshot", "-m", "later"]), "y");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
    },
  );

  it.skipIf(script.error !== undefined)(
    "restore of an id restores the state that it asked about, even if a snapshot got that name meanwhile",
    async () => {
      using box = new Sandbox();
      box.write("a", "one");
      await box.must(["init"]);
      const [baseline] = (await box.json(["list", "--snapshots"])).value as SnapshotShape[];
      // A name of digits alone would be a number, which `snapshot --name` refuses. The beginning with a `-` is no number.
      const typed = baseline?.id.slice(0, 10) ?? "";
      box.write("a", "two");
      await whileAsking(box, `restore ${typed} --ask`, () => box.must(["snapshot", "--name", typed]), "y");
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
    },
  );

  it.skipIf(script.error !== undefined)("has colours, but not with --no-color or NO_COLOR", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    box.write("new", "x");
    expect(onTerminal(box, "status", "")).toContain("\u001b[32m+");
    expect(onTerminal(box, "--no-color status", "")).not.toContain("\u001b[32m");
    expect(onTerminal(box, "status", "", { NO_COLOR: "1" })).not.toContain("\u001b[32m");
  });
});
