import { existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** A file that the origin leaves out and erases stays in the folders that follow it, as it stays in the origin's own. */

const SECRET = "a token that got in\n";

async function only(client: ChronicleClient): Promise<WorkspaceApi> {
  const [one] = await client.store.workspaces();
  return client.workspace(one?.id ?? "");
}

describe("Truth 18: a file that the origin leaves out and erases", { timeout: 600_000 }, () => {
  it.each([
    ["by its settings", async (origin: WorkspaceApi) => void (await origin.configure({ excludeGlobs: ["keys*"] }))],
    ["by a .gitignore", async (_: WorkspaceApi, at: string) => writeFile(join(at, ".gitignore"), "keys*\n")],
  ])(
    "left out %s, stays in the folder, is recorded on neither side, and does not halt the sync",
    async (_name, leaveOut) => {
      await using both = new FollowedOrigin("--connect");
      const names = Array.from({ length: 30 }, (_, i) => `keys${i}.txt`);
      for (const name of [...names, "config.txt"]) writeFileSync(join(both.origin.project, name), SECRET + name);
      writeFileSync(join(both.origin.project, "keys.txt"), SECRET);
      writeFileSync(join(both.origin.project, "a.txt"), "a\n");
      await both.start();
      await using closing = new AsyncDisposableStack();
      const client = closing.adopt(createClient({ url: both.origin.socketUrl }), (one) => one.close());
      const there = await only(client);
      const { home, userHome, folder } = both.replica;
      const store = await openFileStore(
        { home, configFolder: join(userHome, ".config", "chronicle") },
        storeBackends(),
      );
      closing.defer(() => store.close());
      const here = closing.adopt(await store.open({ folder }), (one) => one.close());
      const at = (name: string): string => join(both.replica.folder, name);
      expect(readFileSync(at("keys.txt"), "utf8")).toBe(SECRET);

      await leaveOut(there, both.origin.project);
      unlinkSync(join(both.origin.project, "keys0.txt"));
      const done = await there.erase({ match: "keys*", reason: "keys" });
      expect(done).toMatchObject({ total: 31 });
      expect(done.untracked).toHaveLength(30);
      await both.flush();
      for (const name of ["keys.txt", ...names.slice(1)]) {
        expect(existsSync(join(both.origin.project, name))).toBe(true);
        expect(existsSync(at(name))).toBe(true);
      }
      expect(existsSync(at("keys0.txt"))).toBe(false);
      const recorded = async (one: WorkspaceApi) =>
        (await one.files()).files.map(({ path }) => path).filter((path) => path !== ".gitignore");
      for (const one of [there, here]) {
        await one.snapshot();
        expect(await recorded(one)).toEqual(["a.txt", "config.txt"]);
        await expect(one.blob(sha256(SECRET))).rejects.toMatchObject({ code: "ERASED" });
        expect(await one.verify()).toMatchObject({ ok: true, problems: [] });
      }
      await both.flush();
      expect((await both.status()).state).toBe("in-sync");
      expect(readFileSync(at("keys.txt"), "utf8")).toBe(SECRET);
    },
  );

  it("stays in a folder that was away until the origin had dropped the events of the erasure", async () => {
    await using both = new FollowedOrigin("--connect");
    const files = { "keys.txt": SECRET, "gone.txt": "gone\n", "a.txt": "a\n" };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(both.origin.project, name), text);
    await both.start();
    await using closing = new AsyncDisposableStack();
    const client = closing.adopt(createClient({ url: both.origin.socketUrl }), (one) => one.close());
    const there = await only(client);
    await both.replica.kill("SIGINT");
    await there.configure({ excludeGlobs: ["keys*"] });
    expect(await there.erase({ what: "keys.txt" })).toMatchObject({ untracked: ["keys.txt"] });
    await there.deleteFile("gone.txt");
    await there.compact({ dropArchive: true });
    await both.startReplica();
    await both.flush();

    const at = (name: string): string => join(both.replica.folder, name);
    expect(readFileSync(at("keys.txt"), "utf8")).toBe(SECRET);
    expect(existsSync(at("gone.txt"))).toBe(false);
    const { home, userHome, folder } = both.replica;
    const store = await openFileStore({ home, configFolder: join(userHome, ".config", "chronicle") }, storeBackends());
    closing.defer(() => store.close());
    const here = closing.adopt(await store.open({ folder }), (one) => one.close());
    for (const one of [there, here]) {
      await one.snapshot();
      expect((await one.files()).files.map(({ path }) => path)).toEqual(["a.txt"]);
      expect(await one.verify()).toMatchObject({ ok: true, problems: [] });
    }
    await expect(here.blob(sha256(SECRET))).rejects.toMatchObject({ code: "ERASED" });
    await both.flush();
    expect((await both.status()).state).toBe("in-sync");
    expect(readFileSync(at("keys.txt"), "utf8")).toBe(SECRET);
  });
});
