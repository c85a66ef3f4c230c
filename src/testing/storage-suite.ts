import { describe, expect, test } from "vitest";
import { EMPTY_HEAD } from "../core/values/event.ts";
import { sha256 } from "../core/values/hash.ts";
import type { Disk } from "../disk/disk.ts";
import type { OpenedBlobs, StorageBackends } from "../storage/storage-backends.ts";
import { type StoreLayout, storeLayout } from "../storage/layout.ts";
import { collectLines, nextEvents } from "./event-log-suite.ts";

/** The storage of a new, empty store, and the disk and the folder in which its small files are. */
export interface StorageRig {
  readonly storage: StorageBackends;
  readonly disk: Disk;
  readonly home: string;
}

const HOW = { tell: () => undefined, lockWaitMs: 100 };
const content = Buffer.from("a content");
const hash = sha256(content);

/** The contract of `StorageBackends`, and of the `BlobIntake` in it. */
export function storageSuite(name: string, begin: () => StorageRig): void {
  describe(name, () => {
    function rig(): StorageRig & { readonly layout: StoreLayout } {
      const given = begin();
      const layout = storeLayout(given.home);
      for (const folder of [layout.workspaces, layout.workspace("w1").folder]) given.disk.makeFolder(folder, 0o700);
      return { ...given, layout };
    }

    async function withBlobs(work: (opened: OpenedBlobs) => Promise<void>): Promise<void> {
      const { storage, layout } = rig();
      const opened = await storage.openBlobs(layout, HOW);
      using lease = await opened.blobs.lease();
      await work(opened);
      lease.release();
      await opened.blobs.close();
    }

    async function filledLog(storage: StorageBackends, layout: StoreLayout): Promise<void> {
      const log = await storage.openLog(layout.workspace("w1"));
      await log.append(nextEvents(log.head, 3));
      await log.close();
    }

    async function linesOf(storage: StorageBackends, layout: StoreLayout, id: string): Promise<number> {
      const log = await storage.openLog(layout.workspace(id));
      const lines = await collectLines(log.read());
      await log.close();
      return lines.length;
    }

    test("a log exists from its first append on, and all objects at its address see what was appended", async () => {
      const { storage, layout } = rig();
      const files = layout.workspace("w1");
      const [one, other] = [await storage.openLog(files), await storage.openLog(files)];
      expect(storage.hasLog(files.log)).toBe(false);
      await one.append(nextEvents(EMPTY_HEAD, 2));
      expect(storage.hasLog(files.log)).toBe(true);
      expect((await other.refresh()).seq).toBe(2);
      expect([undefined, 2]).toContain(storage.lastEvent(files.log)?.seq);
      await one.close();
      await other.append(nextEvents(other.head, 1));
      await other.close();
      expect(await linesOf(storage, layout, "w1")).toBe(3);
    });

    test("a log can begin after an event", async () => {
      const { storage, layout } = rig();
      const after = { seq: 7, hash };
      const log = await storage.openLog(layout.workspace("w1"), { after });
      expect(log.head).toMatchObject(after);
      expect(log.firstSeq).toBe(8);
      await log.append(nextEvents(after, 1));
      expect(log.firstSeq).toBe(8);
      await log.close();
    });

    test("each opening of an index is an object of its own, and a discarded index is empty", async () => {
      const { storage, layout } = rig();
      const { index: address } = layout.workspace("w1");
      const [one, other] = [await storage.openIndex(address), await storage.openIndex(address)];
      expect(one).not.toBe(other);
      await one.close();
      expect((await other.head()).seq).toBe(0);
      await other.close();
      storage.discardIndex(address);
      storage.discardIndex(address);
      const again = await storage.openIndex(address);
      expect((await again.head()).seq).toBe(0);
      await again.close();
    });

    test("each scratch index is an object of its own", async () => {
      const { storage } = rig();
      expect(storage.scratchIndex()).not.toBe(storage.scratchIndex());
    });

    test("locks at one address exclude each other", async () => {
      const { storage, layout } = rig();
      const address = layout.workspace("w1").lock;
      const [one, other] = [await storage.openLock(address), await storage.openLock(address)];
      const held = await one.exclusive(100);
      await expect(other.exclusive(0)).rejects.toMatchObject({ code: "LOCKED" });
      held.release();
      (await other.exclusive(100)).release();
      one.close();
      other.close();
    });

    test("a folder is moved and removed together with its log", async () => {
      const { storage, layout, disk } = rig();
      await filledLog(storage, layout);
      storage.move(layout.workspace("w1").folder, layout.workspace("w2").folder);
      expect(disk.lstat(layout.workspace("w1").folder)).toBeUndefined();
      expect(storage.hasLog(layout.workspace("w1").log)).toBe(false);
      expect(storage.hasLog(layout.workspace("w2").log)).toBe(true);
      expect(await linesOf(storage, layout, "w2")).toBe(3);
      storage.removeFolder(layout.workspace("w2").folder);
      expect(storage.hasLog(layout.workspace("w2").log)).toBe(false);
      expect(disk.lstat(layout.workspace("w2").folder)).toBeUndefined();
    });

    test("a log can be moved and removed alone", async () => {
      const { storage, layout } = rig();
      await filledLog(storage, layout);
      const { log, folder } = layout.workspace("w1");
      storage.move(log, `${folder}/former.wal`);
      expect(storage.hasLog(log)).toBe(false);
      expect(storage.hasLog(`${folder}/former.wal`)).toBe(true);
      storage.removeLog(`${folder}/former.wal`);
      storage.removeLog(`${folder}/former.wal`);
      expect(storage.hasLog(`${folder}/former.wal`)).toBe(false);
    });

    test("a history is not removed with another one whose name is the beginning of its name", async () => {
      const { storage, layout, disk } = rig();
      await filledLog(storage, layout);
      disk.makeFolder(`${layout.workspaces}/w`, 0o700);
      storage.removeFolder(`${layout.workspaces}/w`);
      expect(await linesOf(storage, layout, "w1")).toBe(3);
    });

    test("a folder without a store is not a store", () => {
      const { storage, disk, home } = rig();
      disk.makeFolder(`${home}/empty`, 0o700);
      for (const folder of [`${home}/empty`, `${home}/absent`]) expect(storage.isStore(folder)).toBe(false);
    });

    test("the contents of a sink are visible once the sink has finished", async () => {
      await withBlobs(async ({ blobs, intake, isReadOnly }) => {
        const sink = await intake.openSink(() => false);
        expect(sink.put(content)).toBe(hash);
        const large = sink.putLarge([content, content]);
        expect(large).toEqual({ hash: sha256(Buffer.concat([content, content])), size: 2 * content.length });
        expect(await blobs.has([hash, large.hash])).toEqual(new Set());
        expect(intake.isSound(hash)).toBe(false);
        await sink.finish();
        sink.abandon();
        expect(await blobs.has([hash, large.hash])).toEqual(new Set([hash, large.hash]));
        expect(await blobs.get(hash)).toEqual(content);
        expect(intake.isSound(hash)).toBe(true);
        expect(isReadOnly()).toBe(false);
      });
    });

    test("contents are visible to all objects that have the store open", async () => {
      const { storage, layout } = rig();
      const [one, other] = [await storage.openBlobs(layout, HOW), await storage.openBlobs(layout, HOW)];
      const batch = await one.blobs.batch();
      await batch.put(content);
      await batch.commit();
      expect(await other.blobs.has([hash])).toEqual(new Set([hash]));
      expect(await other.blobs.get(hash)).toEqual(content);
      await one.blobs.close();
      expect(await other.blobs.get(hash)).toEqual(content);
      await other.blobs.close();
    });

    test("an abandoned sink leaves no content, and another sink can be opened", async () => {
      await withBlobs(async ({ blobs, intake }) => {
        const sink = await intake.openSink(() => false);
        sink.put(content);
        sink.abandon();
        sink.abandon();
        expect(await blobs.has([hash])).toEqual(new Set());
        const next = await intake.openSink((one) => one === hash);
        expect(next.put(content)).toBe(hash);
        await next.finish();
        expect(await blobs.has([hash])).toEqual(new Set());
      });
    });

    test("sinks for threads, if there are any, can be released", async () => {
      await withBlobs(async ({ blobs, intake }) => {
        const sinks = await intake.openThreadSinks?.(2);
        expect(sinks?.grants.length ?? 2).toBe(2);
        await sinks?.publish([]);
        sinks?.release();
        sinks?.release();
        const batch = await blobs.batch();
        await batch.put(content);
        await batch.commit();
        expect(await blobs.get(hash)).toEqual(content);
      });
    });
  });
}
