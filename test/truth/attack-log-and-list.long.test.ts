import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SessionShape } from "../../src/api/shapes.ts";
import type { RecentShape } from "../../src/api/recent-api.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

async function seqs(box: Sandbox, ...words: string[]): Promise<number[]> {
  return ((await box.json(["log", ...words])).value as { seq: number }[]).map(({ seq }) => seq);
}

describe("Truth: log --limit gives the newest", () => {
  it("in the order of the log, as text and as JSON, and with --from the first events from there on", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    for (const text of ["1", "2", "3"]) {
      box.write("a", text);
      await box.must(["snapshot"]);
    }
    const all = await seqs(box);
    const [first, second, third] = all;
    expect(await seqs(box, "--limit", "2")).toEqual(all.slice(-2));
    expect(await seqs(box, "--limit", "2", "--reverse")).toEqual(all.slice(-2).toReversed());
    expect(await seqs(box, "--limit", "2", "--to", String(third))).toEqual([second, third]);
    expect(await seqs(box, "--limit", "2", "--from", String(first))).toEqual([first, second]);
    expect(await seqs(box, "--limit", "1", "--prefix", "file:a")).toEqual(
      (await seqs(box, "--prefix", "file:a")).slice(-1),
    );
    expect(await seqs(box, "--limit", "0")).toEqual(all);
    const lines = (await box.must(["log", "--limit", "2"])).stdout.trimEnd().split("\n");
    expect(lines.map((line) => Number.parseInt(line.trim(), 10))).toEqual(all.slice(-2));
  });
});

describe("Truth: list offers undo only if something can be undone", () => {
  it("not after init alone, and not after everything was undone", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    const offers = async (): Promise<boolean> =>
      (await box.must(["list"])).stdout.includes("chronicle undo takes back");
    expect([await offers(), (await box.call(["undo"])).code]).toEqual([false, 3]);
    await box.must(["run", "--", "sh", "-c", "echo 1 > a"]);
    expect(await offers()).toBe(true);
    await box.must(["undo"]);
    expect([await offers(), (await box.call(["undo"])).code]).toEqual([false, 3]);
    await box.must(["redo"]);
    expect(await offers()).toBe(true);
  });
});

describe("Truth: the hint of list about a plain undo", () => {
  it("says 'the last' only for the newest line, and otherwise names the work or says that it is older", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 1 > a"]);
    const hint = async (...words: string[]): Promise<string> =>
      (await box.must(["list", ...words])).stdout.trimEnd().split("\n").at(-1)?.split(";")[0] ?? "";
    expect(await hint()).toBe("chronicle undo takes back the newest of these");
    box.write("b", "1");
    await box.must(["snapshot"]);
    expect(await hint()).toBe("chronicle undo takes back: sh -c 'echo 1 > a'");
    expect(await hint("--limit", "1")).toBe("chronicle undo takes back something older than these");
    await box.must(["run", "--", "sh", "-c", "echo 2 > a"]);
    await box.must(["undo"]);
    expect(await hint()).toBe("chronicle undo takes back: sh -c 'echo 1 > a'");
    await box.must(["redo"]);
    expect(await hint()).toBe("chronicle undo takes back the newest of these");
    box.write("a", "mine\n");
    await box.must(["snapshot"]);
    expect(await hint()).toBe("chronicle undo takes back: sh -c 'echo 2 > a'");
  });
});

describe("Truth: the hints of list and run after a redo of work that was undone by selection", () => {
  it("name the redone work as what undo takes back", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    const hints = async (): Promise<string[]> => {
      const run = box.run(["run", "--", "true"]);
      await box.must(["snapshot"]);
      const list = (await box.must(["list"])).stdout.trimEnd().split("\n").at(-1)?.split(";")[0] ?? "";
      return [/what was done before: (.*)\)\n$/.exec(run.stderr)?.[1] ?? run.stderr, list];
    };
    const id = (await box.must(["transaction", "begin"])).stdout.trim();
    box.write("b", "1");
    await box.must(["transaction", "rollback", id]);
    await box.must(["redo"]);
    expect(await hints()).toEqual([
      `transaction ${id}`,
      expect.stringMatching(/^chronicle undo takes back: transaction /),
    ]);
    await box.must(["run", "--", "sh", "-c", "echo 1 > c"]);
    const { value } = await box.json(["sessions"]);
    const ran = (value as SessionShape[]).find(({ command }) => command?.includes("echo 1 > c"));
    await box.must(["undo", "--session", ran?.session_id ?? ""]);
    await box.must(["redo"]);
    expect(await hints()).toEqual([
      "run: sh -c 'echo 1 > c'",
      expect.stringMatching(/^chronicle undo takes back: run: sh /),
    ]);
    const { stdout } = await box.must(["undo"]);
    expect(stdout).toContain("- c");
  });
});

