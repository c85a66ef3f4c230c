import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GcShape, WorkspaceShape } from "../../src/api/shapes.ts";
import type { DoctorShape } from "../../src/api/store-api.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { letGracePass } from "../helpers/grace.ts";

/** A history that was forgotten is kept for 24 hours, and comes back exactly as it was. */

interface Lived {
  readonly box: Sandbox;
  readonly id: string;
  /** The path of the note about the forgotten history, beside the key. */
  readonly tombstone: string;
}

async function lived(): Promise<Lived> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.write("a.txt", "two\n");
  await box.must(["snapshot"]);
  box.write("a.txt", "three\n");
  await box.must(["restore", "1", "-y"]);
  const [only] = await workspacesOf(box);
  const id = only?.id ?? "";
  return { box, id, tombstone: join(box.folder, "config/chronicle/forgotten", `${id}.json`) };
}

async function workspacesOf(box: Sandbox): Promise<WorkspaceShape[]> {
  return (await box.json(["workspaces"])).value as WorkspaceShape[];
}

async function freedBy(box: Sandbox): Promise<number> {
  const { value } = await box.json(["gc"]);
  return (value as GcShape).freed_blobs;
}

async function checkOf(box: Sandbox): Promise<DoctorShape["checks"][number] | undefined> {
  const { value } = await box.json(["doctor"]);
  return (value as DoctorShape).checks.find(({ name }) => name === "forgotten");
}

