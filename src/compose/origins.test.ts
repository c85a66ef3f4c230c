import { describe, expect, it } from "vitest";
import type { StoreApi } from "../api/store-api.ts";
import { sealEvents } from "../core/log/chain.ts";
import { sha256, type Hash } from "../core/values/hash.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { checkBlock } from "../storage/blob-block.ts";
import { openSimStore } from "../testing/sim-store.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { Origins } from "./origins.ts";
import { partsOf } from "./open-parts.ts";

function newDisk(): SimDisk {
  return SimDisk.fromTree({
    "/store": { folder: 0o700 },
    "/config": { folder: 0o700 },
    "/proj": { folder: 0o700 },
    "/proj/a.txt": { content: Buffer.from("in the baseline\n"), mode: 0o644 },
  });
}

async function scene() {
  const disk = newDisk();
  const store = await openSimStore(disk, { firstId: 1 });
  const clock = new VirtualClock();
  return { disk, store, clock, origins: new Origins(partsOf(store), { timers: clock }) };
}

async function hosted(store: StoreApi) {
  return (await store.create()).workspace;
}

describe("a workspace that replicas follow", () => {
  it("gives each content that its history has ever named, and no content of another workspace", async () => {
    const { store, origins } = await scene();
    const { workspace } = await store.init({ roots: ["/proj"] });
    await workspace.putFile("a.txt", Buffer.from("written\n"));
    await workspace.deleteFile("a.txt");
    const other = await hosted(store);
    await other.putFile("secret.txt", Buffer.from("of another workspace\n"));
    using lease = await origins.lease(workspace.id);
    const { contents } = lease.options;
    const has = async (text: string): Promise<boolean> => (await contents.open(sha256(text))) !== undefined;
    expect(await has("in the baseline\n")).toBe(true);
    expect(await has("written\n")).toBe(true);
    expect(await has("of another workspace\n")).toBe(false);
    expect(await has("nobody's\n")).toBe(false);
    // The workspace also gives the base of the baseline, and the filter of the baseline's snapshot.
    const [baseline] = (await workspace.log()).filter(({ record_id: id }) => id.startsWith("snapshot:"));
    for (const key of ["base", "filter"]) {
      const record = baseline?.record as Record<string, Hash> | undefined;
      expect(await contents.open(record?.[key] ?? sha256("none")), key).toBeDefined();
    }
    // Contents written later are known at once.
    await workspace.putFile("b.txt", Buffer.from("later\n"));
    expect(await has("later\n")).toBe(true);
  });

  it("moves the torn end of a log away before it gives the events after a head", async () => {
    const { disk, store, origins } = await scene();
    const workspace = await hosted(store);
    await workspace.putFile("a", Buffer.from("here"));
    const lines = (await workspace.log()).length;
    const last = (await workspace.log()).at(-1);
    const head = { seq: last?.seq ?? 0, hash: (last?.hash ?? "") as Hash };
    await workspace.close();
    const draft = { op: "upsert", recordId: "user:x", record: {} } as const;
    const torn = sealEvents(head, [draft, draft], "2030-01-01T00:00:00.000Z").map(({ line }) => `${line}\n`);
    const fd = disk.open(`/store/workspaces/${workspace.id}/events.wal`, "append");
    disk.write(fd, Buffer.concat([Buffer.alloc(2), Buffer.from(torn.join("").slice(2))]), null);
    disk.close(fd);
    using lease = await origins.lease(workspace.id);
    const { history } = lease.options;
    expect(await history.head()).toMatchObject({ seq: lines + 1 });
    const [next] = await history.after(head, 1);
    expect(next?.recordId).toMatch(/^recovery:/);
    await expect(history.after(next ?? head, 1)).resolves.toEqual([]);
  });

  it("looks up very many contents in slices, so that other work has turns of the event loop meanwhile", async () => {
    const { store, origins } = await scene();
    const workspace = await hosted(store);
    await workspace.putFile("a", Buffer.from("here"));
    using lease = await origins.lease(workspace.id);
    const { blocks } = lease.options;
    const asked = [sha256("here"), ...Array.from({ length: 10_000 }, (_, i) => sha256(`nothing ${i}`))];
    const turnsOf = async <T>(work: () => Promise<T>): Promise<{ readonly turns: number; readonly found: T }> => {
      let [turns, isOver] = [0, false];
      const tick = (): void => {
        turns += 1;
        if (!isOver) setImmediate(tick);
      };
      setImmediate(tick);
      const found = await work();
      isOver = true;
      return { turns, found };
    };
    const looked = await turnsOf(async () => blocks?.has(asked));
    expect(looked.found).toEqual(new Set([sha256("here")]));
    expect(looked.turns).toBeGreaterThan(10);
    const read = await turnsOf(async () => Array.fromAsync(blocks?.blocks(asked, 1024 ** 2) ?? []));
    expect(read.found?.flatMap(({ entries }) => entries.map(({ hash }) => hash))).toEqual([sha256("here")]);
    expect(read.turns).toBeGreaterThan(10);
  });

  it("gives many contents at once, and only its own contents of a block that it shares with another workspace", async () => {
    const { store, origins } = await scene();
    const { workspace } = await store.init({ roots: ["/proj"] });
    const other = await hosted(store);
    // Writes at the same time share a block.
    const texts = Array.from({ length: 8 }, (_, i) => `text ${i} `.repeat(50));
    await Promise.all(texts.map((text, i) => (i % 2 === 0 ? workspace : other).putFile(`f${i}`, Buffer.from(text))));
    using lease = await origins.lease(workspace.id);
    const { blocks } = lease.options;
    const asked = [...texts, "in the baseline\n", "nobody's\n"].map((text) => sha256(text));
    const own = new Set(asked.filter((_, i) => (i < 8 && i % 2 === 0) || i === 8));
    expect(await blocks?.has(asked)).toEqual(own);
    const given: Hash[] = [];
    for await (const block of blocks?.blocks(asked, 1_000_000) ?? []) {
      checkBlock(block);
      given.push(...block.entries.map(({ hash }) => hash));
    }
    expect(new Set(given)).toEqual(own);
  });

  it("is opened once for all its sessions, and closed when nobody has followed it for a while", async () => {
    const { store, origins, clock } = await scene();
    const workspace = await hosted(store);
    const one = await origins.lease(workspace.id);
    const two = await origins.lease(workspace.id);
    expect(two.options.history).toBe(one.options.history);
    one[Symbol.dispose]();
    two[Symbol.dispose]();
    two[Symbol.dispose]();
    await clock.run(clock.now + 5_000);
    const three = await origins.lease(workspace.id);
    expect(three.options.history).toBe(one.options.history);
    three[Symbol.dispose]();
    await clock.run(clock.now + 20_000);
    using four = await origins.lease(workspace.id);
    expect(four.options.history).not.toBe(one.options.history);
  });

  it("is gone for earlier sessions after its folder was moved, and is opened in the new folder for later ones", async () => {
    const { disk, store, origins, clock } = await scene();
    const { workspace } = await store.init({ roots: ["/proj"] });
    const before = await origins.lease(workspace.id);
    disk.rename("/proj", "/moved");
    const elsewhere = await openSimStore(disk, { firstId: 100 });
    await (await elsewhere.open({ folder: "/moved" })).close();
    disk.makeFolder("/proj", 0o700);
    await expect(before.options.look?.()).rejects.toMatchObject({ code: "NOT_FOUND" });
    const next = await origins.lease(workspace.id);
    expect(next.context.worktree.roots[0]?.folder).toBe("/moved");
    await next.options.look?.();
    before[Symbol.dispose]();
    next[Symbol.dispose]();
    await clock.run(clock.now + 20_000);
    await origins[Symbol.asyncDispose]();
  });

  it("reports new events of this process and of another process", async () => {
    const { disk, store, origins, clock } = await scene();
    const workspace = await hosted(store);
    using lease = await origins.lease(workspace.id);
    const { history } = lease.options;
    await history.head();
    let told = 0;
    using _listening = history.changed.listen(() => (told += 1));
    await workspace.putFile("a.txt", Buffer.from("one\n"));
    expect(told).toBeGreaterThan(0);
    const { seq } = await history.head();
    told = 0;
    const elsewhere = await openSimStore(disk, { firstId: 100 });
    const theirs = await elsewhere.openById(workspace.id);
    await theirs.putFile("b.txt", Buffer.from("two\n"));
    await clock.run(clock.now + 200, () => told > 0);
    expect(told).toBeGreaterThan(0);
    expect((await history.head()).seq).toBeGreaterThan(seq);
  });

  it("writes the cursors of its replicas a moment after they moved, and when it is closed", async () => {
    const { disk, store, origins, clock } = await scene();
    const workspace = await hosted(store);
    const lease = await origins.lease(workspace.id);
    lease.options.cursors.advance("r1", 2);
    const file = `/store/workspaces/${workspace.id}/replicas`;
    expect(disk.content(file)).toBeUndefined();
    await clock.run(clock.now + 2_000);
    expect(disk.content(file)?.toString()).toContain("r1 2");
    lease.options.cursors.advance("r1", 3);
    lease[Symbol.dispose]();
    await origins[Symbol.asyncDispose]();
    expect(disk.content(file)?.toString()).toContain("r1 3");
  });

  it("cannot be followed if it does not exist, however often it is asked for", async () => {
    const { origins } = await scene();
    await expect(origins.lease("no-such-workspace")).rejects.toThrow();
    await expect(origins.lease("no-such-workspace")).rejects.toThrow();
  });
});