describe("Truth: a snapshot prints the count that list has for it", () => {
  it("and the paths touched since the snapshot before, and list shows its name and its message", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "echo 1 > b; echo 1 > c"]);
    await box.must(["undo"]);
    await box.must(["redo"]);
    const counts = async (...words: string[]): Promise<string[]> => {
      const { stdout } = await box.must(["snapshot", ...words]);
      const { items } = (await box.json(["list"])).value as RecentShape;
      return [stdout.replace(/ {2}\S+\n$/, ""), `${items[0]?.summary} ${items[0]?.changed}`];
    };
    expect(await counts("--name", "good")).toEqual([
      'snapshot 2 "good": 0 changes (2 paths touched since snapshot 1)',
      "good 0",
    ]);
    expect((await box.must(["list", "--snapshots"])).stdout).toMatch(/^2 .* snapshot {2}2 paths touched {2}/);
    box.write("a", "1");
    await box.must(["put", "d"], { input: "d" });
    box.write("e", "1");
    expect(await counts("--name", "better", "-m", "works")).toEqual([
      'snapshot 3 "better": 2 changes (3 paths touched since snapshot 2)',
      "better: works 2",
    ]);
    box.write("a", "2");
    expect(await counts()).toEqual(["snapshot 4: 1 change", "snapshot 1"]);
  });
});

describe("Truth: list counts all edits that were recorded for a snapshot, and names the way back to before them", () => {
  it.each([
    { what: "a new .gitignore", also: "echo '*.tmp' > .gitignore", count: 3 },
    { what: "a pipe", also: "mkfifo p", count: 2 },
    { what: "a setting", config: ["forceInclude", "z"], count: 2 },
  ])("also beside $what, which changes the coverage", async ({ also = "true", config, count }) => {
    using box = new Sandbox();
    box.write("a", "one\n");
    await box.must(["init"]);
    if (config !== undefined) await box.must(["config", ...config]);
    box.sh(also);
    box.write("a", "TWO\n");
    box.write("b", "new\n");
    await box.call(["snapshot", "-m", "mine"]);
    const { items } = (await box.json(["list"])).value as RecentShape;
    expect(items[0]).toMatchObject({ kind: "snapshot", summary: "mine", changed: count });
    await box.must((items[0]?.back ?? "").split(" ").slice(1));
    expect(readdirSync(box.project).filter((name) => name !== "p")).toEqual(["a"]);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
  });

  it("also across actions without changes and settings, back to the last work with a line of its own", async () => {
    await using project = new Project();
    project.write("a", "one\n");
    const workspace = await project.init();
    const call = async (work: () => void): Promise<void> =>
      workspace.action({ type: "run_shell", payload: { command: "true" }, session: "s" }, work);
    project.write("before", "1\n");
    await call(() => project.write("a", "by an action\n"));
    project.write("b", "new\n");
    await call(() => undefined);
    await workspace.pin("0");
    project.write("c", "new\n");
    await workspace.snapshot({ message: "mine" });
    const { items } = await workspace.recent();
    expect(items[0]).toMatchObject({ kind: "snapshot", changed: 2 });
    await workspace.restore((items[0]?.back ?? "").split(" ").at(-1) ?? "");
    expect(readdirSync(project.folder)).toEqual(["a", "before"]);
    expect(project.read("a")).toBe("by an action\n");
  });
});

describe("Truth: redo redoes the last undo that changed something, and list offers that", () => {
  it("an undo that only met the conflict again is skipped, and the redo removes the conflict", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    const workspace = await project.init();
    for (const path of ["f", "g"])
      await workspace.action({ type: "write_file", payload: { path }, session: "s", turn: "t1" }, () =>
        project.write(path, "by t1\n"),
      );
    project.write("f", "by a human\n");
    const first = await workspace.undo({ turn: "last" });
    expect(first).toMatchObject({ changes: [{ path: "g" }], unmerged: [{ path: "f" }] });
    expect(await workspace.undo({ turn: "t1" })).toMatchObject({ changes: [], unmerged: [{ path: "f" }] });

    const { items } = await workspace.recent();
    expect(items.map(({ kind, changed }) => [kind, changed]).slice(0, 2)).toEqual([
      ["undo", 0],
      ["undo", 1],
    ]);
    expect(items[0]?.back).toMatch(/^chronicle restore seq:/);
    expect(items[1]?.back).toBe("chronicle redo");
    expect(await workspace.redo()).toMatchObject({ changes: [{ path: "g" }] });
    expect([project.read("f"), project.read("g")]).toEqual(["by a human\n", "by t1\n"]);
    expect(await workspace.conflicts()).toEqual([]);
    await expect(workspace.redo()).rejects.toThrow("there is nothing to redo");
    expect((await workspace.recent()).items[0]).toMatchObject({ kind: "redo", changed: 1, back: "chronicle undo" });
  });

  it("there is nothing to redo if the only undo met nothing but conflicts", async () => {
    await using project = new Project();
    project.write("f", "before\n");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "f" }, session: "s", turn: "t1" }, () =>
      project.write("f", "by t1\n"),
    );
    project.write("f", "by a human\n");
    await workspace.undo({ turn: "last" });
    expect((await workspace.recent()).items[0]?.back).toMatch(/^chronicle restore seq:/);
    const { seq } = await workspace.status();
    await expect(workspace.redo()).rejects.toThrow("there is nothing to redo");
    expect((await workspace.status()).seq).toBe(seq);
    expect(await workspace.conflicts()).toHaveLength(1);
  });

  it("an undo that put back only a kept file is redone", async () => {
    using box = new Sandbox();
    box.sh("echo .env > .gitignore; echo S=1 > .env");
    await box.must(["init"]);
    box.run(["run", "--", "rm", ".env"]);
    await box.must(["undo"]);
    const { items } = (await box.json(["list"])).value as RecentShape;
    expect(items[0]).toMatchObject({ kind: "undo", changed: 0, back: "chronicle redo" });
    await box.must(["redo"]);
    expect(readdirSync(box.project)).not.toContain(".env");
  });
});