describe("Truth 19: a forgotten history is kept for a day", { timeout: 600_000 }, () => {
  it("comes back exactly, with its log, its snapshots and undo", async () => {
    const { box, id, tombstone } = await lived();
    using _box = box;
    // Frees what is garbage before the history is forgotten.
    await freedBy(box);
    const log = readFileSync(join(box.store, "workspaces", id, "events.wal"));
    const listed = (await box.json(["list", "--snapshots"])).value;

    const gone = await box.must(["forget", id, "-y"]);
    expect(gone.stdout).toContain(`chronicle unforget ${id}`);
    expect(await workspacesOf(box)).toEqual([]);
    expect((await box.call(["-w", id, "list"])).code).toBe(3);
    expect(await freedBy(box)).toBe(0);
    expect((await box.must(["unforget"])).stdout).toContain(id);

    const { seq } = JSON.parse(log.toString().trimEnd().split("\n").at(-1) ?? "") as { seq: number };
    const stone = JSON.parse(readFileSync(tombstone, "utf8")) as Record<string, unknown>;
    expect(stone).toMatchObject({
      ...{ id, path: box.project, store: box.store },
      head: { seq, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      by: { pid: process.pid, actor: "human" },
    });
    expect(Date.parse(String(stone["until"])) - Date.parse(String(stone["forgotten"]))).toBe(24 * 3_600_000);
    expect(await checkOf(box)).toMatchObject({ ok: true, detail: expect.stringContaining("1 ") });

    await box.must(["unforget", id.slice(0, 8)]);
    expect(await workspacesOf(box)).toMatchObject([{ id, path: box.project }]);
    expect(readFileSync(join(box.store, "workspaces", id, "events.wal"))).toEqual(log);
    expect(existsSync(tombstone)).toBe(false);
    expect((await box.must(["verify"])).stdout).toMatch(/^ok[^]*compared with the signed head/m);
    expect((await box.json(["list", "--snapshots"])).value).toEqual(listed);
    await box.must(["undo", "-y"]);
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("three\n");
    await box.must(["restore", "0", "-y"]);
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("one\n");
  });

  it("is freed by the first gc after the day, and cannot be brought back then", async () => {
    const { box, id } = await lived();
    using _box = box;
    await box.must(["forget", id, "-y"]);
    letGracePass(join(box.folder, "config/chronicle"));
    expect(await freedBy(box)).toBeGreaterThan(0);
    expect(readdirSync(join(box.store, "forgotten"))).toEqual([]);
    const back = await box.call(["unforget", id]);
    expect([back.code, back.stderr]).toEqual([3, expect.stringContaining(id)]);
    expect(await checkOf(box)).toBeUndefined();
  });

  it("does not come back beside another history of its folder or its name", async () => {
    const { box, id } = await lived();
    using _box = box;
    await box.must(["forget", id, "-y"]);
    await box.must(["init"]);
    const [anew] = await workspacesOf(box);
    const inTheWay = await box.call(["unforget", id]);
    expect([inTheWay.code, inTheWay.stderr]).toEqual([6, expect.stringContaining(anew?.id ?? "?")]);
    await box.must(["forget", anew?.id ?? "", "-y"]);
    await box.must(["unforget", id]);

    const named = (await box.must(["workspaces", "create", "one"])).stdout.trim();
    await box.must(["forget", "one", "-y"]);
    const second = (await box.must(["workspaces", "create", "one"])).stdout.trim();
    expect((await box.call(["unforget", named])).code).toBe(6);
    await box.must(["forget", second, "-y"]);
    await box.must(["unforget", named]);
    expect((await workspacesOf(box)).map((one) => one.id).sort()).toEqual([id, named].sort());
  });

  it("doctor says that a history is gone without having been freed", async () => {
    const { box, id } = await lived();
    using _box = box;
    await box.must(["forget", id, "-y"]);
    rmSync(join(box.store, "forgotten"), { recursive: true });
    expect(await checkOf(box)).toMatchObject({ ok: false, detail: expect.stringContaining(id) });
  });

  it("doctor says that there is a signed head and no history", async () => {
    const { box, id } = await lived();
    using _box = box;
    rmSync(box.store, { recursive: true });
    expect(await checkOf(box)).toMatchObject({ ok: false, detail: expect.stringContaining(id) });
  });
});

describe("Truth 19: --now", { timeout: 600_000 }, () => {
  const script = spawnSync("script", ["--version"], { encoding: "utf8" });

  function onTerminal(box: Sandbox, words: string, env: Readonly<Record<string, string>> = {}): string {
    const line = `stty rows 24 cols 200; ${box.command.join(" ")} ${words}`;
    return spawnSync("script", ["-qec", line, "/dev/null"], {
      ...{ cwd: box.project, input: "y", encoding: "utf8" },
      env: box.env({ TERM: "xterm", SHELL: "/bin/sh", ...env }),
    }).stdout;
  }

  it("needs a terminal, whatever other options are given", async () => {
    const { box, id } = await lived();
    using _box = box;
    for (const words of [["--now"], ["--now", "-y"], ["--now", "-y", "--json"]]) {
      const ran = await box.call(["forget", id, ...words]);
      expect([ran.code, ran.stderr + ran.stdout]).toEqual([6, expect.stringContaining("a person at a terminal")]);
    }
    expect(await workspacesOf(box)).toHaveLength(1);
  });

  it.skipIf(script.error !== undefined)("frees a history at once if nobody is at work in it", async () => {
    const { box, id } = await lived();
    using _box = box;
    expect(onTerminal(box, `forget ${id} --now`, { CHRONICLE_ROLE: "agent" })).toContain("an agent may not do this");
    // The run is an open session, so that somebody is at work in the history.
    const running = box.start(["run", "--", "sh", "-c", "echo ready; exec sleep 600"]);
    await new Promise((done) => running.stdout.once("data", done));
    expect(onTerminal(box, `forget ${id} --now -y`)).toContain("is at work");
    running.kill("SIGTERM");
    await new Promise((done) => running.once("exit", done));
    expect(await workspacesOf(box)).toHaveLength(1);
    expect(onTerminal(box, `forget ${id} --now -y`)).toContain("for good");
    expect(await workspacesOf(box)).toEqual([]);
    expect((await box.call(["unforget", id])).code).toBe(3);
    expect(await freedBy(box)).toBeGreaterThan(0);
  });
});
