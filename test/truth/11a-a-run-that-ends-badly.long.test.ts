import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import { Sandbox } from "../cli/sandbox.ts";

function summaryOf(box: Sandbox): RunShape {
  return JSON.parse(readFileSync(join(box.folder, "summary.json"), "utf8")) as RunShape;
}

/** A small file system that is mounted at `folder`, if this process may mount one. */
class SmallDisk implements Disposable {
  readonly folder: string;
  readonly isMounted: boolean;

  constructor(folder: string, mib: number) {
    this.folder = folder;
    mkdirSync(folder);
    this.isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mib}m`, "tmpfs", folder]).status === 0;
  }

  [Symbol.dispose](): void {
    if (this.isMounted) spawnSync("umount", ["-l", this.folder]);
  }
}

describe("Truth 11a: a run that ends badly", () => {
  it.each([
    ["removes", "cd ..; rm -rf project; exit 7"],
    ["moves away", "mv ../project ../elsewhere; exit 7"],
  ])(
    "the command %s the project's folder: its code and changes are reported, and undo makes the folder again",
    async (_how, script) => {
      using box = new Sandbox();
      box.write("a", "one\n");
      box.write("d/b", "two\n");
      const { workspace: id } = (await box.json(["init"])).value as { workspace: string };
      const ran = box.run(["run", "--summary", "../summary.json", "--", "sh", "-c", script]);
      expect([ran.code, ran.stdout]).toEqual([7, ""]);
      expect(summaryOf(box)).toMatchObject({ exit_code: 7, not_recorded: null, ambiguous: [] });
      expect(summaryOf(box).changes.map(({ path, change_type }) => `${change_type} ${path}`)).toEqual([
        "deleted a",
        "deleted d",
        "deleted d/b",
      ]);
      expect(ran.stderr).toContain("3 changes");
      expect(existsSync(box.project)).toBe(false);
      await box.must(["-w", id, "undo"], { cwd: "." });
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
      expect(readFileSync(join(box.project, "d/b"), "utf8")).toBe("two\n");
      await box.must(["verify"]);
    },
  );

  it("--rollback-on-failure makes a removed folder again", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    await box.must(["init"]);
    const script = "cd ..; rm -rf project; exit 7";
    const ran = box.run(["run", "--rollback-on-failure", "--summary", "../summary.json", "--", "sh", "-c", script]);
    expect(ran.code).toBe(7);
    expect(summaryOf(box)).toMatchObject({ rolled_back: true, not_rolled_back: null, exit_code: 7 });
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
  });

  it("the differences of a folder that the command put in the project's place are the command's changes", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    box.write("b", "b\n");
    await box.must(["init"]);
    const script = "cd ..; mv project old; mkdir project; echo two > project/a; echo new > project/c; exit 7";
    const ran = box.run(["run", "--summary", "../summary.json", "--", "sh", "-c", script]);
    expect(ran.code).toBe(7);
    expect(summaryOf(box).changes.map(({ path, change_type }) => `${change_type} ${path}`)).toEqual([
      "modified a",
      "deleted b",
      "created c",
    ]);
    await box.must(["undo"]);
    expect(readdirSync(box.project)).toEqual(["a", "b"]);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
  });

  it("a folder that is away without a run is not recorded as deleted", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    const { workspace: id } = (await box.json(["init"])).value as { workspace: string };
    rmSync(box.project, { recursive: true });
    for (const words of [["snapshot"], ["restore", "0"]]) {
      const ran = await box.call(["-w", id, ...words], { cwd: "." });
      expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("nothing was recorded as deleted")]);
    }
    expect(existsSync(box.project)).toBe(false);
  });

  it("if the store is full at its end, it says that nothing was recorded, and its hint brings the files back", async ({
    skip,
  }) => {
    using box = new Sandbox();
    using disk = new SmallDisk(box.store, 24);
    if (!disk.isMounted) skip("no file system can be mounted here");
    box.write("a", "one\n");
    await box.must(["init"]);
    const script = `echo two > a; head -c 8000000 /dev/urandom > big; head -c 30000000 /dev/zero > '${box.store}/fill'; exit 7`;
    for (const [more, code] of [
      [[], 7],
      [["--rollback-on-failure"], 122],
    ] as const) {
      const ran = box.run(["run", ...more, "--summary", "../summary.json", "--", "sh", "-c", script]);
      expect([ran.code, ran.stdout]).toEqual([code, ""]);
      const shape = summaryOf(box);
      expect(shape).toMatchObject({ exit_code: 7, undo_id: null, rolled_back: false });
      expect(shape.not_recorded?.reason).toMatch(/ENOSPC|room|space/i);
      expect(shape.not_rolled_back === null).toBe(more.length === 0);
      expect(ran.stderr).toContain(`NOT recorded`);
      if (more.length > 0) expect(ran.stderr).toContain("NOT rolled back");
      rmSync(join(box.store, "fill"));
      const [, ...words] = (shape.not_recorded?.hint ?? "").split(" ");
      const helped = await box.must(words);
      if (more.length > 0) expect(helped.stderr).toMatch(/paths? (was|were) NOT rolled back/);
      expect(readdirSync(box.project)).toEqual(["a"]);
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
      await box.must(["verify"]);
    }
  });

  it("if its transaction is rolled back while its command runs, it says NOT committed, and the exit code is 1", async () => {
    using box = new Sandbox();
    box.write("a", "before\n");
    await box.must(["init"]);
    const chronicle = box.command.map((word) => `'${word}'`).join(" ");
    const script = `echo after > a; ${chronicle} transaction rollback > /dev/null; echo new > new`;
    const ran = box.run(["run", "--rollback-on-failure", "--summary", "../summary.json", "--", "sh", "-c", script]);
    expect(ran.stderr).toContain(
      "NOT committed: the command succeeded, but its transaction was rolled back meanwhile. " +
        "To keep what it changed: chronicle redo",
    );
    expect(ran.stderr).not.toContain("NOT rolled back");
    expect(ran.code).toBe(1);
    expect(summaryOf(box)).toMatchObject({
      exit_code: 0,
      not_rolled_back: null,
      not_committed: { hint: "chronicle redo" },
    });
  });

  it("a program that keeps writing one file does not stop the rollback of all other files", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    await box.must(["init"]);
    // The program ends when the file is gone, and so also when the whole box is removed.
    box.write("../goes-on", "");
    const server = "while [ -e ../goes-on ]; do date +%N >> log; done";
    const script = `(${server}) > /dev/null 2>&1 & echo two > a; echo x > new; while [ ! -s log ]; do sleep 0.02; done; exit 7`;
    try {
      const ran = box.run(["run", "--rollback-on-failure", "--summary", "../summary.json", "--", "sh", "-c", script]);
      expect([7, 122]).toContain(ran.code);
      expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
      expect(existsSync(join(box.project, "new"))).toBe(false);
      // The program writes the file again and again. The rollback leaves the file, or keeps what came meanwhile beside it.
      if (ran.code === 122)
        expect(summaryOf(box).not_rolled_back?.paths).toEqual([
          expect.stringMatching(/^log(?:\.conflict-[0-9a-f]+)?$/),
        ]);
    } finally {
      rmSync(join(box.folder, "goes-on"));
    }
  });
});

describe("Truth 10: what a proxy saw of the network", () => {
  it("is read when the command has ended", async () => {
    using box = new Sandbox();
    const script = `echo '[{"host":"example.org","port":443}]' > ../net.json; exit 4`;
    expect(box.run(["run", "--network-events", "../net.json", "--", "sh", "-c", script]).code).toBe(4);
    expect((await box.json(["show"])).value).toMatchObject({ network_events: [{ host: "example.org", port: 443 }] });
  });

  it("leaves a note if it cannot be read; the run is recorded, and its code is the command's", async () => {
    using box = new Sandbox();
    const ran = box.run(["run", "--network-events", "../none.json", "--", "sh", "-c", "echo x > f; exit 4"]);
    expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining("network events were not recorded")]);
    const notes = [expect.stringContaining("network events were not recorded")];
    expect((await box.json(["show"])).value).toMatchObject({ network_events: [], notes, changed: 1 });
  });
});
