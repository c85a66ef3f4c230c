import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "./sandbox.ts";
import { pruneNow } from "../helpers/grace.ts";

/** The commands `prune`, `pin` and `du --by`, the file `config.yaml`, and the role of an agent. */

async function lived(box: Sandbox): Promise<void> {
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  for (const text of ["two", "three", "four"]) {
    box.write("a.txt", `${text}\n`);
    await box.must(["snapshot"]);
  }
}

function configure(box: Sandbox, text: string): string {
  const folder = join(box.folder, "config", "chronicle");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.yaml"), text);
  return join(folder, "config.yaml");
}

describe("prune", () => {
  it("previews with --dry-run, needs --yes without a terminal, and commands report the pruned contents", async () => {
    using box = new Sandbox();
    await lived(box);
    const rules = ["--keep-last", "1"];
    const shown = await box.must(["prune", ...rules, "--dry-run"]);
    expect(shown.stdout).toMatch(
      /^would give up 2 snapshots; 0 actions and 2 snapshots kept; 2 contents of 10 B could be/,
    );
    const refused = await box.call(["prune", ...rules]);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining("--dry-run shows what would be given up; if you are sure, add --yes"),
    ]);
    const given = await box.must(["prune", ...rules, "--yes"]);
    expect(given.stdout).toMatch(/^gave up 2 snapshots \(event \d+\); .* chronicle gc frees 2 contents of 10 B/);
    await box.must(["unforget", /chronicle unforget (\S+)`/.exec(given.stdout)?.[1] ?? "?"]);
    await pruneNow(box, { keepLast: 1 });
    const [, event] = /by event (\d+)/.exec((await box.must(["verify"])).stdout) ?? [];
    await box.must(["gc"]);
    const gone = await box.call(["cat", "a.txt@2"]);
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining(`pruned by event ${event}`)]);
    // The hint names the command that shows which iterations are kept.
    expect(gone.stderr).toContain("chronicle history FILE");
    const history = (await box.must(["history", "a.txt"])).stdout;
    expect(history).toMatch(new RegExp(`@2 .*\\(pruned by event ${event}\\)`));
    expect(history).not.toMatch(/@4 .*pruned/);
    const restore = await box.call(["restore", "1"]);
    expect([restore.code, restore.stderr]).toEqual([
      3,
      expect.stringContaining(`snapshot 1 was pruned by event ${event}`),
    ]);
    expect((await box.must(["list", "--snapshots"])).stdout).toContain(`(pruned by event ${event})`);
    expect((await box.must(["verify"])).stdout).toMatch(new RegExp(`pruned 1\\.\\.\\d+ by event ${event}`));
    expect((await box.must(["prune", ...rules, "--yes"])).stdout).toContain("nothing to prune");
    expect(JSON.parse((await box.must(["prune", "--json", "--yes", ...rules])).stdout)).toMatchObject({ event: null });
  });

  it("uses limits on the command line instead of those of config.yaml", async () => {
    using box = new Sandbox();
    await lived(box);
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
    const workspace = await store.open({ folder: box.project });
    for (let i = 0; i < 6; i += 1) await workspace.action({ type: "write_file", payload: { path: "a.txt" } }, () => i);
    await workspace.close();
    await store.close();
    configure(box, "chronicle:\n  max_snapshots: 100\n  min_age_hours: 5\n");
    const actions = async (): Promise<number> =>
      (JSON.parse((await box.must(["actions", "--json"])).stdout) as unknown[]).length;
    expect(await actions()).toBe(6);
    expect((await box.must(["prune", "--yes"])).stdout).toContain("nothing to prune; 6 actions");
    expect((await box.must(["prune", "--yes", "--max-snapshots", "4"])).stdout).toContain(
      "nothing to prune; 6 actions",
    );
    const limits = ["--max-snapshots", "4", "--min-age-hours", "0"];
    expect((await box.must(["prune", "--dry-run", ...limits])).stdout).toContain("would give up 2 actions");
    expect((await box.must(["prune", "--yes", ...limits])).stdout).toContain("gave up 2 actions");
    expect(await actions()).toBe(4);
    expect((await box.call(["prune", "--yes", "--keep-last", "1", ...limits])).code).toBe(2);
    expect((await box.call(["prune", "--yes", "--max-snapshots", "x"])).code).toBe(2);
  });

  it("reports the snapshots that it keeps only because they are too young", async () => {
    using box = new Sandbox();
    await lived(box);
    configure(box, "chronicle:\n  min_age_hours: 1\n");
    const shown = await box.must(["prune", "--keep-last", "1", "--dry-run"]);
    expect(shown.stdout).toContain(
      "nothing to prune; 0 actions and 4 snapshots kept (2 of them because they are younger",
    );
  });

  it("keeps pinned snapshots until they are unpinned", async () => {
    using box = new Sandbox();
    await lived(box);
    expect((await box.must(["pin", "1"])).stdout).toContain("1 is kept");
    expect((await box.must(["list", "--snapshots"])).stdout).toMatch(/^1 .*pinned/m);
    const dry = ["prune", "--keep-last", "1", "--dry-run", "--json"];
    expect(JSON.parse((await box.must(dry)).stdout)).toMatchObject({ pruned_snapshots: [2] });
    expect(JSON.parse((await box.must([...dry, "--drop-pinned"])).stdout)).toMatchObject({
      pruned_snapshots: [1, 2],
    });
    await box.must(["unpin", "1"]);
    expect(JSON.parse((await box.must(dry)).stdout)).toMatchObject({ pruned_snapshots: [1, 2] });
    expect((await box.call(["pin", "nothing"])).code).toBe(3);
    const wrong = await box.call(["prune", "--keep-within", "soon"]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("'soon' is no length of time")]);
  });
});

describe("config.yaml", () => {
  it("is shown with the source of each limit; a mistake is reported with file and line", async () => {
    using box = new Sandbox();
    await lived(box);
    const file = configure(box, "chronicle:\n  max_snapshots: 7\n");
    const shown = await box.must(["config"]);
    expect(shown.stdout).toMatch(new RegExp(`^max_snapshots +7 +${file}$`, "m"));
    expect(shown.stdout).toMatch(/^max_age_days +30 +default$/m);
    expect(JSON.parse((await box.must(["config", "--json"])).stdout).retention).toMatchObject({ max_snapshots: 7 });
    configure(box, "chronicle:\n  max_snapshot: 7\n");
    const wrong = await box.call(["status"]);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining(`${file}, line 2: there is no setting max_snapshot`),
    ]);
  });

  it("sets a quota: a snapshot over the quota is refused", async () => {
    using box = new Sandbox();
    await lived(box);
    configure(box, "chronicle:\n  max_store_bytes: 1000\n");
    box.write("b.txt", "new\n");
    const refused = await box.call(["snapshot"]);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("max_store_bytes is 1000 B")]);
  });
});

describe("an agent", () => {
  it("with CHRONICLE_ROLE=agent cannot prune, gc, configure or unpin, and each attempt is recorded", async () => {
    using box = new Sandbox();
    await lived(box);
    const env = { CHRONICLE_ROLE: "agent" };
    for (const args of [["prune", "--keep-last", "0", "--yes"], ["gc"], ["config", "maxBytes", "1"], ["unpin", "0"]]) {
      const refused = await box.call(args, { env });
      expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("an agent may not do this")]);
    }
    expect((await box.must(["log", "--json", "--prefix", "refused:"])).stdout.match(/"what":"\w+"/g)).toEqual(
      ["prune", "gc", "configure", "pin"].map((what) => `"what":"${what}"`),
    );
  });
});

it("an agent's command is refused without a hint at --yes", async () => {
  using box = new Sandbox();
  await lived(box);
  const [only] = (await box.json(["workspaces"])).value as { id: string }[];
  const env = { CHRONICLE_ROLE: "agent" };
  for (const args of [
    ["prune", "--keep-last", "0"],
    ["compact", "--drop-archive"],
    ["forget", only?.id ?? ""],
  ]) {
    const refused = await box.call(args, { env });
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("an agent may not do this")]);
    expect(refused.stderr).not.toContain("--yes");
    expect((await box.call(args)).stderr).toContain("--yes");
  }
  expect((await box.json(["workspaces"])).value).toHaveLength(1);
});

describe("du --by", () => {
  it("groups the contents of a workspace by path, age or session", async () => {
    using box = new Sandbox();
    await lived(box);
    const groups = async (by: string): Promise<unknown> =>
      JSON.parse((await box.must(["du", "--by", by, "--json"])).stdout).groups;
    expect(await groups("path")).toEqual([{ name: "a.txt", count: 4, content_bytes: 19 }]);
    expect(await groups("age")).toEqual([{ name: "the last hour", count: 4, content_bytes: 19 }]);
    expect(await groups("session")).toEqual([{ name: "(no session)", count: 4, content_bytes: 19 }]);
    expect((await box.must(["du", "--by", "path"])).stdout).toMatch(/^a\.txt +19 B +4 blobs$/m);
    expect((await box.call(["du", "--by", "colour"])).code).toBe(2);
  });
});
