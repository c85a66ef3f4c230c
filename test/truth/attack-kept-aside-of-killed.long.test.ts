import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/** Runs a command in a run that is killed at once. The command continues and does `what`. */
function killed(box: Sandbox, what: string): void {
  box.run(["run", "--", "sh", "-c", `kill -9 $PPID; sleep 0.3; ${what}; echo done > done.tmp`]);
  const until = Date.now() + 30_000;
  while (!existsSync(join(box.project, "done.tmp"))) {
    if (Date.now() > until) throw new Error("the command did not end");
    box.sh("sleep 0.1");
  }
}

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

async function project(box: Sandbox): Promise<void> {
  box.write(".gitignore", "ig*\n*.tmp\n");
  for (const name of ["ig", "ig2", "ig3"]) box.write(name, `PRECIOUS ${name}\n`);
  box.write("z", "1\n");
  await box.must(["init"]);
}

describe("Truth: files kept aside for a run that was killed before it recorded anything", { timeout: 300_000 }, () => {
  it("come back by a plain undo, which says so, and go again by a redo", async () => {
    using box = new Sandbox();
    await project(box);
    killed(box, "echo 2 > z; rm ig; echo more > ig2; echo n > nn");
    const status = await box.must(["status"]);
    expect(status.stdout + status.stderr).toContain("kept aside before the session: ig, ig2");
    expect((await box.must(["list"])).stdout).toMatch(/command +run: .*kill -9/);
    const dry = await box.must(["undo", "--dry-run"]);
    const done = await box.must(["undo"]);
    for (const { stdout } of [dry, done]) expect(stdout).toMatch(/put back: ig, ig2/);
    expect([read(box, "ig"), read(box, "ig2"), read(box, "ig3")]).toEqual(
      ["ig", "ig2", "ig3"].map((name) => `PRECIOUS ${name}\n`),
    );
    // Changes that nobody recorded before the kill belong to nobody.
    expect([read(box, "z"), read(box, "nn")]).toEqual(["2\n", "n\n"]);
    await box.must(["redo"]);
    expect([existsSync(join(box.project, "ig")), read(box, "ig2")]).toEqual([false, "more\n"]);
    await box.must(["verify"]);
  });

  it.each([["--session"], []])("come back by undo %s with the run's id", async (...how) => {
    using box = new Sandbox();
    await project(box);
    killed(box, "rm ig");
    const { value } = await box.json(["sessions"]);
    const [session] = value as readonly { session_id: string; omitted_changes: unknown }[];
    expect(session?.omitted_changes).toMatchObject([{ path: "ig", change_type: "deleted", kept: true, lost: false }]);
    await box.must(["undo", ...how, session?.session_id ?? ""]);
    expect(read(box, "ig")).toBe("PRECIOUS ig\n");
  });

  it("stay kept after another command closes the run, and a run that touched nothing is no operation", async () => {
    using box = new Sandbox();
    await project(box);
    killed(box, "true");
    expect((await box.call(["undo"])).code).toBe(3);
    box.sh("rm done.tmp");
    killed(box, "rm ig");
    await box.must(["snapshot"]);
    await box.must(["gc"]);
    await box.must(["undo"]);
    expect(read(box, "ig")).toBe("PRECIOUS ig\n");
  });

  it("come back by the rollback of a killed run", async () => {
    using box = new Sandbox();
    await project(box);
    box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "kill -9 $PPID; rm ig"]);
    box.sh("while [ -e ig ]; do sleep 0.1; done");
    await box.must(["snapshot"]);
    expect(read(box, "ig")).toBe("PRECIOUS ig\n");
  });
});
