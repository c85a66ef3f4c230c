import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { ended, Sandbox } from "../cli/sandbox.ts";

/** A container: the ids of its processes begin at 1, and all of them end with it. */
const CONTAINER = ["--pid", "--fork", "--kill-child", "--mount-proc"];
const hasContainers = spawnSync("unshare", [...CONTAINER, "true"]).status === 0;

/** Starts a container in which `chronicle` is process 1, and kills it once the command has begun. */
async function killedAtWork(box: Sandbox, words: readonly string[]): Promise<void> {
  const command = [...box.command, "run", ...words, "--", "sh", "-c", "echo theirs > theirs; sleep 600"];
  const child: ChildProcess = spawn("unshare", [...CONTAINER, ...command], { cwd: box.project, env: box.env() });
  const gone = ended(child);
  await vi.waitUntil(() => existsSync(join(box.project, "theirs")), { timeout: 100_000 });
  child.kill("SIGKILL");
  await gone;
}

/** Starts the container again, with a shell as process 1. */
function again(box: Sandbox, line: string): string {
  const script = `chronicle() { ${box.command.map((word) => `'${word}'`).join(" ")} "$@"; }; ${line}`;
  const ran = spawnSync("unshare", [...CONTAINER, "sh", "-c", script], {
    cwd: box.project,
    env: box.env(),
    encoding: "utf8",
  });
  expect([ran.status, ran.stderr]).toMatchObject([0, expect.anything()]);
  return ran.stdout;
}

describe.skipIf(!hasContainers)("a container that is killed and started again, so that process ids repeat", () => {
  it("a run is over, and what a person does later does not belong to it", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    expect(box.run(["init"]).code).toBe(0);
    await killedAtWork(box, []);
    const sessions = again(box, "echo mine > mine; chronicle snapshot >&2; chronicle sessions --json");
    const [session] = JSON.parse(sessions) as { readonly session_id: string }[];
    expect(session).toMatchObject({ state: "abandoned" });
    expect(box.run(["changes", "--session", session?.session_id ?? ""]).stdout).not.toContain("mine");
  });

  it("a command off the record is over, and what a person does later is recorded", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    expect(box.run(["init"]).code).toBe(0);
    await killedAtWork(box, ["--otr"]);
    again(box, "chronicle snapshot >&2; echo mine > mine; chronicle snapshot >&2");
    expect(box.run(["files"]).stdout).toContain("mine");
    expect(box.run(["files"]).stdout).not.toContain("theirs");
  });
});
